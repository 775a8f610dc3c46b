#include "handlers/support/web/web_results.h"
#include "tests/unit/handlers/tool_run.h"

/* A web that finds as many pages as it is asked for, and keeps the question. */
struct fake {
    char *query;
    enum err_code rc;
};

static enum err_code search(void *arg, struct tool_call *call, const json_t *query,
                            json_t **ret_found, struct err *err)
{
    struct fake *fake = arg;
    json_int_t count = json_get_int(query, "count", 0);

    (void)call;
    free(fake->query);
    fake->query = json_text(query);
    if (fake->rc)
        return err_set(err, fake->rc, "10.0.0.7 does not answer");
    *ret_found = json_array();
    for (json_int_t i = 1; i <= count; i++) {
        AUTO_FREE char *url = mem_printf("https://a.org/%d", (int)i);

        json_array_append_new(
            *ret_found, json_build("{s:s, s:s, s:s}", "url", url, "title", "T", "text", "x"));
    }
    return ERR_OK;
}

static struct outcome run_search(struct fake *fake, const struct tool_handler *handler,
                                 const char *args)
{
    const struct tool_web web = {.search = search, .arg = fake};

    return tool_run_spec(
        handler, args,
        &(struct tool_call_spec){.call_id = "call_1", .run = "run_1", .web = &web});
}

static void expect_query(const struct tool_handler *handler, const char *args,
                         const char *wanted)
{
    struct fake fake = {0};
    AUTO_OUTCOME outcome = run_search(&fake, handler, args);

    assert_int_equal(outcome.end.rc, ERR_OK);
    assert_string_equal(fake.query, wanted);
    free(fake.query);
}

/* F51. */
TEST(each_tool_has_arguments_of_its_own_for_one_search)
{
    expect_query(&bing_search_handler, "{\"query\":\"tea\"}",
                 "{\"queries\":[\"tea\"],\"count\":10}");
    expect_query(&google_search_handler,
                 "{\"query\":\"tea\",\"site\":\"a.org\",\"filetype\":\"pdf\",\"dateFilter\":"
                 "\"year\"}",
                 "{\"queries\":[\"tea filetype:pdf\"],\"count\":10,\"freshness\":\"year\","
                 "\"domains\":[\"a.org\"]}");
    expect_query(&tavily_search_handler, "{\"query\":\"tea\",\"days\":3}",
                 "{\"queries\":[\"tea\"],\"count\":5,\"freshness\":\"week\"}");
    expect_query(&tavily_search_handler,
                 "{\"query\":\"tea\",\"max_results\":7,\"time_range\":\"day\",\"days\":3}",
                 "{\"queries\":[\"tea\"],\"count\":7,\"freshness\":\"day\"}");
    expect_query(&bocha_search_handler, "{\"query\":\"tea\",\"freshness\":\"oneMonth\"}",
                 "{\"queries\":[\"tea\"],\"count\":10,\"freshness\":\"month\"}");
    expect_query(&bocha_search_handler, "{\"query\":\"tea\",\"freshness\":\"noLimit\"}",
                 "{\"queries\":[\"tea\"],\"count\":10}");
}

TEST(the_second_page_has_the_next_ten_results)
{
    struct fake fake = {0};
    AUTO_OUTCOME outcome =
        run_search(&fake, &google_search_handler, "{\"query\":\"tea\",\"pageIdx\":2}");

    assert_non_null(strstr(outcome.text, "10 results. Titles and passages"));
    assert_non_null(strstr(outcome.text, "[11] T — https://a.org/11\n"));
    assert_null(strstr(outcome.text, "https://a.org/10\n"));
    free(fake.query);
}

TEST(a_failure_has_a_code_and_names_no_place)
{
    struct fake fake = {.rc = ERR_UPSTREAM};
    struct fake slow = {.rc = ERR_TIMEOUT};
    AUTO_OUTCOME outcome = run_search(&fake, &bing_search_handler, "{\"query\":\"tea\"}");
    AUTO_OUTCOME late = run_search(&slow, &bing_search_handler, "{\"query\":\"tea\"}");
    json_auto_t *problem = json_parse_own(outcome.text);
    json_auto_t *other = json_parse_own(late.text);

    assert_int_equal(outcome.end.result.status, TOOL_ERROR);
    assert_string_equal(json_get_string(problem, "code", ""), "API_ERROR");
    assert_string_equal(json_get_string(problem, "message", ""), web_failure(ERR_UPSTREAM));
    assert_string_equal(json_get_string(other, "code", ""), "TIMEOUT");
    free(fake.query);
    free(slow.query);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_tool_has_arguments_of_its_own_for_one_search),
        cmocka_unit_test(the_second_page_has_the_next_ten_results),
        cmocka_unit_test(a_failure_has_a_code_and_names_no_place),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
