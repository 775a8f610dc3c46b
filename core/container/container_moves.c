/*
 * A container comes to this node, or leaves it.
 *
 *   fetch    of a dead node: one UPDATE. Of one that lives: asked in the row, and waited for
 *   arrive   an empty folder, then its archive; or, from a dead node, each file's copy. What has none is lost
 *   answer   for other nodes: copies; and containers that no call has, as an archive of all that is in them
 *
 * A move is decided by the row (container_moves.h), and nothing here depends on its being finished. If this node dies
 * while a container arrives, the row still says so, and the next one who takes it begins again with an empty folder.
 *
 * An owner that lives gives a container away only together with an archive of its workspace (workspace_archive.h). So
 * only the death of a node loses files, and only those that sandbox_copies did not cover. What an archive cannot take
 * along, such as a FIFO, the model reads once.
 *
 * A disk without room for a container that arrives leaves it where it is: with its archive, which is kept. Every call
 * looks again, before it writes anything. A node with more room that wants the container gets it at once.
 */

#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/fault.h"
#include "core/base/json.h"
#include "core/base/lock.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/blob/blob.h"
#include "core/container/containers_internal.h"
#include "core/sandbox/workspace/workspace.h"
#include "core/sandbox/workspace/workspace_archive.h"
#include "core/sandbox/workspace/workspace_scan.h"
#include "core/store/tables/containers/container_moves.h"
#include "core/store/tables/containers/containers.h"

#define ANSWER_LIMIT ((size_t)32)      /* of one round */
#define LOST_LIMIT   ((size_t)50)      /* paths that a model reads */
#define LOOK_NS      (500 * NS_PER_MS) /* a hint may get lost */

/* ---- Waiting for another node ---- */

static unsigned count_answers(struct containers *all)
{
    unsigned answers;

    lock_acquire(&all->lock);
    answers = all->answers;
    lock_release(&all->lock);
    return answers;
}

/* Until there is another answer than the first `seen`, or it is time to look without. */
static void wait_for_answer(struct containers *all, unsigned seen, uint64_t deadline_ns)
{
    uint64_t look_ns = clock_mono_ns() + LOOK_NS;

    if (look_ns > deadline_ns)
        look_ns = deadline_ns;
    lock_acquire(&all->lock);
    while (all->answers == seen && lock_wait_until(&all->lock, &all->answered, look_ns))
        continue;
    lock_release(&all->lock);
}

void containers_answered(struct containers *all)
{
    lock_acquire(&all->lock);
    all->answers++;
    pthread_cond_broadcast(&all->answered);
    lock_release(&all->lock);
}

void containers_set_steady(struct containers *all, bool steady)
{
    atomic_store(&all->steady, steady);
}

/* *ret_giving: its node is about to give it. */
static enum err_code has_come(const struct container *container, bool *ret_come,
                              bool *ret_giving, struct err *err)
{
    CLEANUP(container_row_clear) struct container_row row = {0};
    const struct containers_options *options = &container->all->options;
    enum err_code rc =
        store_container_get(options->store, &container->tenant, container->row.id, &row, err);

    if (rc)
        return rc;
    *ret_come = row.status != CONTAINER_RUNNING || strcmp(row.node_id, options->node_id) == 0;
    *ret_giving = row.giving;
    return ERR_OK;
}

static enum err_code take_from_dead(const struct container *container, bool *ret_taken,
                                    struct err *err)
{
    const struct containers_options *options = &container->all->options;
    const struct container_row *row = &container->row;
    enum err_code rc = ERR_OK;

    *ret_taken = false;
    if (atomic_load(&container->all->steady))
        rc = store_container_take_over(options->store, &container->tenant, row->id, row->epoch,
                                       options->node_id, ret_taken, err);
    if (*ret_taken)
        log_info("container %s is taken over from %s", row->id, row->node_id);
    return rc;
}

/* An owner that is about to give it may need longer than one that does not answer, and may die over it. */
static enum err_code ask_for_it(const struct container *container, struct err *err)
{
    struct containers *all = container->all;
    uint64_t begin = clock_mono_ns();
    uint64_t deadline = begin + CONTAINER_ASK_SECONDS * NS_PER_SECOND;
    unsigned seen = count_answers(all);
    bool come = false, giving = false;
    enum err_code rc = store_container_ask(all->options.store, &container->tenant,
                                           container->row.id, all->options.node_id, err);

