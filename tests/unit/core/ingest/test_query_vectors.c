/*
 * Vectors of queries: what a project has asked before, and what another has.
 */

#include "core/ingest/query_vectors.h"

#include <stdlib.h>
#include <string.h>

#include "core/ingest/embeddings.h"
#include "core/ingest/search.h"
#include "core/net/http_client.h"
#include "server/fakemodel/server.h"
#include "tests/support/patience.h"
#include "tests/support/tenants.h"
#include "tests/support/test.h"

#define DIMENSIONS 32
#define SECONDS    (patience_ms(10) / 1000.0)
#define MINE       TENANT_OF("proj_mine")
#define THEIRS     TENANT_OF("proj_theirs")

static struct loop *loop;
static struct upstream_server *upstream;
static struct embeddings *embeddings;
static struct query_vectors *vectors;

static struct loop *any_loop(void *arg)
{
    (void)arg;
    return loop;
}

static int start(void **state)
{
    struct embeddings_options options = {.model = "words",
                                         .dimensions = DIMENSIONS,
                                         .query_prefix = "",
                                         .document_prefix = "",
                                         .max_input_tokens = 8192,
                                         .any_loop = any_loop};

    (void)state;
    http_client_global_init();
    loop = loop_new("queries");
    if (loop_start(loop, NULL) ||
        upstream_server_start_controlled("rules:\n  - answer: {text: Hi}\n", "127.0.0.1:0",
                                         &upstream, NULL))
        return -1;
    options.url = upstream_server_url(upstream);
    embeddings = embeddings_new(&options);
    vectors = query_vectors_new(embeddings);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    query_vectors_free(vectors);
    embeddings_close(embeddings);
    embeddings_close(embeddings); /* twice is fine */
    embeddings_free(embeddings);
    upstream_server_stop(upstream);
    loop_stop(loop);
    loop_free(loop);
    http_client_global_free();
    return 0;
}

/* Finds the vectors of both texts. Returns how many requests that took. */
static uint64_t find(const struct tenant *tenant, int model, const char *one, const char *two,
                     float *ret_first)
{
    const struct vector_space space = {.id = model, .dimensions = DIMENSIONS};
    const char *const texts[2] = {one, two};
    struct embeddings_stats before, after;
    float *found;

    embeddings_stats(embeddings, &before);
    assert_int_equal(
        query_vectors_find(vectors, tenant, &space, texts, 2, SECONDS, &found, NULL), ERR_OK);
    embeddings_stats(embeddings, &after);
    memcpy(ret_first, found, DIMENSIONS * sizeof(float));
    free(found);
    return after.requests - before.requests;
}

TEST(a_project_knows_what_it_has_asked_and_no_other_does)
{
    float fresh[DIMENSIONS], known[DIMENSIONS];

    assert_int_equal(find(MINE, 1, "amber", "birch", fresh), 1);
    assert_int_equal(find(MINE, 1, "amber", "birch", known), 0);
    assert_memory_equal(known, fresh, sizeof(known));
    assert_int_equal(find(THEIRS, 1, "amber", "birch", known), 1);
    assert_memory_equal(known, fresh, sizeof(known));
    /* Both are known now, each to its own. */
    assert_int_equal(find(MINE, 1, "birch", "amber", known), 0);
    assert_memory_not_equal(known, fresh, sizeof(known));
    assert_int_equal(find(THEIRS, 1, "amber", "birch", known), 0);
    assert_int_equal(find(MINE, 2, "amber", "birch", known), 1); /* another model */
}

TEST(a_model_that_failed_is_left_alone_and_what_is_known_is_found)
{
    const struct vector_space space = {.id = 1, .dimensions = DIMENSIONS};
    const struct vector_space other = {.id = 1, .dimensions = DIMENSIONS / 2};
    const char *text = "cobalt";
    float known[DIMENSIONS];
    float *found;

    (void)find(MINE, 1, "dogwood", "elder", known);
    /* It has other dimensions than these: that is a failure. */
    assert_int_equal(query_vectors_find(vectors, MINE, &other, &text, 1, SECONDS, &found, NULL),
                     ERR_UPSTREAM);
    assert_int_equal(query_vectors_find(vectors, MINE, &space, &text, 1, SECONDS, &found, NULL),
                     ERR_CONFLICT);
    assert_int_equal(find(MINE, 1, "dogwood", "elder", known), 0);
    assert_int_equal(query_vectors_find(vectors, MINE, &space, &text, 1, SECONDS, &found, NULL),
                     ERR_CONFLICT); /* what is known is no answer of it */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_project_knows_what_it_has_asked_and_no_other_does),
        cmocka_unit_test(a_model_that_failed_is_left_alone_and_what_is_known_is_found),
    };

    return cmocka_run_group_tests(tests, start, stop);
}
