#include "core/run/turn/run_links.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/run/engine/engine_internal.h"
#include "core/run/turn/run.h"
#include "core/tool/registry.h"
#include "handlers/handlers.h"
#include "tests/support/quoted.h"
#include "tests/support/test.h"

/* A run with an open message, whose events have no reader. */
static struct engine engine;
static struct run run;
static struct item message;
static struct item_row history[4];

static void begin(enum row_face face)
{
    handlers_register();
    run = (struct run){.row = {.id = "run_1", .face = face}, .history = history};
    run.engine = &engine;
    run.items.open = &message;
    message = (struct item){.open = true};
}

static void end(void)
{
    run_links_free(run.links);
    for (size_t i = 0; i < run.history_count; i++)
        free(history[i].body);
    for (unsigned i = 0; i < message.part_count; i++) {
        buf_clear(&message.parts[i].text);
        json_decref(message.parts[i].annotations);
    }
    free(message.parts);
}

/* A search of an earlier run. `body` has ' for ". */
static void remember(const char *body)
{
    json_auto_t *value = quoted_json(body);

    history[run.history_count++] =
        (struct item_row){.type = ITEM_WEB_SEARCH_CALL, .body = json_text(value)};
}

static void say(const char *text)
{
    buf_add_text(&item_add_part(&message, PART_TEXT)->text, text);
    run_cite_links(&run);
}

static void expect_annotations(const char *wanted)
{
    json_auto_t *expected = quoted_json(wanted);
    json_t *got = message.parts[message.part_count - 1].annotations;
    AUTO_FREE char *text = got ? json_text(got) : NULL;

    if (got ? !json_equal(got, expected) : json_array_size(expected) > 0)
        fail_msg("%s instead of %s", text ? text : "nothing", wanted);
}

#define FOUND "{'results':[{'url':'https://a.org/','title':'A','snippet':''}]}"

TEST(a_link_is_cited_with_its_place_in_characters)
{
    begin(FACE_RESPONSES);
    remember(FOUND);
    say("ü [a](https://a.org#x).");
    expect_annotations("[{'type':'url_citation','start_index':2,'end_index':22,"
                       "'url':'https://a.org#x','title':'A'}]");
    say("[b](https://b.org)");
    expect_annotations("[]");
    end();
}

TEST(the_newest_title_counts)
{
    begin(FACE_RESPONSES);
    remember(FOUND);
    remember("{'results':[{'url':'https://a.org','title':'B','snippet':''}]}");
    say("[a](https://a.org)");
    expect_annotations("[{'type':'url_citation','start_index':0,'end_index':18,"
                       "'url':'https://a.org','title':'B'}]");
    end();
}

TEST(what_a_person_withholds_cannot_be_cited)
{
    begin(FACE_RESPONSES);
    remember("{'results':[{'url':'https://a.org','title':'A','snippet':''}],"
             "'runnel':{'model_visible':false}}");
    say("[a](https://a.org)");
    expect_annotations("[]");
    end();
}

TEST(a_part_that_an_upstream_has_cited_gets_no_others)
{
    begin(FACE_RESPONSES);
    remember(FOUND);
    buf_add_text(&item_add_part(&message, PART_TEXT)->text, "[a](https://a.org)");
    (void)item_annotate(&message, json_build("{s:s}", "type", "url_citation"));
    run_cite_links(&run);
    expect_annotations("[{'type':'url_citation'}]");
    end();
}

TEST(a_thread_has_no_such_annotations)
{
    begin(FACE_ASSISTANTS);
    remember(FOUND);
    say("[a](https://a.org)");
    expect_annotations("[]");
    assert_null(run.links);
    end();
}

TEST(pages_and_links_have_limits)
{
    AUTO_BUF text = {0};
    AUTO_BUF body = {0};

    begin(FACE_RESPONSES);
    buf_add_text(&body, "{'results':[");
    for (unsigned i = 0; i < LINK_PAGES_LIMIT + 7; i++)
        buf_addf(&body, "%s{'url':'http://a/%u','title':'A'}", i ? "," : "", i);
    buf_add_text(&body, "]}");
    remember(body.data);
    for (unsigned i = 0; i < LINKS_LIMIT + 7; i++)
        buf_addf(&text, "[a](http://a/%u)", i);
    say(text.data);
    assert_int_equal(json_array_size(message.parts[0].annotations), LINKS_LIMIT);
    buf_reset(&text);
    buf_addf(&text, "[a](http://a/%u) [b](http://a/%u)", LINK_PAGES_LIMIT - 1,
             LINK_PAGES_LIMIT);
    say(text.data);
    assert_int_equal(json_array_size(message.parts[1].annotations), 1);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_link_is_cited_with_its_place_in_characters),
        cmocka_unit_test(the_newest_title_counts),
        cmocka_unit_test(what_a_person_withholds_cannot_be_cited),
        cmocka_unit_test(a_part_that_an_upstream_has_cited_gets_no_others),
        cmocka_unit_test(a_thread_has_no_such_annotations),
        cmocka_unit_test(pages_and_links_have_limits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