    while (!rc && !come && clock_mono_ns() < deadline) {
        wait_for_answer(all, seen, deadline);
        seen = count_answers(all);
        rc = has_come(container, &come, &giving, err);
        if (!rc && !come && giving) {
            deadline = begin + CONTAINER_GIVE_SECONDS * NS_PER_SECOND;
            rc = take_from_dead(container, &come, err);
        }
    }
    return rc;
}

enum err_code container_fetch(const struct container *container,
                              enum container_fetching fetching, struct err *err)
{
    bool taken;
    enum err_code rc = take_from_dead(container, &taken, err);

    return rc || taken || fetching == FETCH_FROM_DEAD ? rc : ask_for_it(container, err);
}

enum err_code containers_ask_copy(struct containers *all, const struct tenant *tenant,
                                  const char *id, const char *file_id,
                                  struct container_file_row *ret_row, struct err *err)
{
    struct store *store = all->options.store;
    uint64_t deadline = clock_mono_ns() + CONTAINER_ASK_SECONDS * NS_PER_SECOND;
    unsigned seen = count_answers(all);
    enum err_code rc = store_container_ask_copy(store, tenant, id, file_id, err);

    while (!rc && clock_mono_ns() < deadline) {
        struct container_file_row row = {0};

        wait_for_answer(all, seen, deadline);
        seen = count_answers(all);
        rc = store_container_file_get(store, tenant, id, file_id, &row, err);
        if (!rc && *row.blob_id) {
            *ret_row = row;
            return ERR_OK;
        }
        container_file_row_clear(&row);
    }
    return rc ? rc
              : err_refuse(err, ERR_STORE, REASON_CONTAINER_ELSEWHERE, NULL,
                           "The container's server does not answer.");
}

/* ---- Arriving ---- */

/* It may have been here before: those processes and that folder are not those of now. */
static enum err_code open_empty(struct container *container, struct err *err)
{
    struct containers *all = container->all;
    const char *id = container->row.id;
    enum err_code rc;

    if (all->options.end)
        all->options.end(all->options.argument, id);
    rc = container_folder_discard(all, &container->tenant, id, err);
    return rc ? rc
              : container_folder_open(all, &container->tenant, id, &container->workspace, err);
}

/* One that the workspace has no room for will not fit later either. A disk may get room again. */
static bool never_fits(const struct container *container, enum err_code rc, uint64_t bytes)
{
    return rc == ERR_FULL && workspace_disk_left(container->workspace) > bytes;
}

/* A copy that cannot be read is as lost as none; a store or a disk that fails now may do better later. */
static enum err_code put_back(const struct container *container, struct container_file_row *row,
                              bool *ret_lost, struct err *err)
{
    struct err why = {0};
    enum err_code rc = ERR_OK;

    if (FAULT("container.arriving"))
        return err_set(err, ERR_INTERNAL, "injected failure");
    if (*row->blob_id)
        rc = container_put_back(container, row, &why);
    *ret_lost = !*row->blob_id || rc == ERR_NOT_FOUND || rc == ERR_CONFLICT ||
                (rc == ERR_STORE && why.reason == REASON_ELSEWHERE) ||
                never_fits(container, rc, row->bytes);
    if (!rc || *ret_lost)
        return ERR_OK;
    if (err)
        *err = why;
    return rc;
}

static void note_lost(json_t *lost, struct container_file_row *row)
{
    log_warn("container %s: a file is lost that had no copy", row->container_id);
    if (json_array_size(lost) < LOST_LIMIT)
        json_array_append_new(lost, json_string(row->path));
    *row->path = '\0';
}

static enum err_code put_all_back(const struct container *container,
                                  struct container_file_row *rows, size_t count, json_t *lost,
                                  size_t *ret_lost_count, struct err *err)
{
    *ret_lost_count = 0;
    for (size_t i = 0; i < count; i++) {
        bool is_lost = false;
        enum err_code rc = put_back(container, &rows[i], &is_lost, err);

        if (rc)
            return rc;
        *ret_lost_count += is_lost;
        if (is_lost)
            note_lost(lost, &rows[i]);
    }
    return ERR_OK;
}

static enum err_code no_disk(struct err *err)
{
    return err_set(err, ERR_FULL, "The server has no disk space for the container.");
}

/* The copies that are there fit on the disk, together with what is left free. */
static enum err_code check_disk(const struct container *container,
                                const struct container_file_row *rows, size_t count,
                                struct err *err)
{
    uint64_t left = workspace_disk_left(container->workspace);

