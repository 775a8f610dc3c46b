/* F33: what is counted of a history is never less than what is sent of it: over random histories,
 * the same ones each time. */

#include <stdio.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/model/tokens/tokenizer.h"
#include "core/run/context/budget.h"
#include "core/run/context/context.h"
#include "core/run/context/context_fit.h"
#include "core/run/context/context_request.h"
#include "core/run/context/long_messages.h"
#include "tests/support/sanitized.h"
#include "tests/support/test.h"
#include "tests/unit/core/run/context/history.h"

#define HISTORIES   1000
#define ITEMS_LIMIT 24
#define RUN         "now"
#define UPSTREAM    "deep"

/* What a row and the message that it becomes may differ by: names of fields, a placeholder for an
 * output that never came. */
#define SLACK_BYTES  160
#define SLACK_TOKENS 8

/* ---- Chance ---- */

static uint64_t dice;

static size_t below(size_t limit)
{
    dice = dice * 6364136223846793005u + 1442695040888963407u;
    return (size_t)(dice >> 33) % limit;
}

/* Random texts: short, long, much too long. The caller frees. */
static char *some_text(void)
{
    static const size_t lengths[] = {10, 300, 900, 3000, 30000};
    size_t length = 1 + below(lengths[below(COUNT_OF(lengths))]);
    char *text = mem_zeroed(length + 1, 1);

    for (size_t i = 0; i < length; i++)
        text[i] = "abcde fghi "[(i + length) % 11];
    return text;
}

/* ---- A history ---- */

static struct item_row *add(const char *type, const char *role, json_t *body)
{
    bool ours = strcmp(role, "user") != 0;
    int turn = ours ? (int)count : -1;
    struct item_row *row = history_add(type, role, json_text(body));

    json_decref(body);
    row->turn = turn;
    row->input = !ours;
    row->status = ITEM_COMPLETED;
    (void)snprintf(row->run_id, sizeof(row->run_id), "%s", ours ? "before" : "");
    return row;
}

static json_t *body_of(const char *role, const char *text)
{
    bool is_user = strcmp(role, "user") == 0;

    return json_build("{s:s, s:[{s:s, s:s}]}", "role", role, "content", "type",
                      is_user ? "input_text" : "output_text", "text", text);
}

static void say(const char *role)
{
    AUTO_FREE char *text = some_text();

    (void)add("message", role, body_of(role, text));
}

static void show_picture(const char *role)
{
    AUTO_FREE char *text = some_text(), *data = mem_zeroed(60001, 1);
    AUTO_FREE char *url = NULL;
    json_t *body = body_of(role, text);

    memset(data, 'A', below(60000));
    url = mem_printf("data:image/png;base64,%s", data);
    json_array_append_new(json_object_get(body, "content"),
                          json_build("{s:s, s:s}", "type", "input_image", "image_url", url));
    (void)add("message", role, body);
}

static void call_ours(void)
{
    AUTO_FREE char *text = some_text();

    (void)add("mcp_call", "",
              json_build("{s:s, s:s, s:s}", "name", "t", "arguments", "{}", "output", text));
}

static void call_clients(bool broken, bool answered)
{
    AUTO_FREE char *text = some_text();
    struct item_row *call =
        add("function_call", "",
            json_build("{s:s, s:s}", "name", "f", "arguments", broken ? "{\"a\":" : "{}"));

    (void)snprintf(call->call_id, sizeof(call->call_id), "call_%zu", count);
    call->status = broken ? ITEM_INCOMPLETE : ITEM_COMPLETED;
    if (!answered || count == ITEMS_LIMIT)
        return;
    (void)add("function_call_output", "", json_build("{s:s}", "output", text));
    memcpy(rows[count - 1].call_id, call->call_id, sizeof(call->call_id));
    rows[count - 1].turn = call->turn;
}

/* A client that answers a call, with a message first in the same request. */
static void answer_behind_words(void)
{
    AUTO_FREE char *text = some_text();
    struct item_row *output;

    call_clients(false, false);
    if (count + 2 > ITEMS_LIMIT)
        return;
    say("user");
    output = add("function_call_output", "", json_build("{s:s}", "output", text));
    memcpy(output->call_id, rows[count - 3].call_id, sizeof(output->call_id));
    output->turn = -1;
    output->input = true;
    (void)snprintf(output->run_id, sizeof(output->run_id), "after_%zu", count);
    memcpy(rows[count - 2].run_id, output->run_id, sizeof(output->run_id));
}

/* The part of an answer that a crash has left. */
static void break_off(void)
{
    AUTO_FREE char *text = some_text();
    json_t *body = body_of("assistant", text);

    json_set(body, "runnel", json_build("{s:b}", "cut", 1));
    (void)add("message", "assistant", body);
}

/* What the model thought before it says something, in a form that the upstream may get back. */
static void think(void)
{
    static const char *const makers[] = {UPSTREAM, UPSTREAM, "other"};
    AUTO_FREE char *text = some_text();
    bool detailed = below(2);
    json_t *body = json_build("{s:[], s:[{s:s, s:s}], s:{s:s, s:{}}}", "summary", "content",
                              "type", "reasoning_text", "text", text, "runnel", "upstream",
                              makers[below(COUNT_OF(makers))], "reasoning");
    json_t *note = json_object_get(json_object_get(body, "runnel"), "reasoning");

    json_set_string(note, "member", below(2) ? "reasoning" : "reasoning_content");
    if (detailed)
        json_set(note, "details",
                 json_build("[{s:s, s:s}]", "type", "reasoning.text", "text", text));
    (void)add("reasoning", "", body);
}

