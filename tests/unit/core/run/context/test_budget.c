#include <stdio.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/run/context/budget.h"
#include "tests/support/test.h"
#include "tests/unit/core/run/context/history.h"

#define RUN "run_1"
/* Bytes of every item's body here. */
#define WEIGHT 300

static struct item_row *add(const char *type, const char *run_id)
{
    struct item_row *row = history_add(type, "", mem_zeroed(WEIGHT + 1, 1));

    memset(row->body, 'x', WEIGHT);
    (void)snprintf(row->run_id, sizeof(row->run_id), "%s", run_id);
    row->turn = 0;
    row->input = false;
    return row;
}

/* Four earlier messages, a call between them, and the items of the run. */
static void add_history(void)
{
    add("message", "");
    add("message", "");
    add("function_call", "run_0");
    add("function_call_output", "run_0");
    add("message", "run_0");
    add("message", "");
    add("function_call", RUN);
    add("function_call_output", RUN);
}

/* The ids of the items that are left. */
static const char *left(void)
{
    static char ids[HISTORY_LIMIT + 1];

    for (size_t i = 0; i < count; i++)
        ids[i] = items[i]->id[strlen("item_")];
    ids[count] = '\0';
    return ids;
}

static struct budget made(const char *config, const char *usage)
{
    CLEANUP(run_settings_clear) struct run_settings settings = {0};
    struct budget budget;

    run_settings_load(&settings, config);
    budget_init(&budget, &settings, usage);
    return budget;
}

static const struct context_condensing as_it_is;

static bool fit(struct budget *budget, const char *config)
{
    CLEANUP(run_settings_clear) struct run_settings settings = {0};
    struct tool_set tools = {0};
    const struct context context = {.run_id = RUN, .settings = &settings, .tools = &tools};

    run_settings_load(&settings, config);
    return budget_fit(budget, &context, items, &count);
}

/* The items that are left, with these tools. */
static const char *weighed(const char *config, const struct tool_set *tools)
{
    CLEANUP(run_settings_clear) struct run_settings settings = {0};
    const struct context context = {.run_id = RUN, .settings = &settings, .tools = tools};
    struct budget budget = made(config, NULL);

    run_settings_load(&settings, config);
    assert_true(budget_fit(&budget, &context, items, &count));
    return left();
}

TEST(without_limits_everything_passes)
{
    struct budget budget = made("{}", NULL);

    add_history();
    budget_add(&budget, &(struct model_usage){.input = 1 << 20, .output = 1 << 20});
    assert_null(budget_spent(&budget));
    assert_null(budget_exceeded(&budget));
    assert_true(fit(&budget, "{}"));
    assert_string_equal(left(), "01234567");
}

TEST(used_tokens_are_no_longer_left)
{
    CLEANUP(run_settings_clear) struct run_settings settings = {0};
    struct budget budget = made("{\"max_completion_tokens\":300}", NULL);
    struct run_settings left;

    run_settings_load(&settings, "{\"max_completion_tokens\":300,\"model\":\"m\"}");
    left = budget_settings(&budget, &settings);
    assert_int_equal(left.max_completion_tokens, 300);
    budget_add(&budget, &(struct model_usage){.input = 9, .output = 120});
    left = budget_settings(&budget, &settings);
    assert_int_equal(left.max_completion_tokens, 180);
    assert_string_equal(left.model, "m");
    assert_int_equal(settings.max_completion_tokens, 300);
}

TEST(a_limit_is_spent_when_reached_and_exceeded_when_passed)
{
    struct budget budget = made("{\"max_output_tokens\":20}", NULL);

    budget_add(&budget, &(struct model_usage){.output = 20});
    assert_string_equal(budget_spent(&budget), "max_output_tokens");
    assert_null(budget_exceeded(&budget));
    budget_add(&budget, &(struct model_usage){.output = 1});
    assert_string_equal(budget_exceeded(&budget), "max_output_tokens");

    budget = made("{\"max_prompt_tokens\":300}", NULL);
    budget_add(&budget, &(struct model_usage){.input = 301});
    assert_string_equal(budget_spent(&budget), "max_prompt_tokens");
    assert_string_equal(budget_exceeded(&budget), "max_prompt_tokens");
}