    for (size_t i = 0; i < count; i++) {
        if (!*rows[i].blob_id)
            continue;
        if (rows[i].bytes > left)
            return no_disk(err);
        left -= rows[i].bytes;
    }
    return ERR_OK;
}

/* After the death of its node. */
static enum err_code fill_from_copies(const struct container *container,
                                      struct container_file_row *rows, size_t count,
                                      struct err *err)
{
    struct store *store = container->all->options.store;
    const char *id = container->row.id;
    json_auto_t *lost = json_array();
    AUTO_FREE char *text = NULL;
    size_t lost_count = 0;
    enum err_code rc = check_disk(container, rows, count, err);

    if (!rc)
        rc = put_all_back(container, rows, count, lost, &lost_count, err);
    if (lost_count)
        text = json_text(lost);
    if (rc)
        return rc;
    if (count && lost_count == count) {
        rc = store_container_expire(store, &container->tenant, id, container->row.epoch, err);
        return rc ? rc : container_expired(err);
    }
    return store_container_arrived(store, &container->tenant, id, container->row.epoch, rows,
                                   count, text, err);
}

/* ---- Arriving with an archive ---- */

struct unpacked {
    struct blob_read *read;
    uint64_t at;
};

static enum err_code take_bytes(void *argument, void *ret_bytes, size_t size, size_t *ret_got,
                                struct err *err)
{
    struct unpacked *unpacked = argument;
    enum err_code rc;

    if (FAULT("container.unpacking"))
        return err_set(err, ERR_INTERNAL, "injected failure");
    rc = blob_read_at(unpacked->read, unpacked->at, ret_bytes, size, ret_got, err);
    unpacked->at += rc ? 0 : *ret_got;
    return rc;
}

/* What the model reads of it. The caller frees; NULL: all has come. */
static char *left_text(const struct container *container, const struct workspace_left *left)
{
    json_auto_t *paths = json_array();
    json_auto_t *all = NULL;

    if (!left->count)
        return NULL;
    log_warn("container %s: %llu files could not be moved", container->row.id,
             (unsigned long long)left->count);
    for (size_t i = 0; i < left->named; i++)
        json_array_append_new(paths, json_string(left->paths[i]));
    all = json_pack("{sOsI}", "paths", paths, "count", (json_int_t)left->count);
    return json_text(all);
}

/* The rows as the folder is now. One whose file has not come is gone. */
static void look_at_rows(const struct container *container, struct container_file_row *rows,
                         size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct container_file_row *row = &rows[i];
        struct workspace_stat stat;
        struct err gone;

        if (workspace_stat(container->workspace, row->path, &stat, &gone) ||
            stat.kind != WORKSPACE_FILE) {
            *row->path = '\0';
            continue;
        }
        row->bytes = stat.size;
        row->modified_ns = stat.mtime_ns;
        row->inode = stat.inode;
    }
}

static enum err_code fill_from_archive(const struct container *container,
                                       struct blob_read *read, struct container_file_row *rows,
                                       size_t count, struct err *err)
{
    CLEANUP(workspace_left_clear) struct workspace_left left = {0};
    struct unpacked unpacked = {.read = read};
    AUTO_FREE char *text = NULL;
    enum err_code rc;

    if (blob_read_row(read)->bytes > workspace_disk_left(container->workspace))
        return no_disk(err);
    rc = workspace_unpack(container->workspace, take_bytes, &unpacked, &left, err);
    if (rc)
        return rc;
    if (FAULT("container.unpacked"))
        return err_set(err, ERR_INTERNAL, "injected failure");
    look_at_rows(container, rows, count);
    text = left_text(container, &left);
    return store_container_arrived(container->all->options.store, &container->tenant,
                                   container->row.id, container->row.epoch, rows, count, text,
                                   err);
}

/* *ret_read NULL: an archive is missing, or its bytes are where this node does not reach. */
static enum err_code open_archive(const struct container *container,
                                  struct blob_read **ret_read, struct err *err)
{
    const struct containers_options *options = &container->all->options;
    char blob_id[ID_SIZE];
    struct err why = {0};
    enum err_code rc = store_container_archive(options->store, &container->tenant,
                                               container->row.id, blob_id, err);

    *ret_read = NULL;
    if (rc || !*blob_id)
        return rc;
    rc = blob_read_open(options->blobs, &container->tenant, blob_id, ret_read, &why);
    if (rc == ERR_NOT_FOUND || (rc == ERR_STORE && why.reason == REASON_ELSEWHERE)) {
        log_warn("container %s: its archive cannot be read: %s", container->row.id, why.text);
        *ret_read = NULL;
        return ERR_OK;
    }
    if (rc && err)
        *err = why;
    return rc;
}

