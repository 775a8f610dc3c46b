#include "core/run/context/past_reasoning.h"

#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/domain/notes.h"
#include "core/run/context/context.h"
#include "core/run/context/context_request.h"
#include "tests/support/test.h"
#include "tests/unit/core/run/context/history.h"

/* ---- In a request ---- */

static struct item_row *add(const char *type, const char *role, const char *body, int turn)
{
    struct item_row *row = history_add(type, role, mem_strdup(body));

    if (turn >= 0) {
        row->input = false;
        row->turn = turn;
        (void)snprintf(row->run_id, sizeof(row->run_id), "run_1");
    }
    if (strncmp(type, "function_call", strlen("function_call")) == 0)
        (void)snprintf(row->call_id, sizeof(row->call_id), "call_1");
    return row;
}

static void user_says(const char *text)
{
    AUTO_FREE char *body = mem_printf("{\"role\":\"user\",\"content\":\"%s\"}", text);

    add("message", "user", body, -1);
}

static void model_answers(int turn)
{
    add("message", "assistant",
        "{\"role\":\"assistant\",\"content\":[{\"type\":\"output_text\",\"text\":\"Sunny.\"}]}",
        turn);
}

static void model_calls(int turn)
{
    add("function_call", "", "{\"name\":\"f\",\"arguments\":\"{}\"}", turn);
}

static void tool_answers(void)
{
    add("function_call_output", "", "{\"output\":\"ok\"}", -1);
}

#define THOUGHT(member)                                                                        \
    "{\"summary\":[],\"content\":[{\"type\":\"reasoning_text\",\"text\":\"hm\"}],\"runnel\":{" \
    "\"upstream\":\"deep\",\"reasoning\":{\"member\":\"" member "\"}}}"
#define DETAILED                                                                     \
    "{\"summary\":[],\"runnel\":{\"upstream\":\"deep\",\"reasoning\":{\"details\":[" \
    "{\"type\":\"reasoning.encrypted\",\"data\":\"A\"}]}}}"

/* What the messages of the assistant have beside content and calls, as JSON. The caller frees. */
static char *given_back(unsigned flags, const char *upstream)
{
    static const struct tool_set tools;
    const struct run_settings settings = {
        .model = "", .instructions = "", .max_completion_tokens = RUN_NO_LIMIT};
    json_auto_t *request =
        context_request("run_2", &settings, &tools, items, count, flags, upstream);
    json_auto_t *found = json_array();
    size_t i;
    json_t *message;

    json_array_foreach (json_object_get(request, "messages"), i, message) {
        if (strcmp(json_get_string(message, "role", ""), "assistant") != 0)
            continue;
        json_object_del(message, "role");
        json_object_del(message, "content");
        json_object_del(message, "tool_calls");
        json_array_append(found, message);
    }
    return json_text(found);
}

static void assert_given_back(unsigned flags, const char *upstream, const char *expected)
{
    AUTO_FREE char *found = given_back(flags, upstream);

    assert_string_equal(found, expected);
}

#define HM "{\"reasoning_content\":\"hm\"}"

TEST(text_goes_back_with_all_answers_between_two_messages_of_the_user_if_there_is_a_call)
{
    user_says("Hi");
    add("reasoning", "", THOUGHT("reasoning_content"), 0);
    model_answers(0);
    user_says("weather");
    add("reasoning", "", THOUGHT("reasoning_content"), 1);
    model_calls(1);
    tool_answers();
    add("reasoning", "", THOUGHT("reasoning_content"), 2);
    model_answers(2);
    user_says("Bye");
    add("reasoning", "", THOUGHT("reasoning_content"), 3);
    model_answers(3);
    assert_given_back(CONTEXT_GIVE_BACK, "deep", "[{}," HM "," HM ",{}]");
    assert_given_back(CONTEXT_GIVE_BACK_ALL, "deep", "[" HM "," HM "," HM "," HM "]");
    assert_given_back(CONTEXT_GIVE_BACK, "other", "[{},{},{},{}]");
    assert_given_back(CONTEXT_GIVE_BACK, NULL, "[{},{},{},{}]");
    assert_given_back(0, "deep", "[{},{},{},{}]");
    assert_given_back(CONTEXT_GIVE_BACK | CONTEXT_FILL_REASONING, "other",
                      "[{},{\"reasoning_content\":\"\"},{},{}]");
}

TEST(details_go_back_with_every_answer)
{
    static const char expected[] =
        "[{\"reasoning_details\":[{\"type\":\"reasoning.encrypted\",\"data\":\"A\"}]}]";

    user_says("Hi");
    add("reasoning", "", DETAILED, 0);
    model_answers(0);
    assert_given_back(CONTEXT_GIVE_BACK, "deep", expected);
    assert_given_back(CONTEXT_GIVE_BACK_ALL, "deep", expected);
    assert_given_back(CONTEXT_GIVE_BACK_ALL, "other", "[{}]");
}

