#include "tests/integration/core/store/writer/writer_samples.h"

#include "core/base/clock.h"
#include "tests/integration/core/store/samples.h"
#include "tests/support/pg_fixture.h"

const char *status_of(const struct run_row *run)
{
    return pg_fixture_ask("SELECT status FROM runs WHERE id = '%s'", run->id);
}

long leases_of(const struct run_row *run)
{
    return pg_fixture_count("SELECT count(*) FROM run_leases WHERE run_id = '%s'", run->id);
}

long items_of(const struct run_row *run)
{
    return pg_fixture_count("SELECT count(*) FROM items WHERE run_id = '%s'", run->id);
}

struct run_write *finished_response(struct run_row *ret_run)
{
    struct item_row question, answer;
    struct run_write *write;

    *ret_run = sample_run("", RUN_COMPLETED);
    ret_run->completed_at = clock_wall_us();
    question = sample_item(ret_run, 0, "{\"content\":\"say \\\"hi\\\"\"}");
    question.input = true;
    answer = sample_item(ret_run, 1, "{\"content\":\"hi\"}");
    write = sample_write(ret_run, 0);
    write->create = true;
    sample_add_item(write, &question);
    sample_add_item(write, &answer);
    return write;
}
