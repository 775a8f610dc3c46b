#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/mcp/mcp_known.h"
#include "tests/support/test.h"

static enum mcp_era era_of(const char *url, uint64_t now)
{
    return mcp_known_find(url, now).era;
}

TEST(what_a_server_speaks_is_kept_until_it_is_forgotten)
{
    assert_int_equal(era_of("http://a/", 1), MCP_ERA_UNKNOWN);
    mcp_known_keep("http://a/", (struct mcp_known){.era = MCP_ERA_SESSION}, 1);
    assert_int_equal(era_of("http://a/", 2), MCP_ERA_SESSION);
    assert_int_equal(era_of("http://a/other", 2), MCP_ERA_UNKNOWN);
    mcp_known_keep("http://a/", (struct mcp_known){.era = MCP_ERA_STREAM}, 3);
    assert_int_equal(era_of("http://a/", 4), MCP_ERA_STREAM);
    mcp_known_forget("http://a/");
    assert_int_equal(era_of("http://a/", 5), MCP_ERA_UNKNOWN);
    mcp_known_forget("http://a/");
}

TEST(a_server_is_asked_again_after_an_hour_however_often_it_is_used)
{
    mcp_known_keep("http://b/", (struct mcp_known){.era = MCP_ERA_SESSION}, 5);
    mcp_known_keep("http://b/", (struct mcp_known){.era = MCP_ERA_SESSION}, MCP_KNOWN_NS);
    assert_int_equal(era_of("http://b/", MCP_KNOWN_NS + 5), MCP_ERA_SESSION);
    assert_int_equal(era_of("http://b/", MCP_KNOWN_NS + 6), MCP_ERA_UNKNOWN);
    assert_int_equal(era_of("http://b/", 6), MCP_ERA_UNKNOWN);
}

TEST(only_so_many_servers_are_kept_and_the_oldest_leave)
{
    for (int i = 0; i <= MCP_KNOWN_LIMIT; i++) {
        AUTO_FREE char *url = mem_printf("http://c/%d", i);

        mcp_known_keep(url, (struct mcp_known){.era = MCP_ERA_SESSION}, 1);
    }
    assert_int_equal(era_of("http://c/0", 1), MCP_ERA_UNKNOWN);
    assert_int_equal(era_of("http://c/1", 1), MCP_ERA_SESSION);
    assert_int_equal(era_of("http://c/1024", 1), MCP_ERA_SESSION);
}

TEST(capabilities_of_a_stateless_server_are_kept)
{
    json_auto_t *capabilities = json_parse_own("{\"tools\":{\"x\":1},\"prompts\":{}}");
    json_auto_t *known = mcp_known_capabilities(mcp_known_stateless(capabilities));
    AUTO_FREE char *text = json_text(known);

    assert_int_equal(mcp_known_stateless(NULL).era, MCP_ERA_STATELESS);
    assert_string_equal(text, "{\"tools\":{},\"prompts\":{}}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_server_speaks_is_kept_until_it_is_forgotten),
        cmocka_unit_test(a_server_is_asked_again_after_an_hour_however_often_it_is_used),
        cmocka_unit_test(only_so_many_servers_are_kept_and_the_oldest_leave),
        cmocka_unit_test(capabilities_of_a_stateless_server_are_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
