#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs the four above. */
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/run/compaction.h"
#include "core/run/context.h"
#include "core/run/context_fit.h"

#define ITEMS_LIMIT 64

/* ---- Items: a letter names each ---- */

static struct item_row rows[ITEMS_LIMIT];
static const struct item_row *items[ITEMS_LIMIT];
static size_t count;

static struct item_row *add(const char *type, const char *role, const char *call_id,
                            const char *run_id, const char *body)
{
    struct item_row *row = &rows[count];

    *row = (struct item_row){.turn = -1, .input = true, .body = mem_strdup(body)};
    (void)snprintf(row->type, sizeof(row->type), "%s", type);
    (void)snprintf(row->role, sizeof(row->role), "%s", role);
    (void)snprintf(row->call_id, sizeof(row->call_id), "%s", call_id);
    (void)snprintf(row->run_id, sizeof(row->run_id), "%s", run_id);
    items[count++] = row;
    return row;
}

static struct item_row *say(const char *role, const char *run_id, const char *text)
{
    AUTO_FREE char *body = mem_printf("{\"content\":[{\"text\":\"%s\"}]}", text);

    return add("message", role, "", run_id, body);
}

static struct item_row *call(const char *id, const char *run_id)
{
    return add("function_call", "", id, run_id, "{\"name\":\"f\",\"arguments\":\"{}\"}");
}

static struct item_row *output(const char *id, const char *run_id, const char *text)
{
    AUTO_FREE char *body = mem_printf("{\"output\":\"%s\"}", text);

    return add("function_call_output", "", id, run_id, body);
}

static void made(struct item_row *row, int turn)
{
    row->input = false;
    row->turn = turn;
}

static int clear_items(void **state)
{
    (void)state;
    for (size_t i = 0; i < count; i++)
        free(rows[i].body);
    count = 0;
    return 0;
}

/* The numbers of the items that are left. */
static void fits_as(int64_t context_tokens, const char *truncation, const char *expected)
{
    struct model_upstream upstream = {.context_tokens = context_tokens};
    json_auto_t *config =
        json_build("{s:s, s:i}", "truncation", truncation, "max_output_tokens", 0);
    struct tool_set tools = {0};
    const struct context context = {
        .upstream = &upstream, .run_id = "now", .config = config, .tools = &tools};
    const struct item_row *shown[ITEMS_LIMIT];
    size_t left = count;
    AUTO_BUF got = {0};

    memcpy(shown, items, sizeof(shown));
    context_fit(&context, shown, &left);
    buf_add_text(&got, "");
    for (size_t i = 0; i < left; i++)
        buf_addf(&got, "%s%zu", i ? " " : "", (size_t)(shown[i] - rows));
    assert_string_equal(got.data ? got.data : "", expected);
}

/* ---- Compact history ---- */

static void a_turn_that_is_over_costs_what_its_log_does(void **state)
{
    struct model_upstream upstream = {.context_tokens = 1000};
    json_auto_t *config =
        json_build("{s:s, s:i}", "truncation", "auto", "max_output_tokens", 0);
    struct tool_set tools = {0};
    struct context context = {
        .upstream = &upstream, .run_id = "now", .config = config, .tools = &tools};
    const struct item_row *shown[ITEMS_LIMIT];
    AUTO_FREE char *text = mem_new_array(char, 20000);
    AUTO_FREE char *body = NULL;
    size_t left;

    (void)state;
    memset(text, 'x', 19999);
    body = mem_printf("{\"name\":\"a\",\"arguments\":\"{}\",\"output\":\"%s\"}", text);
    say("user", "before", "a");
    made(add("mcp_call", "", "call_1", "before", body), 1);
    rows[count - 1].tokens = 0;
    rows[count - 1].status = ITEM_COMPLETED;
    say("user", "now", "c");
    memcpy(shown, items, sizeof(shown));
    left = count;
    assert_true(context_total(&context, shown, left) > 5000);
    context_fit(&context, shown, &left);
    assert_int_equal(left, 1);
    context.compact = true;
    memcpy(shown, items, sizeof(shown));
    left = count;
    assert_in_range(context_total(&context, shown, left), 50, 600);
    context_fit(&context, shown, &left);
    assert_int_equal(left, 3);
    /* What goes on is sent as it is. */
    made(add("mcp_call", "", "call_2", "now", body), 1);
    rows[count - 1].tokens = 0;
    assert_true(context_total(&context, items, count) > 5000);
}

