/*
 * Searches over real HTTP: the scripted upstream speaks SearXNG's JSON.
 */

#include "core/web/web_search.h"

#include <string.h>

#include "core/base/clock.h"
#include "core/base/compiler.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/net/http_ask.h"
#include "server/fakemodel/server.h"
#include "tests/support/loop_group.h"
#include "tests/support/patience.h"
#include "tests/support/test.h"

static struct upstream_server *servers[2];
static struct web_provider *providers[2];
static struct web_searcher *searcher;

/* A provider whose searches that fit the rule go wrong. */
static void open_provider(size_t i, const char *name, const char *fault)
{
    AUTO_FREE char *rule =
        fault ? mem_printf("  - match: {path: /search}\n    answer: {fault: {%s}}\n", fault)
              : mem_strdup("");
    AUTO_FREE char *script = mem_printf("rules:\n%s  - answer: {text: Hi}\n", rule);
    AUTO_FREE char *url = NULL;
    json_auto_t *entry = NULL;

    assert_int_equal(upstream_server_start_controlled(script, "127.0.0.1:0", &servers[i], NULL),
                     ERR_OK);
    url = mem_strndup(upstream_server_url(servers[i]),
                      strlen(upstream_server_url(servers[i])) - strlen("/v1"));
    entry = json_build("{s:s, s:s, s:s, s:s}", "provider", "searxng", "name", name, "url", url,
                       "timeout", fault && strstr(fault, "stall") ? "0.3" : "20");
    assert_int_equal(web_provider_new(entry, NULL, &providers[i], NULL), ERR_OK);
}

/* `second` NULL: there is one provider. "": it answers. */
static void open_all(const char *first, const char *second)
{
    open_provider(0, "first", *first ? first : NULL);
    if (second)
        open_provider(1, "second", *second ? second : NULL);
    searcher = web_searcher_new(&(struct web_searcher_options){
        .providers = providers, .count = second ? 2 : 1, .any_loop = any_loop});
}

static void close_all(void)
{
    web_searcher_close(searcher);
    web_searcher_free(TAKE(searcher));
    for (size_t i = 0; i < COUNT_OF(servers); i++) {
        web_provider_free(TAKE(providers[i]));
        upstream_server_stop(TAKE(servers[i]));
    }
}

/* Requests that a server has had, by its control path. */
static json_int_t requests_of(size_t i)
{
    const char *url = upstream_server_url(servers[i]);
    AUTO_FREE char *path =
        mem_printf("%.*s/__requests", (int)(strlen(url) - strlen("/v1")), url);
    struct http_asks *asks = http_asks_new(any_loop, NULL);
    json_auto_t *record = NULL;
    struct http_answer answer;

    struct http_ask_request request = {
        .url = path, .answer_limit = 1 << 20, .total_ns = patience_ns(5)};

    assert_int_equal(http_ask_wait(http_ask_start(asks, &request), &answer, NULL), ERR_OK);
    assert_int_equal(json_parse(answer.bytes, answer.length, &record, NULL), ERR_OK);
    http_answer_clear(&answer);
    http_asks_free(asks);
    return json_get_int(record, "count", -1);
}

static uint64_t waited_ns;

static enum err_code no_wait(void *arg, uint64_t ns)
{
    waited_ns += ns;
    return arg ? ERR_CANCELLED : ERR_OK;
}

static enum err_code look_up(const char *run, const char *first, const char *second,
                             json_t **ret_results, struct err *err)
{
    const char *const queries[] = {first, second};

    waited_ns = 0;
    return web_search(searcher,
                      &(struct web_search){.run = run,
                                           .queries = queries,
                                           .query_count = second ? 2 : 1,
                                           .about = {.count = 4},
                                           .wait = no_wait},
                      ret_results, err);
}

static void expect_titles(const char *first, const char *second, const char *titles)
{
    json_auto_t *results = NULL;
    AUTO_BUF found = {0};
    size_t i;
    json_t *result;

    assert_int_equal(look_up("", first, second, &results, NULL), ERR_OK);
    json_array_foreach (results, i, result)
        buf_addf(&found, "%s; ", json_get_string(result, "title", ""));
    assert_string_equal(found.data, titles);
}

TEST(results_of_all_queries_are_joined_without_repetition)
{
    open_all("", NULL);
    expect_titles("cats", NULL, "cats, page 1; cats, page 2; cats, page 3; ");
    expect_titles("cats", "dogs", "cats, page 1; cats, page 2; cats, page 3; ");
    close_all();
}