static enum err_code fill_folder(struct container *container, struct err *err)
{
    struct container_file_row *rows = NULL;
    struct blob_read *read = NULL;
    size_t count = 0;
    enum err_code rc =
        store_container_files_sources(container->all->options.store, &container->tenant,
                                      container->row.id, &rows, &count, err);

    if (rc)
        return rc;
    rc = open_archive(container, &read, err);
    if (!rc && read)
        rc = fill_from_archive(container, read, rows, count, err);
    if (rc == ERR_INVALID) {
        log_error("container %s: its archive is broken", container->row.id);
        workspace_close(TAKE(container->workspace));
        rc = open_empty(container, err);
        if (!rc)
            rc = fill_from_copies(container, rows, count, err);
    } else if (!rc && !read) {
        rc = fill_from_copies(container, rows, count, err);
    }
    blob_read_free(read);
    container_file_rows_free(rows, count);
    return rc;
}

static enum err_code reread(struct container *container, struct err *err)
{
    struct container_row row = {0};
    enum err_code rc = store_container_get(container->all->options.store, &container->tenant,
                                           container->row.id, &row, err);

    if (rc)
        return rc;
    container_row_clear(&container->row);
    container->row = row;
    return ERR_OK;
}

enum err_code container_arrive(struct container *container, struct err *err)
{
    struct err left;
    enum err_code rc;

    container_begin_put(container);
    rc = reread(container, err);
    /* Another node may have taken it while this one stood still. */
    if (!rc && strcmp(container->row.node_id, container->all->options.node_id) != 0)
        rc = err_refuse(err, ERR_STORE, REASON_CONTAINER_ELSEWHERE, NULL,
                        "The container's server does not answer.");
    if (!rc && container->row.arriving) {
        rc = open_empty(container, err);
        if (!rc)
            rc = fill_folder(container, err);
        workspace_close(TAKE(container->workspace));
        /* What fits only in part would keep the disk full. */
        if (rc == ERR_FULL && container_folder_discard(container->all, &container->tenant,
                                                       container->row.id, &left))
            log_warn("the folder of %s stays: %s", container->row.id, left.text);
        if (!rc)
            rc = reread(container, err);
    }
    container_end_put(container);
    return rc;
}

/* ---- Leaving ---- */

void container_await_gift(const struct container *container)
{
    struct containers *all = container->all;

    lock_acquire(&all->lock);
    while (container->use->giving)
        lock_wait(&all->lock, &all->put_ended);
    lock_release(&all->lock);
}

/* False: another call has it. Its end is then the time to try again. */
static bool begin_gift(const struct container *container)
{
    struct containers *all = container->all;
    bool alone;

    lock_acquire(&all->lock);
    alone = container->use->takers == 1;
    container->use->giving = alone;
    container->use->asked = !alone;
    lock_release(&all->lock);
    return alone;
}

static void end_gift(const struct container *container)
{
    struct containers *all = container->all;

    lock_acquire(&all->lock);
    container->use->giving = false;
    pthread_cond_broadcast(&all->put_ended);
    lock_release(&all->lock);
}

static enum err_code add_bytes(void *argument, const void *bytes, size_t size, struct err *err)
{
    if (FAULT("container.packing"))
        return err_set(err, ERR_INTERNAL, "injected failure");
    return blob_write_add(argument, bytes, size, err);
}

/* All of the workspace. *ret_blob is to be held, or removed. */
static enum err_code make_archive(const struct container *container, struct blob_row *ret_blob,
                                  struct err *err)
{
    struct blob_write *write = NULL;
    enum err_code rc =
        blob_write_begin(container->all->options.blobs, &container->tenant, &write, err);

    if (rc)
        return rc;
    rc = workspace_pack(container->workspace, add_bytes, write, err);
    if (!rc)
        rc = blob_write_finish(write, ret_blob, err);
    blob_write_free(write);
    return rc;
}

static enum err_code give_with_archive(const struct container *container, const char *node_id,
                                       struct err *err)
{
    const struct containers_options *options = &container->all->options;
    struct blob_row blob;
    enum err_code rc = make_archive(container, &blob, err);

    if (rc)
        return rc;
    rc = store_container_give(options->store, &container->tenant, container->row.id,
                              container->row.epoch, node_id, blob.id, err);
    if (rc)
        blob_remove_unheld(options->blobs, &container->tenant, blob.id);
    return rc;
}