/* ---- Fitting ---- */

static void what_fits_is_left_alone(void **state)
{
    (void)state;
    say("user", "before", "a");
    say("assistant", "before", "b");
    say("user", "now", "c");
    fits_as(100, "auto", "0 1 2");
    fits_as(0, "auto", "0 1 2");
    fits_as(3, "disabled", "0 1 2");
}

static void the_oldest_go_and_the_rest_begins_with_the_user(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        say("user", "before", "a");
        say("assistant", "before", "b");
    }
    say("user", "now", "c");
    fits_as(46, "auto", "2 3 4 5 6 7 8"); /* 9 items cost 5 each, and the answer 2 */
    fits_as(30, "auto", "4 5 6 7 8");
    fits_as(6, "auto", "8");
}

static void calls_and_outputs_go_together(void **state)
{
    (void)state;
    call("c1", "before");
    say("user", "before", "a");
    output("c1", "before", "a long output, much longer than all the rest of it together");
    call("c1", "before"); /* models use ids again */
    output("c1", "before", "x");
    say("user", "now", "c");
    fits_as(70, "auto", "1 3 4 5");
}

static void the_call_of_a_new_output_stays(void **state)
{
    (void)state;
    say("user", "before", "a");
    call("c1", "before");
    say("assistant", "before", "b");
    output("c1", "now", "x");
    fits_as(10, "auto", "0 1 3"); /* and the user's last message */
}

static void the_last_turn_and_rules_stay(void **state)
{
    (void)state;
    say("developer", "before", "rule");
    say("user", "now", "question");
    made(call("c1", "now"), 0);
    made(output("c1", "now", "old"), 0);
    made(call("c2", "now"), 1);
    made(output("c2", "now", "new"), 1);
    fits_as(10, "auto", "0 1 4 5");
}

static void what_was_counted_is_not_counted_again(void **state)
{
    (void)state;
    say("user", "before", "a")->tokens = 1000;
    say("user", "now", "b");
    assert_int_equal(context_cost(NULL, items[0]), 1000);
    context_count(NULL, &rows[1]);
    assert_int_equal(rows[1].tokens, 5);
    fits_as(100, "auto", "1");
}

static void outputs_of_every_kind_cost_what_is_told_of_them(void **state)
{
    (void)state;
    add("shell_call_output", "", "c1", "now",
        "{\"output\":[{\"stdout\":\"one two three four five six seven eight nine ten\","
        "\"stderr\":\"\",\"outcome\":{\"type\":\"exit\",\"exit_code\":0}}]}");
    add("apply_patch_call_output", "", "c2", "now", "{}");
    assert_true(context_cost(NULL, items[0]) > 20);
    assert_true(context_cost(NULL, items[1]) > 4);
}

/* ---- Compactions ---- */

static struct seal seal;

static void compact_as(enum compaction_kind kind, int64_t keep, const char *keep_text,
                       const char *tail_text)
{
    const struct compaction compaction = {
        .kind = kind, .keep_tokens = keep, .run_id = "now", .items = items, .count = count};
    json_auto_t *content = compaction_content(&compaction, "All of it.");
    AUTO_FREE char *kept = json_text(json_object_get(content, "keep"));
    AUTO_FREE char *tail = json_text(json_object_get(content, "tail"));

    assert_string_equal(json_get_string(content, "summary", ""), "All of it.");
    assert_string_equal(kept, keep_text);
    assert_string_equal(tail, tail_text);
}

