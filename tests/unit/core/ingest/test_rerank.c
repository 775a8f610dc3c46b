/*
 * Passages judged by the scripted upstream: what is taken from an answer, and what is none.
 */

#include "core/ingest/rerank.h"

#include <math.h>
#include <string.h>

#include "core/base/compiler.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "server/fakemodel/server.h"
#include "tests/support/loop_group.h"
#include "tests/support/patience.h"
#include "tests/support/test.h"

static struct upstream_server *upstream;
static struct reranker *reranker;

/* An upstream with these rules, and a client of it. */
static void open_with(const char *rules, struct rerank_options options)
{
    AUTO_FREE char *script = mem_printf("rules:\n%s  - answer: {text: Hi}\n", rules);

    assert_int_equal(upstream_server_start_controlled(script, "127.0.0.1:0", &upstream, NULL),
                     ERR_OK);
    options.url = upstream_server_url(upstream);
    options.any_loop = any_loop;
    reranker = reranker_new(&options);
}

static void close_all(void)
{
    reranker_close(reranker);
    reranker_free(TAKE(reranker));
    upstream_server_stop(TAKE(upstream));
}

static const char *const texts[3] = {"a white dog", "the black cat sleeps", "a black dog"};

static enum err_code judge(const char *first, const char *second, double *scores,
                           struct err *err)
{
    const char *const queries[2] = {first, second};

    return rerank(reranker,
                  &(struct rerank_request){.queries = queries,
                                           .query_count = second ? 2 : 1,
                                           .texts = texts,
                                           .count = 3,
                                           .seconds = patience_ms(5) / 1000.0},
                  scores, err);
}

TEST(passages_are_judged_and_the_best_query_counts)
{
    double cat[3], dog[3], both[3];

    open_with("", (struct rerank_options){.model = "judge"});
    assert_int_equal(judge("black cat", NULL, cat, NULL), ERR_OK);
    assert_true(cat[1] > cat[2] && cat[2] > cat[0]);
    assert_int_equal(judge("white dog", NULL, dog, NULL), ERR_OK);
    assert_true(dog[0] > dog[2] && dog[2] > dog[1]);
    assert_int_equal(judge("black cat", "white dog", both, NULL), ERR_OK);
    for (size_t i = 0; i < 3; i++)
        assert_true(fabs(both[i] - fmax(cat[i], dog[i])) < 1e-9);
    close_all();
}

/* What the operator keeps from models: the word "cat". */
static enum err_code mask_cats(void *arg, json_t *messages, struct err *err)
{
    size_t i;
    json_t *message;

    (void)arg, (void)err;
    json_array_foreach (messages, i, message)
        if (strstr(json_get_string(message, "content", ""), "cat"))
            json_set_string(message, "content", "masked");
    return ERR_OK;
}

TEST(passages_and_queries_are_masked)
{
    double scores[3];

    open_with("", (struct rerank_options){.model = "judge", .mask = mask_cats});
    assert_int_equal(judge("cat", NULL, scores, NULL), ERR_OK);
    assert_true(scores[1] > 0.99); /* "masked" is "masked" */
    assert_true(scores[0] < 0.99);
    close_all();
}

TEST(a_server_of_the_other_form_is_understood)
{
    double scores[3];

    open_with("  - match: {path: /v1/rerank}\n"
              "    answer: {fault: {kind: status, status: 200, body: "
              "[{index: 2, score: 3.0}, {index: 0, score: -2.0}, {index: 1, score: 0.0}]}}\n",
              (struct rerank_options){.dialect = RERANK_TEI});
    assert_int_equal(judge("black cat", NULL, scores, NULL), ERR_OK);
    assert_true(fabs(scores[0] - 1 / (1 + exp(2))) < 1e-9); /* logits */
    assert_true(fabs(scores[1] - 0.5) < 1e-9);
    assert_true(fabs(scores[2] - 1 / (1 + exp(-3))) < 1e-9);
    close_all();
}

TEST(a_server_that_fails_is_an_error)
{
    static const char *const faults[] = {"kind: status, status: 500", "kind: garbage",
                                         "kind: html", "kind: cut"};
    double scores[3];

    for (size_t i = 0; i < COUNT_OF(faults); i++) {
        AUTO_FREE char *rule =
            mem_printf("  - match: {path: /v1/rerank}\n    answer: {fault: {%s}}\n", faults[i]);
        struct err err;

        open_with(rule, (struct rerank_options){.model = "judge"});
        assert_int_equal(judge("black cat", "dog", scores, &err), ERR_UPSTREAM);
        assert_true(err.text[0]);
        close_all();
    }
}