static void note_giving(const struct container *container, bool giving)
{
    struct err err;

    if (store_container_giving(container->all->options.store, &container->tenant,
                               container->row.id, container->row.epoch, giving, &err))
        log_info("container %s: the node that asks does not know of the gift: %s",
                 container->row.id, err.text);
}

/* After the row has gone to another node. */
static enum err_code clear_left_folder(const struct container *container, struct err *err)
{
    const struct containers_options *options = &container->all->options;
    const char *id = container->row.id;
    enum err_code rc = container_folder_discard(container->all, &container->tenant, id, err);

    return rc ? rc
              : store_container_left_cleared(options->store, &container->tenant, id,
                                             options->node_id, err);
}

/* The row goes first. What is left behind then is this node's to remove, now or when it tends its containers. */
static enum err_code hand_over(struct container *container, const char *node_id,
                               struct err *err)
{
    const struct containers_options *options = &container->all->options;
    const char *id = container->row.id;
    enum err_code rc;

    /* First: what still runs would write into a folder that is copied already. */
    if (options->end)
        options->end(options->argument, id);
    note_giving(container, true);
    rc = container_note(container, CONTAINER_FILE_ASSISTANT, "", NULL, NULL, err);
    if (!rc)
        rc = give_with_archive(container, node_id, err);
    if (rc) {
        note_giving(container, false);
        return rc;
    }
    log_info("container %s is given to %s", id, node_id);
    if (FAULT("container.given"))
        return err_set(err, ERR_INTERNAL, "injected failure");
    return clear_left_folder(container, err);
}

/* No call has taken it yet, and its folder has nothing that counts: it goes on as it came. */
static enum err_code pass_on(struct container *container, const char *node_id, struct err *err)
{
    const struct containers_options *options = &container->all->options;
    const char *id = container->row.id;
    enum err_code rc = store_container_give(options->store, &container->tenant, id,
                                            container->row.epoch, node_id, "", err);

    if (rc)
        return rc;
    log_info("container %s, which has not arrived, is given to %s", id, node_id);
    return clear_left_folder(container, err);
}

/* *ret_done false: it has arrived, so it is to be taken. */
static enum err_code pass_arriving(struct containers *all, const struct asked_container *asked,
                                   bool *ret_done, struct err *err)
{
    struct container *container = container_new(all, &asked->tenant, asked->id);
    enum err_code rc;

    container_begin_put(container);
    rc = store_container_get(all->options.store, &asked->tenant, asked->id, &container->row,
                             err);
    *ret_done = !rc && container->row.arriving && container->row.status == CONTAINER_RUNNING &&
                strcmp(container->row.node_id, all->options.node_id) == 0;
    if (*ret_done)
        rc = pass_on(container, asked->wanted_by, err);
    container_end_put(container);
    container_release(container);
    return rc;
}

static enum err_code give_taken(struct container *container, const char *node_id,
                                struct err *err)
{
    enum err_code rc;

    if (!begin_gift(container)) {
        note_giving(container, true);
        return err_set(err, ERR_CONFLICT, "a call has it");
    }
    rc = hand_over(container, node_id, err);
    end_gift(container);
    return rc;
}

static enum err_code give(struct containers *all, const struct asked_container *asked,
                          struct err *err)
{
    const struct container_choice choice = {.named = asked->id};
    struct container *container;
    bool done;
    enum err_code rc = pass_arriving(all, asked, &done, err);

    if (rc || done)
        return rc;
    rc = containers_take(all, &asked->tenant, &choice, &container, err);
    if (rc)
        return rc;
    rc = give_taken(container, asked->wanted_by, err);
    container_release(container);
    return rc;
}

enum err_code containers_answer(struct containers *all, size_t *ret_copied, struct err *err)
{
    AUTO_FREE struct asked_container *asked = NULL;
    size_t count = 0;
    enum err_code rc = store_containers_asked(all->options.store, all->options.node_id,
                                              ANSWER_LIMIT, &asked, &count, err);

    *ret_copied = 0;
    for (size_t i = 0; !rc && i < count; i++) {
        const struct asked_container *one = &asked[i];
        struct err why = {0};

        if (*one->file_id ? containers_copy_file(all, &one->tenant, one->id, one->file_id, &why)
                          : give(all, one, &why))
            log_info("container %s: another node asks in vain: %s", one->id, why.text);
        else
            *ret_copied += *one->file_id != '\0';
    }
    return rc;
}
