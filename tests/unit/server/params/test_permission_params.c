#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "server/params/mcp_tool.h"
#include "server/params/permission_params.h"
#include "tests/support/test.h"

static void refuse(enum err_code (*check)(const json_t *, const char *, struct err *),
                   const char *text, const char *code, const char *param, const char *wanted)
{
    json_auto_t *value = json_parse_own(text);
    struct err err = {0};

    assert_int_equal(check(value, "p", &err), ERR_INVALID);
    assert_string_equal(err.word, code);
    assert_string_equal(err.place, param);
    assert_string_equal(err.text, wanted);
}

static void accept(enum err_code (*check)(const json_t *, const char *, struct err *),
                   const char *text)
{
    json_auto_t *value = json_parse_own(text);
    struct err err = {0};

    assert_int_equal(check(value, "p", &err), ERR_OK);
}

/* F38. */
TEST(typing_errors_are_refused)
{
    refuse(permission_check, "\"auto\"", "invalid_type", "p",
           "Invalid type for 'p': expected an object.");
    refuse(permission_check, "{\"exection\":\"auto\"}", "unknown_parameter", "p.exection",
           "Unknown parameter: 'p.exection'.");
    refuse(permission_check, "{\"execution\":\"ask_once\"}", "invalid_value", "p.execution",
           "Invalid value for 'p.execution': expected one of 'auto', 'ask-once' and "
           "'ask-always'.");
    refuse(permission_check, "{\"requireResultApproval\":\"true\"}", "invalid_type",
           "p.requireResultApproval",
           "Invalid type for 'p.requireResultApproval': expected a boolean.");
    refuse(permission_check, "{\"result\":\"never\",\"resultApprovalPolicy\":\"always\"}",
           "invalid_value", "p.result",
           "Invalid 'p': 'resultApprovalPolicy' and 'result' are the same.");
    refuse(permissions_check, "{\"a/b\":{\"x\":1}}", "unknown_parameter", "p.a/b.x",
           "Unknown parameter: 'p.a/b.x'.");
    accept(permissions_check,
           "{\"a/b\":{\"permissionLevel\":\"moderate\","
           "\"requireExecutionApproval\":true},\"a\":{\"result\":\"never\"}}");
    accept(permissions_check, "{\"a\":{\"requireResultApproval\":true}}");
    refuse(permissions_check, "{\"a\":{\"result\":\"on-errors\"}}", "invalid_value",
           "p.a.result",
           "Invalid value for 'p.a.result': expected one of 'never', 'on-error' and 'always'.");
}

/* The error's place has less room than its text. Both end with a whole character. */
TEST(a_long_name_is_reported_whole)
{
    char name[3 * 50 + 1] = "";
    struct err err = {0};

    for (size_t i = 0; i < 50; i++)
        memcpy(name + 3 * i, "€", 4);

    json_auto_t *set = json_build("{s:{s:b}}", "a", name, 1);
    AUTO_FREE char *text = mem_printf("Unknown parameter: 'pp.a.%s'.", name);

    assert_int_equal(permissions_check(set, "pp", &err), ERR_INVALID);
    assert_string_equal(err.text, text);
    assert_int_equal(strlen(err.place), strlen("pp.a.") + 3 * 30);
    assert_memory_equal(err.place, text + strlen("Unknown parameter: '"), strlen(err.place));
}

TEST(every_form_of_require_approval_is_read)
{
    accept(permission_require_check, "\"always\"");
    accept(permission_require_check, "\"never\"");
    accept(permission_require_check, "{\"never\":{\"tool_names\":[\"a\"]}}");
    accept(permission_require_check, "{\"always\":{\"read_only\":false},\"never\":null}");
    refuse(permission_require_check, "\"allways\"", "invalid_value", "p",
           "Invalid value for 'p': expected one of 'always' and 'never'.");
    refuse(permission_require_check, "true", "invalid_type", "p",
           "Invalid type for 'p': expected one of a string or an object.");
    refuse(permission_require_check, "{}", "invalid_value", "p",
           "Invalid 'p': expected 'always', 'never' or both.");
    refuse(permission_require_check, "{\"alway\":{}}", "unknown_parameter", "p.alway",
           "Unknown parameter: 'p.alway'.");
    refuse(permission_require_check, "{\"never\":[\"a\"]}", "invalid_type", "p.never",
           "Invalid type for 'p.never': expected an object.");
    refuse(permission_require_check, "{\"never\":{\"tools\":[]}}", "unknown_parameter",
           "p.never.tools", "Unknown parameter: 'p.never.tools'.");
    refuse(permission_require_check, "{\"never\":{\"tool_names\":[1]}}", "invalid_type",
           "p.never.tool_names",
           "Invalid type for 'p.never.tool_names[0]': expected a string.");
    refuse(permission_require_check,
           "{\"never\":{\"tool_names\":[\"a\"]},\"always\":{\"tool_names\":[\"a\"]}}",
           "invalid_value", "p",
           "Invalid 'p': the tool 'a' is named in both 'always' and 'never'.");
}

/* The entry is refused before its tools are read. */
TEST(require_approval_of_an_mcp_entry_is_checked)
{
    static const char *const bad[] = {
        "\"allways\"", "{}",
        "{\"never\":{\"tool_names\":[\"a\"]},\"always\":{\"tool_names\":[\"a\"]}}"};

    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        json_auto_t *require = json_loads(bad[i], JSON_DECODE_ANY, NULL);
        json_auto_t *entry =
            json_build("{s:s, s:s, s:s, s:O}", "type", "mcp", "server_label", "l", "server_url",
                       "builtin:g", "require_approval", require);
        struct err err = {0};

        assert_int_equal(mcp_tool_check(entry, "tools[0]", &err), ERR_INVALID);
        assert_string_equal(err.place, "tools[0].require_approval");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(typing_errors_are_refused),
        cmocka_unit_test(a_long_name_is_reported_whole),
        cmocka_unit_test(every_form_of_require_approval_is_read),
        cmocka_unit_test(require_approval_of_an_mcp_entry_is_checked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