/* An answer with reasoning before it: all of one turn. */
static void think_and_speak(void)
{
    size_t first = count;

    think();
    if (below(2))
        call_clients(false, below(2));
    else
        say("assistant");
    for (size_t i = first; i < count; i++)
        rows[i].turn = rows[first].turn;
}

static void add_something(void)
{
    switch (below(14)) {
    case 0:
    case 1: say("user"); break;
    case 2:
    case 3: say("assistant"); break;
    case 4: call_ours(); break;
    case 5: call_clients(below(2), below(2)); break;
    case 6: break_off(); break;
    case 8: answer_behind_words(); break;
    case 7: show_picture(below(2) ? "user" : "assistant"); break;
    case 9:
    case 10: think_and_speak(); break;
    default: call_ours(); say("assistant");
    }
}

/* The same history for the same number. Most are short, so that messages often follow each other. */
static void make_history(unsigned number)
{
    size_t length;

    dice = number + 1;
    (void)below(2);
    length = 1 + below(1 + below(ITEMS_LIMIT / 2));
    while (count < length)
        add_something();
    say("user");
    (void)snprintf(rows[count - 1].run_id, sizeof(rows[0].run_id), "%s", RUN);
    long_messages_mark(rows, count);
}

/* ---- A request ---- */

struct asking {
    struct model_upstream upstream;
    struct run_settings settings;
    struct context context;
    const struct item_row *items[ITEMS_LIMIT];
    size_t count;
};

/* Each number has its own way to give reasoning back. */
static void prepare(struct asking *asking, const char *config, unsigned number, bool compact)
{
    static const enum model_reasoning ways[] = {MODEL_REASONING_AUTO, MODEL_REASONING_ALWAYS,
                                                MODEL_REASONING_NEVER};

    *asking = (struct asking){.upstream = {.name = UPSTREAM,
                                           .reasoning = ways[number % COUNT_OF(ways)],
                                           .context_tokens = 4000},
                              .count = count};
    run_settings_load(&asking->settings, config);
    asking->context = (struct context){.upstream = &asking->upstream,
                                       .run_id = RUN,
                                       .settings = &asking->settings,
                                       .tools = &reading_tools,
                                       .compact = compact};
    for (size_t i = 0; i < count; i++)
        asking->items[i] = &rows[i];
}

static json_t *request_of(const struct asking *asking)
{
    return context_request(RUN, &asking->settings, &reading_tools, asking->items, asking->count,
                           context_reasoning(&asking->upstream) |
                               (asking->context.compact ? CONTEXT_COMPACT : 0),
                           asking->upstream.name);
}

/* As budget.h counts it: a picture has a fixed cost. */
static size_t length_of(const json_t *request)
{
    const json_t *messages = json_object_get(request, "messages");
    size_t length = json_dumpb(messages, NULL, 0, JSON_COMPACT);
    size_t i, n;
    json_t *message, *part;

    json_array_foreach (messages, i, message) {
        json_array_foreach (json_object_get(message, "content"), n, part) {
            size_t image =
                strlen(json_get_string(json_object_get(part, "image_url"), "url", ""));

            if (image > CONTEXT_IMAGE_BYTES)
                length -= image - CONTEXT_IMAGE_BYTES;
        }
    }
    return length;
}

static void check_bytes(unsigned number, bool compact, bool noted)
{
    static const char config[] = "{\"max_prompt_tokens\":4000,\"runnel\":{\"message_cache\":"
                                 "{\"max_chars\":256}}}";
    json_auto_t *request = NULL;
    struct asking asking;
    struct budget budget;
    size_t sent;

    prepare(&asking, config, number, compact);
    if (noted)
        context_count(&asking.context, CONTEXT_BYTES, rows, count);
    budget_init(&budget, &asking.settings, NULL);
    context_fit(&asking.context, asking.items, &asking.count);
    (void)budget_fit(&budget, &asking.context, asking.items, &asking.count);
    request = request_of(&asking);
    sent = length_of(request);
    if (sent > (size_t)budget.sent_weight + SLACK_BYTES * asking.count)
        fail_msg("history %u, %s, %s: counted %lld bytes, sent %zu", number,
                 compact ? "compact" : "native", noted ? "noted" : "fresh",
                 (long long)budget.sent_weight, sent);
    run_settings_clear(&asking.settings);
}

static void check_tokens(unsigned number, bool compact, bool noted)
{
    static const char config[] = "{\"truncation\":\"auto\",\"runnel\":{\"message_cache\":"
                                 "{\"max_chars\":256}}}";
    json_auto_t *request = NULL;
    struct asking asking;
    int64_t counted, sent;

    prepare(&asking, config, number, compact);
    if (noted)
        context_count(&asking.context, CONTEXT_TOKENS, rows, count);
    context_fit(&asking.context, asking.items, &asking.count);
    counted = context_total(&asking.context, asking.items, asking.count);
    request = request_of(&asking);
    sent = tokenizer_count_request(NULL, request);
    if (sent > counted + (int64_t)(SLACK_TOKENS * asking.count))
        fail_msg("history %u, %s, %s: counted %lld tokens, sent %lld", number,
                 compact ? "compact" : "native", noted ? "noted" : "fresh", (long long)counted,
                 (long long)sent);
    run_settings_clear(&asking.settings);
}

TEST(everything_that_is_sent_was_counted)
{
    for (unsigned number = 0; number < HISTORIES; number += CASE_STRIDE) {
        bool compact = number & 1;

        for (int noted = 0; noted < 2; noted++) {
            make_history(number);
            check_bytes(number, compact, noted);
            check_tokens(number, compact, noted);
            (void)clear_items(NULL);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_that_is_sent_was_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
