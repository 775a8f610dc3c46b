#include "core/store/writer/writer.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/mem.h"

/*
 * write.c -- a write as a thing: made, released, and what is left of one that was refused. It needs
 * neither a writer nor a database, so a test with a store of its own can link it.
 */

struct run_write *run_write_new(void)
{
    struct run_write *write = mem_new(struct run_write);

    write->log_last = -1;
    return write;
}

void run_write_free(struct run_write *write)
{
    if (!write)
        return;
    if (write->run)
        run_row_clear(write->run);
    free(write->run);
    for (size_t i = write->item_count - write->lent; i < write->item_count; i++)
        write->items[i].body = NULL;
    item_rows_free(write->items, write->item_count);
    step_rows_free(write->steps, write->step_count);
    call_rows_free(write->calls, write->call_count);
    variables_free(write->variables, write->variable_count);
    approval_rows_free(write->approvals, write->approval_count);
    free(write->log_bytes);
    free(write);
}

struct run_write *run_write_failure(const struct run_write *refused, const struct run_row *run)
{
    struct run_write *write;

    if (refused->create)
        return NULL;
    write = run_write_new();
    write->run = mem_new(struct run_row);
    write->tenant = refused->tenant;
    memcpy(write->run_id, refused->run_id, sizeof(write->run_id));
    write->fence = refused->fence;
    write->loop = refused->loop;
    write->arg = refused->arg;
    write->done.run = refused->done.run;
    write->update = true;
    write->run->status = RUN_FAILED;
    write->run->turn = run->turn;
    write->run->started_at = run->started_at;
    write->run->expires_at = run->expires_at;
    write->run->failed_at = clock_wall_us();
    write->run->error = mem_strdup("{\"code\":\"server_error\",\"message\":"
                                   "\"The server could not store what this run has made.\"}");
    return write;
}
