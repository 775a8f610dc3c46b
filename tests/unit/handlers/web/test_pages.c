/* F51: the tools of the group web, with pages that are made here. */

#include "tests/unit/handlers/tool_run.h"

/* What the tool has asked for, and the page that it gets. */
struct fake {
    const char *page;  /* JSON */
    const char *wants; /* the query that must come, as JSON; or NULL */
};

static enum err_code read_fake(void *arg, const struct tool_call *call, const json_t *query,
                               json_t **ret_page, struct err *err)
{
    const struct fake *fake = arg;
    json_auto_t *wanted = fake->wants ? json_parse_own(fake->wants) : NULL;

    (void)call;
    if (wanted && !json_equal(wanted, query))
        fail_msg("%s", json_dumps(query, 0));
    if (!fake->page) {
        err_set(err, ERR_UPSTREAM, "The server of the page answered with status 404.");
        err->word = "FETCH_FAILED";
        return ERR_UPSTREAM;
    }
    *ret_page = json_parse_own(fake->page);
    return ERR_OK;
}

static struct outcome run_on(struct fake *fake, const struct tool_handler *handler,
                             const char *args)
{
    const struct tool_web web = {.page = read_fake, .arg = fake};

    return tool_run_spec(handler, args,
                         &(struct tool_call_spec){.call_id = "call_1", .web = &web});
}

static void expect(struct fake fake, const struct tool_handler *handler, const char *args,
                   const char *text)
{
    AUTO_OUTCOME outcome = run_on(&fake, handler, args);

    assert_string_equal(*outcome.text ? outcome.text : outcome.end.error.text, text);
}

#define URL "\"url\":\"http://a.test/\""

TEST(a_page_stands_behind_what_is_known_of_it)
{
    expect((struct fake){"{" URL ",\"text\":\"# Head\\n\\nText\",\"title\":\"A|b\\nc\","
                         "\"author\":\"Me\",\"cut\":true}",
                         "{" URL ",\"links\":true,\"images\":false}"},
           &fetch_web_page_handler, "{" URL ",\"keepLink\":true}",
           "| Page | |\n| --- | --- |\n| Title | A\\|b c |\n| URL | http://a.test/ |\n"
           "| Author | Me |\n| Note | The page has more elements than are read. |\n\n"
           "# Head\n\nText");
}

TEST(the_model_reads_on_behind_the_table)
{
    static const char text[] = "| Page | |\n| --- | --- |\n\nABCDE\u00E9GHIJ";
    struct cut_rule rule = {.limit = 4, .begin = 3};
    struct cut_shown shown;
    AUTO_FREE char *part = fetch_web_page_handler.cut(text, &rule, &shown);
    AUTO_FREE char *all = NULL, *behind = NULL;

    assert_string_equal(part, "| Page | |\n| --- | --- |\n\nDE\u00E9G\n\n"
                              "[Characters 3 to 7 of 10. Read on with begin=7.]");
    assert_true(shown.truncated);
    assert_int_equal(shown.next, 7);
    rule = (struct cut_rule){.limit = CUT_NO_LIMIT};
    all = fetch_web_page_handler.cut(text, &rule, &shown);
    assert_string_equal(all, text);
    assert_false(shown.truncated);
    rule.begin = 99;
    behind = fetch_web_page_handler.cut(text, &rule, &shown);
    assert_non_null(strstr(behind, "[Characters 10 to 10 of 10.]"));
}

TEST(an_error_has_its_code)
{
    expect((struct fake){0}, &fetch_web_page_handler, "{" URL "}",
           "{\n  \"code\": \"FETCH_FAILED\",\n"
           "  \"message\": \"The server of the page answered with status 404.\",\n"
           "  \"url\": \"http://a.test/\"\n}");
    expect_tool_error(&fetch_web_page_handler, "{" URL "}", ERR_INVALID,
                      "This server fetches no pages.");
}

static const char page[] =
    "{" URL ",\"text\":\"One\\n\\nTwo cats\\n\\n\u00DCber\\n\\nFour\\n\\nFive\\n\\n"
    "Six\\n\\nSEVEN Cats and dogs\"}";

TEST(paragraphs_with_a_word_stand_between_their_neighbours)
{
    expect((struct fake){page, "{" URL "}"}, &search_in_web_page_handler,
           "{" URL ",\"keywords\":[\"two\"]}",
           "Found in 1 of 7 paragraphs of http://a.test/\n\n"
           "[1] begin=0, limit=19\nOne\n\nTwo cats\n\n\u00DCber");
    expect((struct fake){page, NULL}, &search_in_web_page_handler,
           "{" URL ",\"keywords\":[\"cats\", \"dogs\"], \"joinType\":\"AND\"}",
           "Found in 1 of 7 paragraphs of http://a.test/\n\n"
           "[1] begin=33, limit=24\nSix\n\nSEVEN Cats and dogs");
    expect((struct fake){page, NULL}, &search_in_web_page_handler,
           "{" URL ",\"keywords\":[\"cats\"]}",
           "Found in 2 of 7 paragraphs of http://a.test/\n\n"
           "[1] begin=0, limit=19\nOne\n\nTwo cats\n\n\u00DCber\n\n"
           "[2] begin=33, limit=24\nSix\n\nSEVEN Cats and dogs");
    expect((struct fake){page, NULL}, &search_in_web_page_handler,
           "{" URL ",\"keywords\":[\"\u00FCBER\"]}",
           "Found in 1 of 7 paragraphs of http://a.test/\n\n"
           "[1] begin=5, limit=20\nTwo cats\n\n\u00DCber\n\nFour");
    expect((struct fake){page, NULL}, &search_in_web_page_handler,
           "{" URL ",\"keywords\":[\"birds\"]}",
           "Found in 0 of 7 paragraphs of http://a.test/\n\n");
}

TEST(elements_and_outlines_are_asked_for)
{
    expect((struct fake){"{" URL ",\"text\":\"<p>\",\"count\":1}",
                         "{" URL ",\"elements\":\"p\",\"limit\":5000}"},
           &extract_html_handler, "{" URL ",\"querySelector\":\"p\",\"limit\":5000}", "<p>");
    expect((struct fake){"{" URL ",\"text\":\"- body\"}",
                         "{" URL ",\"outline\":\"body\",\"depth\":4,\"text\":true}"},
           &inspect_dom_structure_handler, "{" URL "}", "- body");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_page_stands_behind_what_is_known_of_it),
        cmocka_unit_test(the_model_reads_on_behind_the_table),
        cmocka_unit_test(an_error_has_its_code),
        cmocka_unit_test(paragraphs_with_a_word_stand_between_their_neighbours),
        cmocka_unit_test(elements_and_outlines_are_asked_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