TEST(reasoning_of_one_turn_is_joined)
{
    add("reasoning", "", THOUGHT("reasoning"), 0);
    model_answers(0);
    add("reasoning", "", THOUGHT("reasoning"), 0);
    model_calls(0);
    tool_answers();
    assert_given_back(CONTEXT_GIVE_BACK, "deep", "[{\"reasoning\":\"hmhm\"}]");
}

/* An older version of this server has noted no member; a client's reasoning has no notes at all. */
TEST(reasoning_without_notes_is_the_clients_for_this_upstream)
{
    static const char plain[] =
        "{\"summary\":[],\"content\":[{\"type\":\"reasoning_text\",\"text\":\"hm\"}]}";

    add("reasoning", "", plain, 0);
    model_calls(0);
    tool_answers();
    assert_given_back(CONTEXT_GIVE_BACK, "deep", "[{}]");
    (void)clear_items(state);
    add("reasoning", "", plain, -1);
    model_calls(-1);
    tool_answers();
    assert_given_back(CONTEXT_GIVE_BACK, "deep", "[" HM "]");
}

/* ---- What clients carry ---- */

static void make_item(struct item *item)
{
    item->row.type = ITEM_REASONING;
    buf_add_text(&item_add_part(item, PART_REASONING)->text, "hm");
    past_reasoning_note(item, "deep", "reasoning_content");
}

TEST(what_a_client_carries_is_opened_for_its_project_only)
{
    struct item *item = mem_new(struct item);
    struct seal seal;
    struct tenant tenant = {.project = "proj_a"}, other = {.project = "proj_b"};
    AUTO_FREE char *sealed = NULL;
    AUTO_FREE char *body = NULL;
    AUTO_FREE char *found = NULL;
    struct item_row *row;

    seal_make_key(seal.key);
    make_item(item);
    sealed = past_reasoning_sealed(&seal, &tenant, item);
    assert_non_null(sealed);
    item_free(item);

    body = mem_printf("{\"summary\":[],\"encrypted_content\":\"%s\"}", sealed);
    row = add("reasoning", "", body, -1);
    model_calls(-1);
    tool_answers();
    past_reasoning_open(&seal, &other, rows, count);
    assert_string_equal(row->body, body);
    past_reasoning_open(&seal, &tenant, rows, count);
    assert_given_back(CONTEXT_GIVE_BACK, "other", "[{}]");
    found = given_back(CONTEXT_GIVE_BACK, "deep");
    assert_string_equal(found, "[" HM "]");
}

static void assert_withheld(const char *input, const char *expected)
{
    json_auto_t *sent = json_parse_own(input);
    json_auto_t *withheld = past_reasoning_withheld(rows, count, sent, "here");
    AUTO_FREE char *text = NULL;
    json_auto_t *ids = json_array();
    size_t i;
    json_t *entry;

    json_array_foreach (withheld, i, entry)
        json_array_append(ids, json_object_get(entry, "id"));
    text = json_text(ids);
    assert_string_equal(text, expected);
}

/* With the ids that the client knows: its own, or for what a reference names the stored one. */
TEST(what_another_upstream_has_made_is_listed_as_withheld)
{
    static const char theirs[] = "{\"summary\":[],\"runnel\":{\"upstream\":\"there\"}}";
    static const char ours[] = "{\"summary\":[],\"runnel\":{\"upstream\":\"here\"}}";

    (void)snprintf(add("reasoning", "", theirs, -1)->id, ID_SIZE, "rs_1");
    (void)snprintf(add("reasoning", "", ours, -1)->id, ID_SIZE, "rs_2");
    (void)snprintf(add("reasoning", "", "{\"summary\":[]}", -1)->id, ID_SIZE, "rs_3");
    assert_withheld("[{\"type\":\"reasoning\",\"id\":\"a\"},{\"type\":\"reasoning\"},"
                    "{\"type\":\"reasoning\"}]",
                    "[\"a\"]");
    assert_withheld("[{\"type\":\"item_reference\",\"id\":\"rs_1\"},"
                    "{\"type\":\"reasoning\"},{\"type\":\"reasoning\"}]",
                    "[\"rs_1\"]");
}

TEST(an_item_without_notes_is_not_sealed)
{
    struct item *item = mem_new(struct item);
    struct seal seal;
    struct tenant tenant = {.project = "proj_a"};

    seal_make_key(seal.key);
    item->row.type = ITEM_REASONING;
    assert_null(past_reasoning_sealed(&seal, &tenant, item));
    item_free(item);
}

#define reasoning_test(name) cmocka_unit_test_teardown(name, clear_items)

int main(void)
{
    const struct CMUnitTest tests[] = {
        reasoning_test(
            text_goes_back_with_all_answers_between_two_messages_of_the_user_if_there_is_a_call),
        reasoning_test(details_go_back_with_every_answer),
        reasoning_test(reasoning_of_one_turn_is_joined),
        reasoning_test(reasoning_without_notes_is_the_clients_for_this_upstream),
        reasoning_test(what_a_client_carries_is_opened_for_its_project_only),
        reasoning_test(what_another_upstream_has_made_is_listed_as_withheld),
        reasoning_test(an_item_without_notes_is_not_sealed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