TEST(used_tokens_survive_the_end_of_a_residency)
{
    static const char config[] = "{\"max_prompt_tokens\":5000}";
    struct budget budget = made(config, NULL);
    json_auto_t *tokens = NULL;
    AUTO_FREE char *text = NULL;
    struct budget again;

    add_history();
    assert_true(fit(&budget, config));
    budget_add(&budget,
               &(struct model_usage){
                   .known = true, .input = 50, .cached = 7, .output = 3, .reasoning = 2});
    tokens = budget_object(&budget);
    text = json_text(tokens);
    again = made(config, text);
    assert_int_equal(again.used.input, 50);
    assert_int_equal(again.used.cached, 7);
    assert_int_equal(again.used.output, 3);
    assert_int_equal(again.used.reasoning, 2);
    assert_int_equal(again.counted_weight, 8 * WEIGHT);
}

TEST(the_middle_of_the_thread_is_left_out_first)
{
    /* Seven of eight: the second message would do. */
    static const char most[] = "{\"max_prompt_tokens\":700}";
    /* Six: the message behind the call's output is where the rest may begin. */
    static const char some[] = "{\"max_prompt_tokens\":600}";
    struct budget budget = made(most, NULL);

    add_history();
    assert_true(fit(&budget, most));
    assert_string_equal(left(), "04567");
    clear_items(NULL);
    add_history();
    budget = made(some, NULL);
    assert_true(fit(&budget, some));
    assert_string_equal(left(), "04567");
}

TEST(the_newest_message_and_what_the_run_made_stay)
{
    static const char config[] = "{\"max_prompt_tokens\":256}";
    struct budget budget = made(config, NULL);

    add_history();
    assert_true(fit(&budget, config)); /* too much; but no usage is known yet */
    assert_string_equal(left(), "567");
}

TEST(of_the_last_messages_the_oldest_is_left_out_first)
{
    static const char config[] = "{\"max_prompt_tokens\":500,\"truncation_strategy\":"
                                 "{\"type\":\"last_messages\",\"last_messages\":3}}";
    struct budget budget = made(config, NULL);

    add_history();
    assert_true(fit(&budget, config));
    assert_string_equal(left(), "4567");
}

TEST(instructions_and_tools_count)
{
    static const char config[] = "{\"max_prompt_tokens\":800,\"instructions\":\"xyz\"}";
    struct budget budget = made(config, NULL);

    add_history();
    assert_true(fit(&budget, config));
    assert_string_equal(left(), "04567");
    assert_int_equal(budget.sent_weight,
                     5 * WEIGHT + strlen("[{\"role\":\"system\",\"content\":\"xyz\"}]"));
}

TEST(the_upstreams_count_corrects_the_estimate)
{
    static const char config[] = "{\"max_prompt_tokens\":1000}";
    struct budget budget = made(config, NULL);

    add_history();
    assert_true(fit(&budget, config));
    assert_string_equal(left(), "01234567");
    /* A token is six bytes: the 600 that are left are more than enough. */
    budget_add(&budget, &(struct model_usage){.known = true, .input = 400});
    assert_true(fit(&budget, config));
    assert_string_equal(left(), "01234567");
    /* 200 are left, which is half of it. */
    budget_add(&budget, &(struct model_usage){.known = true, .input = 400});
    assert_true(fit(&budget, config));
    assert_string_equal(left(), "0567");
    /* 100 are left, and what must stay costs more. */
    budget_add(&budget, &(struct model_usage){.known = true, .input = 100});
    assert_false(fit(&budget, config));
}

TEST(an_upstream_without_usage_never_exhausts_the_budget)
{
    static const char config[] = "{\"max_prompt_tokens\":256}";
    struct budget budget = made(config, NULL);

    add_history();
    for (int turn = 0; turn < 3; turn++) {
        assert_true(fit(&budget, config));
        budget_add(&budget, &(struct model_usage){0});
        assert_null(budget_spent(&budget));
    }
}

