/*
 * Steps that many tests take with a run: made by a client, answered by a client, ended by its
 * owner. Each goes through the function that the server uses, so a test starts from a state that
 * can exist.
 */

#include "tests/integration/core/store/run_samples.h"

#include "tests/integration/core/store/opened_store.h"
#include "tests/support/pg_fixture.h"
#include "tests/support/test.h"

const unsigned char hash_one[32] = {1};
const unsigned char hash_two[32] = {2};

const char *status_of(const char *run_id)
{
    return pg_fixture_ask("SELECT status FROM runs WHERE id = '%s'", run_id);
}

enum err_code create(const char *thread_id, struct run_load *ret_load, struct err *err)
{
    struct run_row run = sample_run(thread_id, RUN_QUEUED);
    const struct run_creation creation = {
        .tenant = TENANT, .run = &run, .context_limit = CONTEXT};
    enum err_code rc = store_run_create(store, &creation, ret_load, err);

    run_row_clear(&run);
    return rc;
}

void end_run(struct run_load *load)
{
    struct run_write *write;

    load->run.status = RUN_COMPLETED;
    write = sample_write(&load->run, load->fence);
    write->update = true;
    assert_int_equal(sample_put(store, write), ERR_OK);
    run_load_clear(load);
}

enum err_code submit(const struct run_row *run, const char *const *ids, size_t count,
                     const unsigned char *hash, struct run_load *ret_load, bool *ret_repeated,
                     struct err *err)
{
    struct tool_answer answers[8];

    for (size_t i = 0; i < count; i++)
        answers[i] = (struct tool_answer){.call_id = ids[i], .output = "\"o\""};
    return store_run_submit(store,
                            &(struct submission){.tenant = TENANT,
                                                 .thread_id = run->thread_id,
                                                 .run_id = run->id,
                                                 .answers = answers,
                                                 .count = count,
                                                 .hash = hash,
                                                 .context_limit = CONTEXT},
                            ret_load, ret_repeated, err);
}
