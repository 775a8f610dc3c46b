/*
 * Rows with the fields that no test is about, and writes that a test can wait for.
 *
 * A write comes back on a loop, as in the server: the loop posts a semaphore, and
 * samples_await() counts. So no test sleeps, and a write that never comes back hangs its test
 * instead of passing it.
 *
 * Threads are inserted by SQL. The functions that make them are under test elsewhere, and a
 * mistake there should fail there only.
 */

#include "tests/integration/core/store/samples.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "tests/support/pg_fixture.h"

static struct loop *loop;
static sem_t back;

struct run_row sample_run(const char *thread_id, enum run_status status)
{
    struct run_row run = {.status = status, .flags = RUN_STORED};

    id_make(run.id, thread_id[0] ? "run_" : "resp_");
    snprintf(run.project, sizeof(run.project), "%s", PROJECT);
    snprintf(run.thread_id, sizeof(run.thread_id), "%s", thread_id);
    run.face = thread_id[0] ? FACE_ASSISTANTS : FACE_RESPONSES;
    if (thread_id[0])
        run.flags |= RUN_RESUMABLE;
    run.config = mem_strdup("{\"model\":\"m\"}");
    run.metadata = mem_strdup("{}");
    run.created_at = clock_wall_us();
    run.expires_at = run.created_at + 600 * US_PER_SECOND;
    return run;
}

struct item_row sample_item(const struct run_row *run, int64_t position, const char *body)
{
    struct item_row item = {
        .position = position, .status = ITEM_COMPLETED, .created_at = clock_wall_us()};

    id_make(item.id, "msg_");
    memcpy(item.run_id, run->id, ID_SIZE);
    memcpy(item.thread_id, run->thread_id, ID_SIZE);
    item.type = ITEM_MESSAGE;
    snprintf(item.role, sizeof(item.role), "assistant");
    item.body = mem_strdup(body);
    return item;
}

struct call_row sample_call(const struct run_row *run, int position, const char *call_id)
{
    struct call_row call = {
        .position = position, .client = true, .state = CALL_WAITING, .turn = run->turn};

    memcpy(call.run_id, run->id, ID_SIZE);
    snprintf(call.call_id, sizeof(call.call_id), "%s", call_id);
    call.tool = mem_strdup("function:f");
    call.arguments = mem_strdup("{\"a\": 1");
    return call;
}

struct step_row sample_step(const struct run_row *run)
{
    struct step_row step = {.type = STEP_TOOL_CALLS, .created_at = clock_wall_us()};

    id_make(step.id, "step_");
    memcpy(step.run_id, run->id, ID_SIZE);
    memcpy(step.thread_id, run->thread_id, ID_SIZE);
    return step;
}

void sample_thread(char ret_id[ID_SIZE])
{
    id_make(ret_id, "thread_");
    pg_fixture_ask("INSERT INTO threads VALUES ('%s', '%s', '{}', NULL, 1)", PROJECT, ret_id);
}

struct run_load sample_created(struct store *store, const char *thread_id)
{
    struct run_row run = sample_run(thread_id, RUN_QUEUED);
    const struct run_creation creation = {
        .tenant = TENANT, .run = &run, .context_limit = CONTEXT};
    struct run_load load;
    struct err err;

    if (store_run_create(store, &creation, &load, &err)) {
        fprintf(stderr, "store_run_create: %s\n", err.text);
        abort();
    }
    run_row_clear(&run);
    return load;
}

/* ---- Writes ---- */

void samples_start(void)
{
    sem_init(&back, 0, 0);
    loop = loop_new("test");
    if (loop_start(loop, NULL))
        abort();
}

void samples_stop(void)
{
    loop_stop(loop);
    loop_free(loop);
    sem_destroy(&back);
}

static void came_back(struct loop_task *task)
{
    (void)task;
    sem_post(&back);
}

struct run_write *sample_write(const struct run_row *run, int64_t fence)
{
    struct run_write *write = run_write_new();

    write->tenant = tenant_of_project(run->project);
    memcpy(write->run_id, run->id, ID_SIZE);
    write->fence = fence;
    write->run = mem_new(struct run_row);
    run_row_copy(write->run, run);
    write->loop = loop;
    write->done.run = came_back;
    return write;
}

void sample_add_item(struct run_write *write, const struct item_row *item)
{
    write->items = mem_resize(write->items, write->item_count + 1, sizeof(*item));
    write->items[write->item_count++] = *item;
}

void sample_add_call(struct run_write *write, const struct call_row *call)
{
    write->calls = mem_resize(write->calls, write->call_count + 1, sizeof(*call));
    write->calls[write->call_count++] = *call;
}

void sample_add_step(struct run_write *write, const struct step_row *step)
{
    write->steps = mem_resize(write->steps, write->step_count + 1, sizeof(*step));
    write->steps[write->step_count++] = *step;
}

void sample_add_log(struct run_write *write, int64_t first, const char *frames)
{
    int64_t count = 0;

    for (const char *end = frames; (end = strstr(end, "\n\n")); end += 2)
        count++;
    write->log_first = first;
    write->log_last = first + count - 1;
    write->log_bytes = mem_strdup(frames);
    write->log_length = strlen(frames);
}

void samples_await(size_t count)
{
    for (size_t i = 0; i < count; i++) {
        while (sem_wait(&back) != 0)
            ;
    }
}

void sample_hand_over(struct store *store, struct run_write *const *writes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        store_write(store, writes[i]);
    samples_await(count);
}

enum err_code sample_put(struct store *store, struct run_write *write)
{
    enum err_code rc;

    sample_hand_over(store, &write, 1);
    rc = write->rc;
    run_write_free(write);
    return rc;
}

void sample_ask_client(struct store *store, struct run_load *load)
{
    struct call_row first = sample_call(&load->run, 0, "a");
    struct call_row second = sample_call(&load->run, 1, "b");
    struct run_write *write;

    load->run.status = RUN_REQUIRES_ACTION;
    free(load->run.required_action);
    load->run.required_action = mem_strdup("{\"type\":\"submit_tool_outputs\"}");
    write = sample_write(&load->run, load->fence);
    write->update = true;
    write->release = true;
    sample_add_call(write, &first);
    sample_add_call(write, &second);
    if (sample_put(store, write))
        abort();
}