static void users_words_are_kept_and_the_newest_stays_behind(void **state)
{
    (void)state;
    say("system", "before", "rule");
    say("user", "before", "one");
    say("assistant", "before", "yes");
    say("user", "before", "two");
    say("assistant", "before", "no");
    say("user", "now", "three");
    compact_as(
        COMPACTION_WHOLE, 100,
        "[{\"role\":\"system\",\"content\":\"rule\"},{\"role\":\"user\",\"content\":\"one\"},"
        "{\"role\":\"user\",\"content\":\"two\"}]",
        "[{\"role\":\"user\",\"content\":\"three\"}]");
    compact_as(
        COMPACTION_WHOLE, 8,
        "[{\"role\":\"system\",\"content\":\"rule\"},{\"role\":\"user\",\"content\":\"two\"}]",
        "[{\"role\":\"user\",\"content\":\"three\"}]");
    compact_as(COMPACTION_PART, 100, "[]", "[]");
}

static void an_open_exchange_stays_behind(void **state)
{
    (void)state;
    say("user", "before", "one");
    call("c1", "before");
    output("c1", "now", "x");
    compact_as(
        COMPACTION_WHOLE, 100, "[{\"role\":\"user\",\"content\":\"one\"}]",
        "[{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"c1\",\"type\":"
        "\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]},"
        "{\"role\":\"tool\",\"tool_call_id\":\"c1\",\"content\":\"x\"}]");
}

/* A compaction item of these items, as a client would send it back. */
static void send_back(enum compaction_kind kind, const char *project)
{
    const struct compaction compaction = {
        .kind = kind, .keep_tokens = 100, .run_id = "now", .items = items, .count = count};
    json_auto_t *content = compaction_content(&compaction, "All of it.");
    json_auto_t *body = compaction_body(&seal, project, content);
    AUTO_FREE char *text = json_text(body);

    add("compaction", "", "", "later", text);
}

static void what_comes_back_takes_the_place_of_what_was_before(void **state)
{
    struct err err;

    (void)state;
    say("user", "before", "one");
    say("assistant", "before", "yes");
    send_back(COMPACTION_WHOLE, "p");
    assert_false(compaction_is_whole(items[2]));
    assert_int_equal(compaction_open(&seal, "p", rows, count, &err), ERR_OK);
    assert_true(compaction_is_whole(items[2]));
    say("user", "later", "two");
    assert_int_equal(context_window(items, count), 2);
    {
        json_auto_t *messages = context_messages(NULL, items + 2, 2);

        assert_int_equal(json_array_size(messages), 3);
        assert_string_equal(json_get_string(json_array_get(messages, 0), "content", ""), "one");
        assert_non_null(
            strstr(json_get_string(json_array_get(messages, 1), "content", ""), "All of it."));
        assert_string_equal(json_get_string(json_array_get(messages, 2), "content", ""), "two");
    }
}

static void a_part_hides_nothing(void **state)
{
    struct err err;

    (void)state;
    say("user", "before", "one");
    send_back(COMPACTION_PART, "p");
    assert_int_equal(compaction_open(&seal, "p", rows, count, &err), ERR_OK);
    assert_int_equal(context_window(items, count), 0);
}

static void another_projects_item_is_refused(void **state)
{
    struct err err;

    (void)state;
    send_back(COMPACTION_WHOLE, "p");
    assert_int_equal(compaction_open(&seal, "q", rows, count, &err), ERR_INVALID);
    assert_string_equal(err.api_code, "invalid_encrypted_content");
    assert_non_null(strstr(err.text, "could not be decrypted or parsed"));
}

static int make_key(void **state)
{
    (void)state;
    seal_make_key(seal.key);
    return 0;
}

#define promise(function) cmocka_unit_test_teardown(function, clear_items)

int main(void)
{
    const struct CMUnitTest tests[] = {
        promise(a_turn_that_is_over_costs_what_its_log_does),
        promise(what_fits_is_left_alone),
        promise(the_oldest_go_and_the_rest_begins_with_the_user),
        promise(calls_and_outputs_go_together),
        promise(the_call_of_a_new_output_stays),
        promise(the_last_turn_and_rules_stay),
        promise(what_was_counted_is_not_counted_again),
        promise(outputs_of_every_kind_cost_what_is_told_of_them),
        promise(users_words_are_kept_and_the_newest_stays_behind),
        promise(an_open_exchange_stays_behind),
        promise(what_comes_back_takes_the_place_of_what_was_before),
        promise(a_part_hides_nothing),
        promise(another_projects_item_is_refused),
    };

    return cmocka_run_group_tests(tests, make_key, NULL);
}
