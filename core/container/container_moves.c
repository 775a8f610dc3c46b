/*
 * A container comes to this node, or leaves it.
 *
 *   fetch    of a dead node: one UPDATE. Of one that lives: asked in the row, and waited for
 *   arrive   an empty folder, then each file from its copy; what has none is lost
 *   answer   for other nodes: copies; and containers that no call has, with all their files
 *
 * A move is decided by the row (container_moves.h), and nothing here depends on its being finished. If this node dies
 * while a container arrives, the row still says so, and the next one who takes it begins again with an empty folder.
 *
 * An owner that lives gives a container away only when all of its listed files have copies. So only the death of a node
 * loses files, and only those that sandbox_copies did not cover.
 */

#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/fault.h"
#include "core/base/json.h"
#include "core/base/lock.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/container/containers_internal.h"
#include "core/sandbox/workspace/workspace.h"
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

static enum err_code has_come(const struct container *container, bool *ret_come,
                              struct err *err)
{
    CLEANUP(container_row_clear) struct container_row row = {0};
    const struct containers_options *options = &container->all->options;
    enum err_code rc =
        store_container_get(options->store, &container->tenant, container->row.id, &row, err);

    if (!rc)
        *ret_come =
            row.status != CONTAINER_RUNNING || strcmp(row.node_id, options->node_id) == 0;
    return rc;
}

static enum err_code ask_for_it(const struct container *container, struct err *err)
{
    struct containers *all = container->all;
    uint64_t deadline = clock_mono_ns() + CONTAINER_ASK_SECONDS * NS_PER_SECOND;
    unsigned seen = count_answers(all);
    bool come = false;
    enum err_code rc = store_container_ask(all->options.store, &container->tenant,
                                           container->row.id, all->options.node_id, err);

    while (!rc && !come && clock_mono_ns() < deadline) {
        wait_for_answer(all, seen, deadline);
        seen = count_answers(all);
        rc = has_come(container, &come, err);
    }
    return rc;
}

enum err_code container_fetch(const struct container *container,
                              enum container_fetching fetching, struct err *err)
{
    const struct containers_options *options = &container->all->options;
    const struct container_row *row = &container->row;
    bool taken = false;
    enum err_code rc = ERR_OK;

    if (atomic_load(&container->all->steady))
        rc = store_container_take_over(options->store, &container->tenant, row->id, row->epoch,
                                       options->node_id, &taken, err);
    if (taken)
        log_info("container %s is taken over from %s", row->id, row->node_id);
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
                (rc == ERR_STORE && why.reason == REASON_ELSEWHERE);
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

static enum err_code fill_folder(const struct container *container, struct err *err)
{
    struct store *store = container->all->options.store;
    const char *id = container->row.id;
    struct container_file_row *rows = NULL;
    json_auto_t *lost = json_array();
    AUTO_FREE char *text = NULL;
    size_t count = 0, lost_count = 0;
    enum err_code rc =
        store_container_files_sources(store, &container->tenant, id, &rows, &count, err);

    if (rc)
        return rc;
    rc = put_all_back(container, rows, count, lost, &lost_count, err);
    if (lost_count)
        text = json_text(lost);
    if (!rc && count && lost_count == count) {
        rc = store_container_expire(store, &container->tenant, id, container->row.epoch, err);
        if (!rc)
            rc = container_expired(err);
    } else if (!rc) {
        rc = store_container_arrived(store, &container->tenant, id, container->row.epoch, rows,
                                     count, text, err);
    }
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
        if (!rc)
            rc = reread(container, err);
        workspace_close(TAKE(container->workspace));
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

/* False: another call has it. */
static bool begin_gift(const struct container *container)
{
    struct containers *all = container->all;
    bool alone;

    lock_acquire(&all->lock);
    alone = container->use->takers == 1;
    container->use->giving = alone;
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

/* Together no more than a workspace may have: a sparse file costs its folder nothing, and its copy everything. */
static enum err_code copy_all(struct container *container, struct err *err)
{
    const struct containers_options *options = &container->all->options;
    struct container_file_row *rows = NULL;
    size_t count = 0;
    uint64_t left = workspaces_options(options->workspaces)->bytes;
    enum err_code rc = store_container_files_sources(options->store, &container->tenant,
                                                     container->row.id, &rows, &count, err);

    for (size_t i = 0; !rc && i < count; i++) {
        if (*rows[i].blob_id)
            continue;
        if (rows[i].bytes > left)
            rc = err_set(err, ERR_FULL, "The container's files are too large to be moved.");
        else
            rc = container_copy_out(container, &rows[i], err);
        left -= rc ? 0 : rows[i].bytes;
    }
    container_file_rows_free(rows, count);
    return rc;
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
    rc = container_note(container, CONTAINER_FILE_ASSISTANT, "", NULL, NULL, err);
    if (!rc)
        rc = copy_all(container, err);
    if (!rc)
        rc = store_container_give(options->store, &container->tenant, id, container->row.epoch,
                                  node_id, err);
    if (rc)
        return rc;
    log_info("container %s is given to %s", id, node_id);
    if (FAULT("container.given"))
        return err_set(err, ERR_INTERNAL, "injected failure");
    rc = container_folder_discard(container->all, &container->tenant, id, err);
    return rc ? rc
              : store_container_left_cleared(options->store, &container->tenant, id,
                                             options->node_id, err);
}

static enum err_code give(struct containers *all, const struct asked_container *asked,
                          struct err *err)
{
    const struct container_choice choice = {.named = asked->id};
    struct container *container;
    enum err_code rc = containers_take(all, &asked->tenant, &choice, &container, err);

    if (rc)
        return rc;
    if (begin_gift(container)) {
        rc = hand_over(container, asked->wanted_by, err);
        end_gift(container);
    } else {
        rc = err_set(err, ERR_CONFLICT, "a call has it");
    }
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