TEST(an_image_costs_less_than_its_bytes)
{
    static const char config[] = "{\"max_prompt_tokens\":1200}";
    static const char before[] = "{\"image_url\":\"", after[] = "\"}";
    struct budget budget = made(config, NULL);
    AUTO_FREE char *data = mem_zeroed(100001, 1);

    add("message", "");
    add("message", "");
    memset(data, 'x', 100000);
    memcpy(data, "data:image/", 11);
    free(rows[1].body);
    rows[1].body = mem_printf("%s%s%s", before, data, after);
    assert_true(fit(&budget, config));
    assert_string_equal(left(), "01");
    assert_int_equal(budget.sent_weight, WEIGHT + strlen(before) + strlen(after) +
                                             BUDGET_IMAGE_TOKENS * BUDGET_BYTES_PER_TOKEN);
}

/* However much they look like a picture's. */
TEST(a_text_costs_all_of_its_bytes)
{
    static const char config[] = "{\"max_prompt_tokens\":100000}";
    struct budget budget = made(config, NULL);
    AUTO_FREE char *data = mem_zeroed(9001, 1);

    memset(data, 'x', 9000);
    add("message", "");
    free(rows[0].body);
    rows[0].body =
        mem_printf("{\"text\":\"data:image/%s \\\"url\\\":\\\"data:%s\"}", data, data);
    assert_true(fit(&budget, config));
    assert_int_equal(budget.sent_weight, strlen(rows[0].body));
}

/* Only the beginning of a tool's output is sent, and all of a turn with its first message. */
TEST(compact_history_costs_the_text_that_is_sent)
{
    static const char config[] = "{\"max_prompt_tokens\":1000}";
    CLEANUP(run_settings_clear) struct run_settings settings = {0};
    struct budget budget = made(config, NULL);
    struct tool_set tools = {0};
    struct context context = {.run_id = RUN, .settings = &settings, .tools = &tools};
    AUTO_FREE char *said = mem_new_array(char, 9000);
    size_t sent_bytes;

    run_settings_load(&settings, config);
    memset(said, 'x', 8999);
    for (int i = 0; i < 4; i++) {
        struct item_row *row = add(i % 2 ? "mcp_call" : "message", "run_0");

        free(row->body);
        row->body = i % 2 ? mem_printf("{\"name\":\"a\",\"output\":\"%s\"}", said)
                          : mem_strdup("{\"content\":[{\"text\":\"hi\"}]}");
        (void)snprintf(row->role, sizeof(row->role), "%s", i % 2 ? "" : "user");
        row->status = ITEM_COMPLETED;
        row->input = i % 2 == 0;
    }
    (void)snprintf(add("message", "")->role, sizeof(rows[0].role), "user");
    assert_true(budget_fit(&budget, &context, items, &count));
    assert_string_equal(left(), "04");
    count = 5;
    for (size_t i = 0; i < count; i++)
        items[i] = &rows[i];
    context.compact = true;
    assert_true(budget_fit(&budget, &context, items, &count));
    assert_string_equal(left(), "01234");
    sent_bytes = context_condensed_bytes(&as_it_is, items, 1, 2);
    assert_in_range(sent_bytes, 300, 1000);
    assert_int_equal(budget.sent_weight, 2 * sent_bytes + 2 * strlen(rows[0].body) + WEIGHT);
    /* A message's log goes before the next message, never alone. */
    budget.prompt = (budget.sent_weight - 1) / BUDGET_BYTES_PER_TOKEN;
    assert_true(budget_fit(&budget, &context, items, &count));
    assert_string_equal(left(), "0234");
}

