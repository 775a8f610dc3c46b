#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/run/context/chain.h"
#include "tests/support/test.h"

static struct chain made(const char *config, const char *usage)
{
    CLEANUP(run_settings_clear) struct run_settings settings = {0};
    struct chain chain;

    run_settings_load(&settings, config);
    chain_init(&chain, &settings, usage);
    chain_set_limits(&chain, 10, 0);
    return chain;
}

/* F58. */
TEST(the_servers_limits_hold_where_the_request_has_none)
{
    struct chain chain = made("{}", NULL);

    assert_int_equal(chain.max_rounds, 10);
    assert_true(chain.max_calls == INT64_MAX);
    chain = made("{\"runnel\":{\"rounds\":{\"max\":3.0,\"max_calls\":9}},\"max_tool_calls\":7}",
                 NULL);
    assert_int_equal(chain.max_rounds, 3);
    assert_int_equal(chain.max_calls, 7);
    chain_set_limits(&chain, 5, 2);
    assert_int_equal(chain.max_rounds, 3);
    assert_int_equal(chain.max_calls, 2);
}

/* F58. */
TEST(a_call_beyond_the_last_round_is_not_executed)
{
    struct chain chain = made("{\"runnel\":{\"rounds\":{\"max\":2}}}", NULL);

    for (int round = 0; round < 2; round++) {
        assert_true(chain_admit(&chain));
        assert_true(chain_admit(&chain));
        chain_end_round(&chain);
    }
    assert_int_equal(chain.stop, CHAIN_CONTINUES);
    assert_false(chain_admit(&chain));
    assert_int_equal(chain.stop, CHAIN_ROUNDS);
    chain_end_round(&chain); /* in which nothing was executed */
    assert_int_equal(chain.all_rounds, 2);
    assert_int_equal(chain.all_calls, 4);
}

/* F59. */
TEST(placeholders_name_the_limit)
{
    AUTO_FREE char *rounds = chain_placeholder(CHAIN_ROUNDS);
    AUTO_FREE char *calls = chain_placeholder(CHAIN_CALLS);

    assert_string_equal(rounds, "{\"status\":\"incomplete\",\"message\":\"Tool chain execution "
                                "stopped due to max rounds limit\",\"reason\":"
                                "\"max_rounds_reached\"}");
    assert_non_null(strstr(calls, "max calls limit\",\"reason\":\"max_calls_reached\""));
    assert_int_equal(chain_reason_parse("max_calls_reached"), CHAIN_CALLS);
    assert_int_equal(chain_reason_parse("anything"), CHAIN_CONTINUES);
    assert_int_equal(chain_reason_parse(NULL), CHAIN_CONTINUES);
}

/* F63. */
TEST(counts_survive_the_end_of_a_residency)
{
    struct chain chain = made("{\"max_tool_calls\":2}", NULL);
    json_auto_t *tokens = json_build("{s:i}", "input_tokens", 3);
    AUTO_FREE char *text = NULL;
    struct chain_turn turn;

    chain_add_turn(&chain, 0, &(struct model_usage){.input = 10, .output = 1});
    assert_true(chain_admit(&chain));
    chain_end_round(&chain);
    chain_add_turn(&chain, 1, &(struct model_usage){.input = 20, .output = 2});
    chain_note(&chain, tokens);
    chain_clear(&chain);
    text = json_text(tokens);
    chain = made("{\"max_tool_calls\":2}", text);
    assert_int_equal(chain.all_rounds, 1);
    assert_true(chain_admit(&chain));
    assert_false(chain_admit(&chain));
    assert_int_equal(chain.turn_count, 2);
    assert_true(chain_usage_after(tokens, 0, &turn));
    assert_int_equal(turn.input, 20);
    assert_int_equal(turn.output, 2);
    assert_false(chain_usage_after(tokens, 1, &turn));
    chain_clear(&chain);
}

static struct chain noted(const struct chain *chain, const char *config)
{
    json_auto_t *tokens = json_object();
    AUTO_FREE char *text = NULL;

    chain_note(chain, tokens);
    text = json_text(tokens);
    return made(config, text);
}

/* F58, F63. */
TEST(calls_of_a_round_that_waited_count_once)
{
    const char *config = "{\"max_tool_calls\":3}";
    struct chain chain = made(config, NULL);

    assert_true(chain_admit(&chain));
    for (int pauses = 0; pauses < 3; pauses++) {
        chain = noted(&chain, config);
        assert_int_equal(chain.all_calls, 1); /* so many, should it end now */
        chain = noted(&chain, config);        /* claimed, and released before it continued */
        chain_reopen_round(&chain);
        assert_int_equal(chain.all_calls, 0);
        chain_count_call(&chain);
    }
    chain_end_round(&chain);
    chain = noted(&chain, config);
    chain_reopen_round(&chain); /* nothing was open */
    assert_int_equal(chain.all_rounds, 1);
    assert_int_equal(chain.all_calls, 1);
}

/* F63. */
TEST(tokens_are_kept_for_a_limited_number_of_turns)
{
    struct chain chain = made("{}", NULL);

    for (int i = 0; i < CHAIN_TURNS_KEPT + 5; i++)
        chain_add_turn(&chain, i, &(struct model_usage){.input = 1});
    assert_int_equal(chain.turn_count, CHAIN_TURNS_KEPT);
    chain_clear(&chain);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_servers_limits_hold_where_the_request_has_none),
        cmocka_unit_test(a_call_beyond_the_last_round_is_not_executed),
        cmocka_unit_test(placeholders_name_the_limit),
        cmocka_unit_test(counts_survive_the_end_of_a_residency),
        cmocka_unit_test(calls_of_a_round_that_waited_count_once),
        cmocka_unit_test(tokens_are_kept_for_a_limited_number_of_turns),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
