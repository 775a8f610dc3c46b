#ifndef RUNNEL_CORE_CONTAINER_CONTAINERS_H
#define RUNNEL_CORE_CONTAINER_CONTAINERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/domain/rows.h"
#include "core/domain/tenant.h"
#include "core/store/tables/containers/container_files.h"
#include "core/store/tables/idempotency.h"

/*
 * containers.h -- containers as clients know them: a row, and a folder that code sees as /mnt/data.
 *
 *     rc = containers_take(containers, tenant, &choice, &container, err);   // the one that a run uses; made if needed
 *     ...  run code in container_folder(container)
 *     rc = container_note(container, CONTAINER_FILE_ASSISTANT, call_id, &changed, &count, err);
 *     container_release(container);
 *
 * While a container is taken it is in use: it does not expire. It may be deleted, though; then what runs in it is ended
 * through options.end, and container_is_gone() becomes true.
 *
 * Processes are not known here: a container goes on when its box has ended, and a box is made when code wants to run.
 *
 * Order, so that a crash leaves nothing but trash: the row, then the folder; the end of the row, then its processes,
 * then the folder goes to the trash. containers_open() sends folders without a running row to the trash.
 *
 * A container belongs to the node on whose disk its folder is. Another node shows its row, and the copies of its files.
 * To take it, that node asks the owner for it, which gives it away with an archive of its workspace; or it takes the
 * container over, when the owner is dead. Then files without a copy are lost. container_row()->lost says what did not
 * come along. In both cases processes and their variables stay behind.
 *
 * All functions block, on the store and the disk. Any thread but a run loop, with no lock held.
 *
 * Errors, beside those of the store and of workspace.h: ERR_NOT_FOUND "Container with id 'X' not found."; ERR_CONFLICT
 * "Container is expired."; ERR_LIMIT with REASON_BUSY: the project has as many as it may; ERR_STORE with
 * REASON_CONTAINER_ELSEWHERE "The container's server does not answer."; ERR_FULL "The server has no disk space for the
 * container.", for one that arrives.
 */

struct blobs;
struct container;
struct container_skill;
struct containers;
struct store;
struct workspace;
struct workspaces;

#define CONTAINER_GIB 1 /* memory of a container, if no request names more */

/* Which files a call's end copies into the store of bytes, where other nodes find them. */
enum container_copies {
    CONTAINER_COPIES_CITED, /* figures: every answer cites them */
    CONTAINER_COPIES_ALL, /* also files of at most CONTAINER_COPY_BYTES, CONTAINER_COPIES_BYTES of a container */
};
#define CONTAINER_COPY_BYTES   ((uint64_t)32 << 20)
#define CONTAINER_COPIES_BYTES ((uint64_t)256 << 20)

struct containers_options {
    struct store *store; /* these three are borrowed until containers_free() */
    struct blobs *blobs;
    struct workspaces *workspaces;
    const char *node_id;  /* without its boot */
    unsigned per_project; /* containers that run; 0: no limit */
    int64_t idle_seconds; /* of containers that runs make */
    uint32_t
        first_user; /* of the users that workspaces belong to; 0: the server's own, who is not root */
    enum container_copies copies;
    /* The container has expired or was deleted: ends its processes, and returns when they have ended. May be called for
     * one without processes, and again. On any thread. NULL: there are no processes. */
    void (*end)(void *argument, const char *container_id);
    /* A container that another node asks for has no call any more: containers_answer() is due. On any thread; does not
     * block. NULL: the keeper finds it later. */
    void (*is_free)(void *argument);
    void *argument;
};

/* Sends folders whose container does not run to the trash: what a crash has left. */
enum err_code containers_open(const struct containers_options *options,
                              struct containers **ret_containers, struct err *err) MUST_CHECK;
/* None is taken any more. NULL is fine. */
void containers_free(struct containers *containers);

/* ---- For runs ---- */

/* Which container a run wants. */
struct container_choice {
    /* That and no other; NULL: by the rules below, in their order */
    const char *named;
    /* of the newest call in the run's context; NULL or "": none. It counts if it runs on this node and has the
     * memory; */
    const char *in_context;
    /* the thread, conversation or, outside of these, the response of the run: the container that was made for it, or a
     * new one. */
    const char *owner_id;
    bool not_stored; /* nor is the run: its calls copy nothing */
    bool moves;      /* a node that lives is asked for it; false: only a dead one loses it */
    int memory_gib;  /* 0: that of the container that there is, 1 of a new one */
    /* As in struct container_row; NULL: those of the container that there is, none of a new one */
    const char *domains;
};

/* Calls of one run that ask at once get the same. */
enum err_code containers_take(struct containers *containers, const struct tenant *tenant,
                              const struct container_choice *choice,
                              struct container **ret_container, struct err *err) MUST_CHECK;
void container_release(struct container *container); /* NULL is fine */

/* As it was when it was taken. Borrowed. */
const struct container_row *container_row(const struct container *container);
/* It was made by containers_take(): files and variables of an earlier one, if there was one, are missing. */
bool container_is_new(const struct container *container);
/* It has expired or was deleted since it was taken. */
bool container_is_gone(const struct container *container);
/* Its folder, for file tools and for a box. Borrowed. */
struct workspace *container_workspace(const struct container *container);

/* The model has read container_row()->lost: later calls do not have it. */
void container_lost_shown(struct container *container);

/* Python is about to run in it: container_row()->had_python will be true for those who take it later, also
 * after a restart. Written once. */
enum err_code container_has_python(struct container *container, struct err *err) MUST_CHECK;

/* ---- Its files ---- */