/* A thread may begin with what an assistant has done. */
TEST(a_finished_turn_is_left_out_as_a_whole)
{
    static const char config[] = "{\"max_prompt_tokens\":1000}";
    CLEANUP(run_settings_clear) struct run_settings settings = {0};
    struct budget budget = made(config, NULL);
    struct tool_set tools = {0};
    const struct context context = {
        .run_id = RUN, .settings = &settings, .tools = &tools, .compact = true};

    run_settings_load(&settings, config);
    add("mcp_call", "run_0");
    add("message", "run_0");
    add("mcp_call", "run_0");
    for (int i = 0; i < 3; i++) {
        free(rows[i].body);
        rows[i].body = mem_strdup(i == 1 ? "{\"content\":[{\"text\":\"hi\"}]}"
                                         : "{\"name\":\"a\",\"output\":\"x\"}");
        rows[i].status = ITEM_COMPLETED;
        (void)snprintf(rows[i].role, sizeof(rows[i].role), "%s", i == 1 ? "assistant" : "");
    }
    for (int i = 0; i < 2; i++)
        (void)snprintf(add("message", "")->role, sizeof(rows[0].role), "user");
    budget.prompt =
        (int64_t)(2 * WEIGHT + context_condensed_bytes(&as_it_is, items, 0, 3) - 1) /
        BUDGET_BYTES_PER_TOKEN;
    assert_true(budget_fit(&budget, &context, items, &count));
    assert_string_equal(left(), "0124");
    budget.prompt = 2 * WEIGHT / BUDGET_BYTES_PER_TOKEN;
    assert_true(budget_fit(&budget, &context, items, &count));
    assert_string_equal(left(), "4");
}

/* F33. */
TEST(a_shortened_message_costs_what_is_sent_of_it)
{
    static const char cutting[] = "{\"max_prompt_tokens\":600,\"runnel\":{\"message_cache\":"
                                  "{\"max_chars\":256}}}";
    static const char not_cutting[] = "{\"max_prompt_tokens\":600}";
    static const char *const roles[] = {"user", "assistant", "user"};
    const struct tool_handler reader = {.name = "ReadVar",
                                        .group = "vars",
                                        .description = "",
                                        .parameters = "{}",
                                        .flags = TOOL_VARIABLES | TOOL_READER};
    struct tool_use use = {.name = "ReadVar",
                           .own = "ReadVar",
                           .type = "mcp",
                           .label = "vars",
                           .handler = &reader};
    const struct tool_set tools = {.uses = &use, .count = 1};
    AUTO_FREE char *said = mem_zeroed(100000, 1);

    memset(said, 'x', 99999);
    for (size_t i = 0; i < COUNT_OF(roles); i++)
        (void)snprintf(add("message", i == 1 ? "run_0" : "")->role, sizeof(rows[0].role), "%s",
                       roles[i]);
    for (size_t i = 0; i < 2; i++) {
        free(rows[i].body);
        rows[i].body = mem_printf("{\"content\":[{\"text\":\"%s\"}]}", i ? "hi" : said);
    }
    long_messages_mark(rows, COUNT_OF(roles));
    assert_string_equal(weighed(cutting, &tools), "012");
    assert_string_equal(weighed(not_cutting, &tools), "2");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(without_limits_everything_passes, clear_items),
        cmocka_unit_test(used_tokens_are_no_longer_left),
        cmocka_unit_test(a_limit_is_spent_when_reached_and_exceeded_when_passed),
        cmocka_unit_test_teardown(used_tokens_survive_the_end_of_a_residency, clear_items),
        cmocka_unit_test_teardown(the_middle_of_the_thread_is_left_out_first, clear_items),
        cmocka_unit_test_teardown(the_newest_message_and_what_the_run_made_stay, clear_items),
        cmocka_unit_test_teardown(of_the_last_messages_the_oldest_is_left_out_first,
                                  clear_items),
        cmocka_unit_test_teardown(instructions_and_tools_count, clear_items),
        cmocka_unit_test_teardown(the_upstreams_count_corrects_the_estimate, clear_items),
        cmocka_unit_test_teardown(an_upstream_without_usage_never_exhausts_the_budget,
                                  clear_items),
        cmocka_unit_test_teardown(compact_history_costs_the_text_that_is_sent, clear_items),
        cmocka_unit_test_teardown(a_finished_turn_is_left_out_as_a_whole, clear_items),
        cmocka_unit_test_teardown(an_image_costs_less_than_its_bytes, clear_items),
        cmocka_unit_test_teardown(a_text_costs_all_of_its_bytes, clear_items),
        cmocka_unit_test_teardown(a_shortened_message_costs_what_is_sent_of_it, clear_items),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
