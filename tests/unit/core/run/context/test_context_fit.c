#include <stdio.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/model/tokens/tokenizer.h"
#include "core/run/context/compaction.h"
#include "core/run/context/context.h"
#include "core/run/context/context_fit.h"
#include "handlers/handlers.h"
#include "tests/support/tenants.h"
#include "tests/support/test.h"
#include "tests/unit/core/run/context/history.h"

/* ---- Items: a letter names each ---- */

static struct item_row *add(const char *type, const char *role, const char *call_id,
                            const char *run_id, const char *body)
{
    struct item_row *row = history_add(type, role, mem_strdup(body));

    (void)snprintf(row->call_id, sizeof(row->call_id), "%s", call_id);
    (void)snprintf(row->run_id, sizeof(row->run_id), "%s", run_id);
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

/* The numbers of the items that are left. */
static void fits_as(int64_t context_tokens, const char *truncation, const char *expected)
{
    struct model_upstream upstream = {.context_tokens = context_tokens};
    const struct run_settings settings = {
        .model = "", .instructions = "", .truncates = strcmp(truncation, "auto") == 0};
    struct tool_set tools = {0};
    const struct context context = {
        .upstream = &upstream, .run_id = "now", .settings = &settings, .tools = &tools};
    const struct item_row *shown[HISTORY_LIMIT];
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

TEST(a_finished_turn_costs_as_much_as_its_log)
{
    struct model_upstream upstream = {.context_tokens = 1000};
    const struct run_settings settings = {.model = "", .instructions = "", .truncates = true};
    struct tool_set tools = {0};
    struct context context = {
        .upstream = &upstream, .run_id = "now", .settings = &settings, .tools = &tools};
    const struct item_row *shown[HISTORY_LIMIT];
    AUTO_FREE char *text = mem_new_array(char, 20000);
    AUTO_FREE char *body = NULL;
    size_t left;

    memset(text, 'x', 19999);
    body = mem_printf("{\"name\":\"a\",\"arguments\":\"{}\",\"output\":\"%s\"}", text);
    say("user", "before", "a");
    made(add("mcp_call", "", "call_1", "before", body), 1);
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
    /* An unfinished exchange is sent as it is. */
    made(add("mcp_call", "", "call_2", "now", body), 1);
    assert_true(context_total(&context, items, count) > 5000);
}

/* ---- Reasoning of an upstream that speaks the Responses API ---- */

static int64_t cost_beside(const char *body, const char *upstream)
{
    struct model_upstream served = {
        .context_tokens = 1000, .dialect = MODEL_DIALECT_RESPONSES, .name = upstream};
    const struct run_settings settings = {.model = "", .instructions = "", .truncates = true};
    struct tool_set tools = {0};
    const struct context context = {
        .upstream = &served, .run_id = "now", .settings = &settings, .tools = &tools};
    const size_t first = count;
    int64_t without, with;

    say("user", "before", "One?");
    without = context_total(&context, items, count);
    made(add("reasoning", "", "", "before", body), 0);
    made(say("assistant", "before", ""), 0);
    with = context_total(&context, items, count);
    context_count(&context, CONTEXT_TOKENS, rows + first, count - first);
    assert_int_equal(context_total(&context, items, count), with);
    clear_items(NULL);
    return with - without;
}

TEST(reasoning_that_goes_back_as_an_item_is_counted)
{
    static const char nothing[] = "{\"summary\":[]}";
    AUTO_FREE char *words = mem_zeroed(3001, 1);
    AUTO_FREE char *sealed = NULL;
    AUTO_FREE char *shown = NULL;
    int64_t empty = cost_beside(nothing, "one");

    memset(words, 'x', 3000);
    sealed = mem_printf(
        "{\"summary\":[],\"runnel\":{\"upstream\":\"one\",\"encrypted_content\":\"%s\"}}",
        words);
    shown = mem_printf(
        "{\"summary\":[],\"content\":[{\"type\":\"reasoning_text\",\"text\":\"%s\"}]}", words);
    /* Of 3000 characters of base64 2250 bytes are left, and of these the envelope's. */
    assert_in_range(cost_beside(sealed, "one") - empty, 400, 410);
    assert_in_range(cost_beside(shown, "one") - empty, 740, 770);
    assert_int_equal(cost_beside(sealed, "two"), empty);
}

/* ---- Counting once ---- */

static struct item_row *hosted(const char *id, const char *run_id, int turn, const char *text)
{
    AUTO_FREE char *body =
        mem_printf("{\"name\":\"a\",\"arguments\":\"{}\",\"output\":\"%s\"}", text);
    struct item_row *row = add("mcp_call", "", id, run_id, body);

    made(row, turn);
    row->status = ITEM_COMPLETED;
    return row;
}

/* A run that truncates, with instructions that cost something, and what it keeps. */
struct counting {
    struct model_upstream upstream;
    struct tool_set tools;
    struct context_frame frame;
    struct context context;
    struct run_settings settings;
};

static void begin_counting(struct counting *counting, bool compact)
{
    *counting = (struct counting){.upstream = {.context_tokens = 1000000}};
    counting->settings = (struct run_settings){
        .model = "",
        .instructions = "Be brief, and say nothing that nobody has asked for.",
        .truncates = true};
    counting->context = (struct context){.upstream = &counting->upstream,
                                         .run_id = "now",
                                         .settings = &counting->settings,
                                         .tools = &counting->tools,
                                         .compact = compact,
                                         .frame = &counting->frame};
}

static int64_t total_now(const struct counting *counting)
{
    return context_total(&counting->context, items, count);
}

/* What a run of a thousand bytes before it, and so many of its own in each turn, counts in its 60
 * turns. */
#define HISTORY_TURNS 20
#define RUN_TURNS     60

static void add_history(void)
{
    say("user", "before", "Look for all of it, and then tell me what you have found there.");
    for (int i = 0; i < HISTORY_TURNS; i++) {
        made(add("reasoning", "", "", "before", "{\"summary\":[]}"), i);
        hosted("c", "before", i, "what the tool has said, and some more words behind it");
    }
    made(say("assistant", "before", "That was all of it."), HISTORY_TURNS);
    say("user", "now", "And now?");
}

/* Returns the bytes that were counted in the turns after the first. */
static uint64_t take_turns(struct counting *counting, size_t history)
{
    uint64_t first = 0;

    for (int turn = 0; turn < RUN_TURNS; turn++) {
        const struct item_row *shown[HISTORY_LIMIT];
        size_t left = count;

        context_count(&counting->context, CONTEXT_TOKENS, rows, history);
        for (size_t i = history; i < count; i++)
            context_count_item(NULL, &rows[i]);
        (void)total_now(counting);
        memcpy(shown, items, sizeof(shown));
        context_fit(&counting->context, shown, &left);
        assert_int_equal(left, count);
        if (!turn)
            first = tokenizer_bytes();
        hosted("d", "now", turn, "0123456789");
    }
    return tokenizer_bytes() - first;
}

TEST(an_unchanged_history_is_counted_once_in_a_run)
{
    for (int compact = 0; compact < 2; compact++) {
        struct counting counting;
        int64_t kept;

        begin_counting(&counting, compact);
        add_history();
        /* A turn's own: a name, "{}" and ten bytes; the last one is not counted any more. */
        assert_int_equal(take_turns(&counting, count), (RUN_TURNS - 1) * (1 + 2 + 10));
        kept = total_now(&counting);
        for (size_t i = 0; i < count; i++)
            rows[i].cost = (struct item_cost){0};
        counting.frame = (struct context_frame){0};
        assert_int_equal(total_now(&counting), kept);
        clear_items(NULL);
    }
}

/* Logs are not what a compaction reads. */
TEST(a_history_is_counted_before_a_compaction_reads_it)
{
    struct counting counting;
    size_t left;
    uint64_t before;

    begin_counting(&counting, true);
    add_history();
    left = count;
    context_count(&counting.context, CONTEXT_TOKENS, rows, count);
    context_count_each(&counting.context, rows, count);
    counting.context.compact = false;
    counting.frame.tokens = 1; /* not tested here */
    before = tokenizer_bytes();
    context_fit(&counting.context, items, &left);
    assert_int_equal(tokenizer_bytes(), before);
}

TEST(a_changed_stretch_is_counted_again)
{
    struct counting counting;
    int64_t before, after;

    begin_counting(&counting, true);
    add_history();
    context_count(&counting.context, CONTEXT_TOKENS, rows, count);
    before = total_now(&counting);
    free(rows[4].body);
    rows[4].body = mem_strdup("{\"name\":\"a\",\"arguments\":\"{}\",\"output\":\"\"}");
    rows[4].cost = (struct item_cost){0};
    assert_true((after = total_now(&counting)) < before);
    context_count(&counting.context, CONTEXT_TOKENS, rows, count);
    assert_int_equal(total_now(&counting), after);
}

TEST(a_stretch_that_lost_an_item_is_counted_again)
{
    struct counting counting;
    const struct item_row *shown[HISTORY_LIMIT];
    uint64_t bytes;

    begin_counting(&counting, true);
    add_history();
    context_count(&counting.context, CONTEXT_TOKENS, rows, count);
    memcpy(shown, items, sizeof(shown));
    shown[4] = shown[count - 2]; /* the answer, at the place of a call */
    assert_true(context_total(&counting.context, shown, count) < total_now(&counting));
    memcpy(shown, items, sizeof(shown));
    bytes = tokenizer_bytes();
    memmove(shown + 1, shown + 2, (count - 2) * sizeof(shown[0]));
    (void)context_total(&counting.context, shown, count - 1);
    assert_true(tokenizer_bytes() - bytes > 1000);
}

TEST(weighing_does_not_count_tokens)
{
    struct counting counting;
    uint64_t bytes = tokenizer_bytes();
    size_t past;

    begin_counting(&counting, true);
    add_history();
    context_count(&counting.context, CONTEXT_BYTES, rows, count);
    past = context_condensed_bytes(&(struct context_condensing){0}, items, 1, count - 1);
    assert_int_equal(past, rows[1].cost.joint_bytes);
    assert_true(past > 1000);
    assert_int_equal(tokenizer_bytes(), bytes);
    /* They are counted when a caller needs the number. */
    context_count(&counting.context, CONTEXT_TOKENS, rows, count);
    assert_true(tokenizer_bytes() > bytes + 1000);
    assert_true(rows[1].cost.joint_tokens > 200);
}

/* ---- Fitting ---- */

TEST(a_history_that_fits_is_unchanged)
{
    say("user", "before", "a");
    say("assistant", "before", "b");
    say("user", "now", "c");
    fits_as(100, "auto", "0 1 2");
    fits_as(0, "auto", "0 1 2");
    fits_as(3, "disabled", "0 1 2");
}

TEST(the_oldest_are_left_out_and_the_rest_begins_with_the_user)
{
    for (int i = 0; i < 4; i++) {
        say("user", "before", "a");
        say("assistant", "before", "b");
    }
    say("user", "now", "c");
    fits_as(46, "auto", "2 3 4 5 6 7 8"); /* 9 items cost 5 each, and the answer 2 */
    fits_as(30, "auto", "4 5 6 7 8");
    fits_as(6, "auto", "8");
}

TEST(calls_and_outputs_are_left_out_together)
{
    call("c1", "before");
    say("user", "before", "a");
    output("c1", "before", "a long output, much longer than all the rest of it together");
    call("c1", "before"); /* models use ids again */
    output("c1", "before", "x");
    say("user", "now", "c");
    fits_as(70, "auto", "1 3 4 5");
}

TEST(the_call_of_a_new_output_stays)
{
    say("user", "before", "a");
    call("c1", "before");
    say("assistant", "before", "b");
    output("c1", "now", "x");
    fits_as(10, "auto", "0 1 3"); /* and the user's last message */
}

TEST(the_last_turn_and_rules_stay)
{
    say("developer", "before", "rule");
    say("user", "now", "question");
    made(call("c1", "now"), 0);
    made(output("c1", "now", "old"), 0);
    made(call("c2", "now"), 1);
    made(output("c2", "now", "new"), 1);
    fits_as(10, "auto", "0 1 4 5");
}

TEST(counted_items_are_not_counted_again)
{
    say("user", "before", "a")->cost = (struct item_cost){.counted = true, .tokens = 1000};
    say("user", "now", "b");
    assert_int_equal(context_cost(NULL, items[0]), 1000);
    context_count_item(NULL, &rows[1]);
    assert_int_equal(rows[1].cost.tokens, 5);
    fits_as(100, "auto", "1");
}

TEST(outputs_of_every_kind_cost_what_is_sent_of_them)
{
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

TEST(messages_of_the_user_are_kept_and_the_newest_is_not_compacted)
{
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

TEST(an_open_exchange_is_not_compacted)
{
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
static void send_back(enum compaction_kind kind, const struct tenant *tenant)
{
    const struct compaction compaction = {
        .kind = kind, .keep_tokens = 100, .run_id = "now", .items = items, .count = count};
    json_auto_t *content = compaction_content(&compaction, "All of it.");
    json_auto_t *body = compaction_body(&seal, tenant, content);
    AUTO_FREE char *text = json_text(body);

    add("compaction", "", "", "later", text);
}

TEST(a_compaction_replaces_everything_before_it)
{
    struct err err;

    say("user", "before", "one");
    say("assistant", "before", "yes");
    send_back(COMPACTION_WHOLE, TENANT_OF("p"));
    assert_false(compaction_is_whole(items[2]));
    assert_int_equal(compaction_open(&seal, TENANT_OF("p"), rows, count, &err), ERR_OK);
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

TEST(a_partial_compaction_hides_nothing)
{
    struct err err;

    say("user", "before", "one");
    send_back(COMPACTION_PART, TENANT_OF("p"));
    assert_int_equal(compaction_open(&seal, TENANT_OF("p"), rows, count, &err), ERR_OK);
    assert_int_equal(context_window(items, count), 0);
}

TEST(a_compaction_item_of_another_project_is_refused)
{
    struct err err;

    send_back(COMPACTION_WHOLE, TENANT_OF("p"));
    assert_int_equal(compaction_open(&seal, TENANT_OF("q"), rows, count, &err), ERR_INVALID);
    assert_int_equal(err.reason, REASON_BAD_SEAL);
    assert_non_null(strstr(err.text, "could not be decrypted or parsed"));
}

static int set_up(void **state)
{
    (void)state;
    handlers_register();
    seal_make_key(seal.key);
    return 0;
}

#define promise(function) cmocka_unit_test_teardown(function, clear_items)

int main(void)
{
    const struct CMUnitTest tests[] = {
        promise(a_finished_turn_costs_as_much_as_its_log),
        promise(reasoning_that_goes_back_as_an_item_is_counted),
        promise(an_unchanged_history_is_counted_once_in_a_run),
        promise(a_history_is_counted_before_a_compaction_reads_it),
        promise(a_changed_stretch_is_counted_again),
        promise(a_stretch_that_lost_an_item_is_counted_again),
        promise(weighing_does_not_count_tokens),
        promise(a_history_that_fits_is_unchanged),
        promise(the_oldest_are_left_out_and_the_rest_begins_with_the_user),
        promise(calls_and_outputs_are_left_out_together),
        promise(the_call_of_a_new_output_stays),
        promise(the_last_turn_and_rules_stay),
        promise(counted_items_are_not_counted_again),
        promise(outputs_of_every_kind_cost_what_is_sent_of_them),
        promise(messages_of_the_user_are_kept_and_the_newest_is_not_compacted),
        promise(an_open_exchange_is_not_compacted),
        promise(a_compaction_replaces_everything_before_it),
        promise(a_partial_compaction_hides_nothing),
        promise(a_compaction_item_of_another_project_is_refused),
    };

    return cmocka_run_group_tests(tests, set_up, NULL);
}
