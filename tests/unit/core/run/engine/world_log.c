/*
 * The log of events, and its reader: the functions of core/store/cluster/log_reader.h over the rows of
 * world_database.h.
 */

#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/store/cluster/log_reader.h"
#include "core/store/tables/runs/runs.h"
#include "tests/unit/core/run/engine/world_database.h"

enum err_code store_events_read(struct store *store, const struct tenant *tenant,
                                const char *run_id, int64_t first_seq, size_t limit,
                                char **ret_frames, size_t *ret_length, int64_t *ret_next,
                                struct err *err)
{
    const struct record *record = database_find(run_id);
    const char *bytes, *end;

    (void)tenant;
    (void)limit;
    if (store_call_fails(store))
        return err_set(err, ERR_STORE, "the database is away");
    *ret_frames = NULL;
    *ret_length = 0;
    *ret_next = first_seq;
    if (!record || first_seq >= record->next_frame)
        return ERR_OK;
    bytes = record->log.data;
    end = bytes + record->log.length;
    for (int64_t i = 0; i < first_seq; i++)
        bytes = (const char *)memmem(bytes, (size_t)(end - bytes), "\n\n", 2) + 2;
    *ret_length = (size_t)(end - bytes);
    *ret_frames = mem_strndup(bytes, *ret_length);
    *ret_next = record->next_frame;
    return ERR_OK;
}

struct reading {
    struct actor actor;
    struct node *node;
    struct log_read *read;
};

static void answer_reading(struct actor *actor)
{
    struct reading *reading = CONTAINER_OF(actor, struct reading, actor);
    struct log_read *read = reading->read;

    actor_leave(actor);
    free(reading);
    loop_post(read->loop, &read->done);
}

static const struct actor_ops answer_ops = {
    .thing = THING_REPORT,
    .act = answer_reading,
};

/* The status is read before the frames, as core/store/cluster/log_reader.c does it. The answer is a step of
 * its own: meanwhile the log may grow, and the run may publish what was not read. */
static void read_log(struct actor *actor)
{
    struct reading *reading = CONTAINER_OF(actor, struct reading, actor);
    struct log_read *read = reading->read;
    struct store *store = &reading->node->store;
    struct run_row run = {0};

    read->rc = store_run_get(store, &read->tenant, NULL, read->run_id, &run, NULL);
    if (!read->rc) {
        read->status = run.status;
        run_row_clear(&run);
        read->rc =
            store_events_read(store, &read->tenant, read->run_id, read->first_seq, read->limit,
                              &read->frames, &read->length, &read->next, NULL);
    }
    actor_leave(actor);
    actor_join(actor, &answer_ops, reading->node);
}

static const struct actor_ops reading_ops = {
    .thing = THING_READ,
    .act = read_log,
};

void log_reader_ask(struct log_reader *reader, struct log_read *read)
{
    struct reading *reading;

    if (reader->node->dead) {
        read->rc = ERR_NOT_FOUND;
        loop_post(read->loop, &read->done);
        return;
    }
    reading = mem_new(struct reading);
    reading->node = reader->node;
    reading->read = read;
    actor_join(&reading->actor, &reading_ops, reader->node);
}

void readings_return(struct node *node)
{
    for (size_t i = world->actors.count; i-- > 0;) {
        struct actor *actor = world->actors.list[i];

        if ((actor->ops != &reading_ops && actor->ops != &answer_ops) || actor->node != node)
            continue;
        CONTAINER_OF(actor, struct reading, actor)->read->rc = ERR_NOT_FOUND;
        answer_reading(actor);
    }
}