/* The scripted re-ranker shows the objects that it has judged: it reads the body. */
TEST(a_provider_may_be_asked_by_a_body)
{
    json_auto_t *entry = NULL;
    AUTO_FREE char *url = NULL;

    open_all("", NULL);
    url = mem_printf("%s/rerank", upstream_server_url(servers[0]));
    entry = json_build("{s:s, s:s, s:s, s:{s:s, s:s, s:[{s:s, s:s}]}, s:s, s:{s:s, s:s}}",
                       "provider", "json", "url", url, "method", "POST", "parameters", "query",
                       "{query}", "return_documents", "true", "documents", "text", "about cats",
                       "url", "https://x.org/1", "results", "results", "fields", "url",
                       "document.url", "title", "document.text");
    web_provider_free(TAKE(providers[0]));
    assert_int_equal(web_provider_new(entry, NULL, &providers[0], NULL), ERR_OK);
    expect_titles("cats", NULL, "about cats; ");
    close_all();
}

TEST(the_next_provider_answers_what_the_first_cannot)
{
    static const struct {
        const char *fault;
        int requests; /* of the first provider */
    } cases[] = {
        {"kind: status, status: 500", 2},
        {"kind: status, status: 429, retry_after: 2", 2},
        {"kind: status, status: 429, retry_after: 60", 1},
        {"kind: status, status: 403", 1},
        {"kind: garbage", 1},
        {"kind: html", 1},
        {"kind: cut", 1},
        {"kind: stall", 1},
        {"kind: status, status: 200, body: {results: 7}", 1},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        open_all(cases[i].fault, "");
        expect_titles("cats", NULL, "cats, page 1; cats, page 2; cats, page 3; ");
        assert_int_equal(requests_of(0), cases[i].requests);
        assert_int_equal(requests_of(1), 1);
        close_all();
    }
}

TEST(a_second_chance_comes_when_the_provider_says)
{
    open_all("kind: status, status: 429, retry_after: 2", "");
    expect_titles("cats", NULL, "cats, page 1; cats, page 2; cats, page 3; ");
    assert_int_equal(waited_ns, 2 * NS_PER_SECOND);
    close_all();
}

TEST(the_error_is_that_of_the_last_provider)
{
    json_t *results = NULL;
    struct err err;

    open_all("kind: status, status: 500", "kind: status, status: 403");
    assert_int_equal(look_up("", "cats", NULL, &results, &err), ERR_UPSTREAM);
    assert_string_equal(err.text, "second answered with status 403: its settings do not list "
                                  "json among search.formats");
    close_all();
    open_all("kind: stall", NULL);
    assert_int_equal(look_up("", "cats", NULL, &results, &err), ERR_TIMEOUT);
    assert_ptr_equal(strstr(err.text, "first: "), err.text);
    close_all();
}

TEST(a_run_asks_once_and_another_asks_again)
{
    static const char *const runs[] = {"run_1", "run_1", "run_2", "", ""};
    static const json_int_t requests[] = {1, 1, 2, 3, 4};

    open_all("", NULL);
    for (size_t i = 0; i < COUNT_OF(runs); i++) {
        json_auto_t *results = NULL;

        assert_int_equal(look_up(runs[i], "cats", NULL, &results, NULL), ERR_OK);
        assert_int_equal(json_array_size(results), 3);
        assert_int_equal(requests_of(0), requests[i]);
    }
    close_all();
}

TEST(a_run_knows_the_results_of_its_last_search_by_number)
{
    json_auto_t *results = NULL;
    AUTO_FREE char *url = NULL;

    open_all("", NULL);
    assert_null(web_search_result(searcher, "run_1", 1));
    assert_int_equal(look_up("run_1", "tea", NULL, &results, NULL), ERR_OK);
    url = web_search_result(searcher, "run_1", 2);
    assert_string_equal(url, json_get_string(json_array_get(results, 1), "url", ""));
    assert_null(web_search_result(searcher, "run_1", 0));
    assert_null(web_search_result(searcher, "run_1", 99));
    assert_null(web_search_result(searcher, "run_2", 2));
    close_all();
}

TEST(what_is_cancelled_or_closed_asks_nothing)
{
    const char *const queries[] = {"cats"};
    json_t *results = NULL;

    open_all("", NULL);
    assert_int_equal(web_search(searcher,
                                &(struct web_search){.run = "",
                                                     .queries = queries,
                                                     .query_count = 1,
                                                     .about = {.count = 4},
                                                     .wait = no_wait,
                                                     .wait_arg = &results},
                                &results, NULL),
                     ERR_CANCELLED);
    web_searcher_close(searcher);
    assert_int_equal(look_up("", "cats", NULL, &results, NULL), ERR_CANCELLED);
    assert_int_equal(requests_of(0), 0);
    close_all();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_of_all_queries_are_joined_without_repetition),
        cmocka_unit_test(a_provider_may_be_asked_by_a_body),
        cmocka_unit_test(the_next_provider_answers_what_the_first_cannot),
        cmocka_unit_test(a_second_chance_comes_when_the_provider_says),
        cmocka_unit_test(the_error_is_that_of_the_last_provider),
        cmocka_unit_test(a_run_asks_once_and_another_asks_again),
        cmocka_unit_test(a_run_knows_the_results_of_its_last_search_by_number),
        cmocka_unit_test(what_is_cancelled_or_closed_asks_nothing),
    };

    return cmocka_run_group_tests(tests, start_loop, end_loop);
}
