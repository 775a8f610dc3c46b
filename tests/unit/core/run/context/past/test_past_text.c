#include <stdio.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/run/context/context.h"
#include "core/run/context/past/past_text.h"
#include "handlers/handlers.h"
#include "tests/support/test.h"
#include "tests/unit/core/run/context/history.h"

/* ---- Histories, briefly ---- */

static struct item_row *of_run(const char *run, struct item_row *row)
{
    (void)snprintf(row->run_id, sizeof(row->run_id), "%s", run);
    return row;
}

static void ask(const char *run, const char *text)
{
    of_run(run,
           history_add("message", "user",
                       mem_printf("{\"role\":\"user\",\"content\":[{\"type\":\"input_text\","
                                  "\"text\":\"%s\"}]}",
                                  text)));
}

static struct item_row *made(const char *run, const char *type, const char *role, int turn,
                             const char *body)
{
    struct item_row *row = of_run(run, history_add(type, role, mem_strdup(body)));

    row->input = false;
    row->turn = turn;
    return row;
}

#define ANSWER(text)                                                                     \
    "{\"role\":\"assistant\",\"content\":[{\"type\":\"output_text\",\"annotations\":[]," \
    "\"text\":\"" text "\"}]}"

static void call(const char *run, const char *id)
{
    struct item_row *row =
        made(run, "function_call", "", 0, "{\"name\":\"f\",\"arguments\":\"{}\"}");

    (void)snprintf(row->call_id, sizeof(row->call_id), "%s", id);
}

static void answer_call(const char *run, const char *id)
{
    struct item_row *row =
        of_run(run, history_add("function_call_output", "", mem_strdup("{\"output\":\"ok\"}")));

    (void)snprintf(row->call_id, sizeof(row->call_id), "%s", id);
}

/* The slow twin: all items at once. The caller frees. */
static char *whole(void)
{
    json_auto_t *messages = context_messages(NULL, items, count);

    return json_text(messages);
}

static void assert_is_whole(const struct past_text *past)
{
    AUTO_FREE char *expected = whole();
    AUTO_FREE char *got = NULL;

    assert_non_null(past);
    got = mem_printf("[%.*s]", (int)past->length, past->bytes);
    assert_string_equal(got, expected);
    assert_int_equal(past->items, count);
}

static void assert_not_plain(void)
{
    assert_null(past_text_new(rows, count));
}

/* ---- Promises ---- */

TEST(a_text_that_grew_is_what_a_request_has_of_all_items)
{
    struct past_text *past;

    ask("run_1", "hi");
    made("run_1", "message", "assistant", 0, ANSWER("hello"));
    past = past_text_new(rows, count);
    assert_is_whole(past);
    ask("run_2", "and \\\"now\\\"?");
    call("run_2", "call_1");
    call("run_2", "call_2");
    answer_call("run_2", "call_2");
    answer_call("run_2", "call_1");
    made("run_2", "message", "assistant", 1, ANSWER("done"));
    past = past_text_add(past, rows + 2, count - 2);
    assert_is_whole(past);
    assert_true(past->calls);
    past_text_release(past);
}

TEST(an_empty_beginning_grows_like_any_other)
{
    struct past_text *past = past_text_new(rows, 0);

    assert_int_equal(past->length, 0);
    ask("run_1", "hi");
    past = past_text_add(past, rows, count);
    assert_is_whole(past);
    assert_false(past->calls);
    past_text_release(past);
}

/* A run that has begun sends what it was given, whatever its chain becomes. */
TEST(a_text_that_is_held_does_not_change)
{
    struct past_text *past, *held;
    AUTO_FREE char *before = NULL;

    ask("run_1", "hi");
    past = past_text_new(rows, count);
    held = past_text_hold(past);
    before = mem_printf("%.*s", (int)held->length, held->bytes);
    ask("run_2", "there");
    past = past_text_add(past, rows + 1, 1);
    assert_is_whole(past);
    assert_int_equal(held->items, 1);
    assert_int_equal(held->length, strlen(before));
    assert_memory_equal(held->bytes, before, held->length);
    past_text_release(past);
    past_text_release(held);
}

TEST(a_call_that_may_still_be_answered_is_not_plain)
{
    ask("run_1", "hi");
    call("run_1", "call_1");
    assert_not_plain();
}

TEST(what_depends_on_the_upstream_is_not_plain)
{
    ask("run_1", "hi");
    made("run_1", "message", "assistant", 0,
         "{\"role\":\"assistant\",\"content\":[],\"runnel\":{\"reasoning\":{\"details\":[]}}}");
    assert_not_plain();
}

TEST(reasoning_and_pictures_and_compactions_are_not_plain)
{
    made("run_1", "reasoning", "", 0, "{\"summary\":[]}");
    assert_not_plain();
    clear_items(NULL);
    of_run("run_1",
           history_add("message", "user",
                       mem_strdup("{\"role\":\"user\",\"content\":[{\"type\":\"input_image\","
                                  "\"image_url\":\"http://a/b.png\"}]}")));
    assert_not_plain();
    clear_items(NULL);
    made("run_1", "compaction", "", 0, "{\"encrypted_content\":\"\"}");
    assert_not_plain();
}

TEST(a_history_that_once_was_not_plain_stays_so)
{
    assert_null(past_text_add(NULL, rows, 0));
}

#define promise(function) cmocka_unit_test_teardown(function, clear_items)

static int register_handlers(void **state)
{
    (void)state;
    handlers_register();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        promise(a_text_that_grew_is_what_a_request_has_of_all_items),
        promise(an_empty_beginning_grows_like_any_other),
        promise(a_text_that_is_held_does_not_change),
        promise(a_call_that_may_still_be_answered_is_not_plain),
        promise(what_depends_on_the_upstream_is_not_plain),
        promise(reasoning_and_pictures_and_compactions_are_not_plain),
        promise(a_history_that_once_was_not_plain_stays_so),
    };

    return cmocka_run_group_tests(tests, register_handlers, NULL);
}