TEST(a_server_that_failed_is_left_alone_but_not_for_what_it_refuses)
{
    static const struct {
        int status;
        enum err_code first, second;
    } cases[] = {{500, ERR_UPSTREAM, ERR_CONFLICT},
                 {429, ERR_LIMIT, ERR_CONFLICT},
                 {400, ERR_INVALID, ERR_OK},
                 {413, ERR_INVALID, ERR_OK}};
    double scores[3];

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        AUTO_FREE char *rule = mem_printf("  - match: {path: /v1/rerank}\n    times: 1\n"
                                          "    answer: {fault: {kind: status, status: %d}}\n",
                                          cases[i].status);

        open_with(rule, (struct rerank_options){.model = "judge"});
        assert_int_equal(judge("black cat", NULL, scores, NULL), cases[i].first);
        assert_int_equal(judge("black cat", NULL, scores, NULL), cases[i].second);
        close_all();
    }
}

static const char *why(const char *answer)
{
    static struct err err;
    atomic_bool logits = false;
    double scores[2];

    err = (struct err){0};
    if (rerank_answer_read(answer, strlen(answer), 2, &logits, scores, &err))
        return err.text;
    return "";
}

TEST(an_answer_that_is_not_whole_is_none)
{
    static const struct {
        const char *answer, *complaint;
    } cases[] = {
        {"[{\"index\":0,\"score\":0.1},{\"index\":1,\"score\":0.2}]", ""},
        {"{\"results\":[{\"index\":1,\"relevance_score\":1},{\"index\":0,\"score\":0}]}", ""},
        {"", "JSON"},
        {"{}", "list"},
        {"[]", "each passage"},
        {"[{\"index\":0,\"score\":0.1}]", "each passage"},
        {"[{\"index\":0,\"score\":0.1},{\"index\":0,\"score\":0.2}]", "twice"},
        {"[{\"index\":0,\"score\":0.1},{\"index\":2,\"score\":0.2}]", "twice"},
        {"[{\"index\":0,\"score\":0.1},{\"index\":-1,\"score\":0.2}]", "twice"},
        {"[{\"index\":0,\"score\":0.1},{\"index\":1,\"score\":\"0.2\"}]", "no number"},
        {"[{\"index\":0,\"score\":0.1},{\"index\":1}]", "no number"},
        {"[1, 2]", "twice"},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const char *complaint = why(cases[i].answer);

        assert_int_equal(!*complaint, !*cases[i].complaint);
        assert_non_null(strstr(complaint, cases[i].complaint));
    }
}

/* The score of the first text in an answer with these two. */
static double first_of(double one, double two, atomic_bool *logits)
{
    AUTO_FREE char *answer =
        mem_printf("[{\"index\":0,\"score\":%.3f},{\"index\":1,\"score\":%.3f}]", one, two);
    double scores[2];

    assert_int_equal(rerank_answer_read(answer, strlen(answer), 2, logits, scores, NULL),
                     ERR_OK);
    return scores[0];
}

TEST(a_model_of_logits_stays_one)
{
    atomic_bool logits = false;
    double logistic = 1 / (1 + exp(-0.25));

    assert_float_equal(first_of(0.25, 1, &logits), 0.25, 1e-9);
    assert_false(logits);
    assert_float_equal(first_of(0.25, -3, &logits), logistic, 1e-9);
    assert_float_equal(first_of(0.25, 1, &logits), logistic, 1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(passages_are_judged_and_the_best_query_counts),
        cmocka_unit_test(passages_and_queries_are_masked),
        cmocka_unit_test(a_server_of_the_other_form_is_understood),
        cmocka_unit_test(a_server_that_fails_is_an_error),
        cmocka_unit_test(a_server_that_failed_is_left_alone_but_not_for_what_it_refuses),
        cmocka_unit_test(a_model_of_logits_stays_one),
        cmocka_unit_test(an_answer_that_is_not_whole_is_none),
    };

    return cmocka_run_group_tests(tests, start_loop, end_loop);
}