/* Looks at the folder, and brings the rows of its files up to date. What is new or changed since the last check is from
 * `source`, by `call_id` (""). A call's end also makes copies; one that fails is logged. The caller frees with
 * changed_files_free(); both may be NULL. */
enum err_code container_note(struct container *container, enum container_source source,
                             const char *call_id, struct changed_file **ret_changed,
                             size_t *ret_count, struct err *err) MUST_CHECK;

/* Copies a file of the Files API into it, under its own name, `name-2.ext` if that is taken. Its id becomes a link to
 * it, as at OpenAI. One that was copied before and is still there is not copied again. ERR_NOT_FOUND "No such File
 * object: X". ERR_INVALID with REASON_CONTAINER_FULL: the folder would have more bytes than it may. */
enum err_code container_put_file(struct container *container, const char *file_id,
                                 struct container_file_row *ret_row,
                                 struct err *err) MUST_CHECK;

/* The same for many, in their order. One that is no file any more is left out. Those that are there cost one
 * statement together. */
enum err_code container_put_files(struct container *container, const char *const *file_ids,
                                  size_t count, struct err *err) MUST_CHECK;

/* The n-th name, from 1, under which a file of this name is put: report.csv, report-2.csv. The caller frees. */
char *container_file_name(const char *name, unsigned n);

/* The same with the bytes of a blob and a name as file_name_kept() makes it. */
enum err_code container_put_blob(struct container *container, const char *name,
                                 const char *blob_id, struct container_file_row *ret_row,
                                 struct err *err) MUST_CHECK;

/* Removes it from the folder. */
enum err_code container_remove_file(struct container *container, const char *id,
                                    struct err *err) MUST_CHECK;

/* Keeps a copy of the file as it is now in the store of bytes, so that every node can serve it. row->blob_id is filled
 * in. One that has a copy is left alone. ERR_CONFLICT: it changes while it is read. */
enum err_code container_copy_out(struct container *container, struct container_file_row *row,
                                 struct err *err) MUST_CHECK;

/* Asks the node of the container for a copy of the file, and waits CONTAINER_ASK_SECONDS at most. ERR_STORE with
 * REASON_CONTAINER_ELSEWHERE: there is still none. */
enum err_code containers_ask_copy(struct containers *containers, const struct tenant *tenant,
                                  const char *id, const char *file_id,
                                  struct container_file_row *ret_row,
                                  struct err *err) MUST_CHECK;

/* The same for a file of a container that is not taken. */
enum err_code containers_copy_file(struct containers *containers, const struct tenant *tenant,
                                   const char *id, const char *file_id,
                                   struct err *err) MUST_CHECK;

/* ---- Its skills ---- */

/* Its skills, and `more` of them, are folders below /mnt/skills from now on. Errors as store_container_skills_add()
 * (container_skills.h), and those of the disk. */
enum err_code container_put_skills(struct container *container,
                                   const struct container_skill *more, size_t count,
                                   struct err *err) MUST_CHECK;

/* The same for one that is not taken: the next call that takes it finds them. */
enum err_code containers_add_skills(struct containers *containers, const struct tenant *tenant,
                                    const char *id, const struct container_skill *skills,
                                    size_t count, struct err *err) MUST_CHECK;

/* ---- For endpoints and the keeper ---- */

/* The container that containers_take() would take, or a new one, as its row: nothing is made but that. *ret_made says
 * which. choice->named is NULL. */
enum err_code containers_assign(struct containers *containers, const struct tenant *tenant,
                                const struct container_choice *choice,
                                struct container_row *ret_row, bool *ret_made,
                                struct err *err) MUST_CHECK;

/* What a request names exists and runs. Does not take it. */
enum err_code containers_check(struct containers *containers, const struct tenant *tenant,
                               const char *id, struct err *err) MUST_CHECK;

/* The same, and it could be taken on this node. Waits for the store only, not for the disk. */
enum err_code containers_check_here(struct containers *containers, const struct tenant *tenant,
                                    const char *id, struct err *err) MUST_CHECK;

/* row->id, name, memory and idle time are given; the rest is filled in. A repeated key: as store_container_create(). */
enum err_code containers_create(struct containers *containers, const struct tenant *tenant,
                                const struct idempotency *idempotency,
                                struct container_row *row, struct err *err) MUST_CHECK;

enum err_code containers_delete(struct containers *containers, const struct tenant *tenant,
                                const char *id, struct err *err) MUST_CHECK;

/* Deletes one that could not be made as it was wanted. */
void containers_undo(struct containers *containers, const struct tenant *tenant,
                     const char *id);

/* Every CONTAINER_TOUCH_SECONDS or so: writes that taken containers are in use, ends those whose time has passed, and
 * removes the folders of this node's that have ended. */
enum err_code containers_tend(struct containers *containers, struct err *err) MUST_CHECK;

/* Whether this node has renewed its leases for long enough to say that another one is dead. Until then it takes no
 * container over. */
void containers_set_steady(struct containers *containers, bool steady);

/* Does what other nodes ask of this one: copies files, gives containers away that no call has. For a thread that may
 * take its time. After *ret_copied files, other nodes are to be woken by WAKEUP_CONTAINER; gifts wake them by
 * themselves. */
enum err_code containers_answer(struct containers *containers, size_t *ret_copied,
                                struct err *err) MUST_CHECK;

/* WAKEUP_CONTAINER has come: who waits for another node looks again. Does not block. */
void containers_answered(struct containers *containers);

/* Removes some of the files that are in the trash. True: there are more. For one thread. */
bool containers_empty_trash(struct containers *containers);

#endif
