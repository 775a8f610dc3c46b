#include "core/base/json.h"
#include "core/base/mem.h"
#include "server/params/container_params.h"
#include "tests/support/quoted.h"

static void accept(const char *text)
{
    json_auto_t *tool = quoted_json(text);
    struct err err = {0};

    if (container_choice_check(tool, "tools[0]", &err))
        fail_msg("%s: %s", text, err.text);
}

static void refuse(const char *text, const char *code, const char *param, const char *message)
{
    json_auto_t *tool = quoted_json(text);
    struct err err = {0};

    assert_int_equal(container_choice_check(tool, "tools[0]", &err), ERR_INVALID);
    assert_string_equal(err.text, message);
    assert_string_equal(err.place, param);
    assert_string_equal(err.word, code);
}

TEST(a_container_is_named_or_made)
{
    accept("{'container':'cntr_1'}");
    accept("{'container':{'type':'auto'}}");
    accept("{'container':{'type':'auto','file_ids':null,'memory_limit':null}}");
    accept("{'container':{'type':'auto','file_ids':['file-1'],'memory_limit':'64g',"
           "'network_policy':{'type':'disabled'}}}");
}

TEST(what_names_no_container_is_refused)
{
    refuse("{}", "missing_required_parameter", "tools[0].container",
           "Missing required parameter: 'tools[0].container'.");
    refuse("{'container':null}", "missing_required_parameter", "tools[0].container",
           "Missing required parameter: 'tools[0].container'.");
    refuse("{'container':5}", "invalid_type", "tools[0].container",
           "Invalid type for 'tools[0].container': expected one of a string or an object, but "
           "got an integer instead.");
    refuse("{'container':'file-1'}", "invalid_value", "tools[0].container",
           "Invalid 'tools[0].container': 'file-1'. Expected an ID that begins with 'cntr'.");
    refuse("{'container':{}}", "missing_required_parameter", "tools[0].container.type",
           "Missing required parameter: 'tools[0].container.type'.");
    refuse("{'container':{'type':'manual'}}", "invalid_value", "tools[0].container.type",
           "Invalid value: 'manual'. Supported values are: 'auto'.");
}

TEST(what_a_container_cannot_have_is_refused)
{
    refuse("{'container':{'type':'auto','file_ids':[1]}}", "invalid_type",
           "tools[0].container.file_ids[0]",
           "Invalid type for 'tools[0].container.file_ids[0]': expected a string, but got an "
           "integer instead.");
    refuse(
        "{'container':{'type':'auto','file_ids':['cntr_1']}}", "invalid_value",
        "tools[0].container.file_ids[0]",
        "Invalid 'tools[0].container.file_ids[0]': 'cntr_1'. Expected an ID that begins with "
        "'file'.");
    refuse("{'container':{'type':'auto','memory_limit':'2g'}}", "invalid_value",
           "tools[0].container.memory_limit",
           "Invalid value: '2g'. Supported values are: '1g', '4g', '16g', and '64g'.");
}

TEST(a_policy_lists_domains_and_no_secrets)
{
    accept("{'container':{'type':'auto','network_policy':{'type':'allowlist',"
           "'allowed_domains':['a.b', '*.example.org'],'domain_secrets':[]}}}");
    refuse("{'container':{'type':'auto','network_policy':{'type':'allowlist',"
           "'allowed_domains':['a.b']}}}",
           "unsupported_value", "tools[0].container.network_policy.type",
           "Unsupported value: containers of this server have no network.");
}

TEST(a_tier_is_read)
{
    json_auto_t *given = quoted_json("{'memory_limit':'16g'}");
    json_auto_t *none = quoted_json("{}");
    int gib = 0;

    assert_int_equal(container_params_check(given, "", &gib, NULL), ERR_OK);
    assert_int_equal(gib, 16);
    assert_int_equal(container_memory_gib(none), 0);
}

TEST(more_memory_than_the_operator_allows_is_refused)
{
    json_auto_t *given = quoted_json("{'memory_limit':'16g'}");
    json_auto_t *none = quoted_json("{}");
    struct err err = {0};

    assert_int_equal(container_memory_check(given, "c", (uint64_t)16 << 30, NULL), ERR_OK);
    assert_int_equal(container_memory_check(none, "c", 1, NULL), ERR_OK);
    assert_int_equal(container_memory_check(given, "c", (uint64_t)5 << 30, &err), ERR_INVALID);
    assert_string_equal(err.text,
                        "Invalid value: '16g'. The largest memory_limit of this server "
                        "is '4g'.");
    assert_string_equal(err.place, "c.memory_limit");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_container_is_named_or_made),
        cmocka_unit_test(what_names_no_container_is_refused),
        cmocka_unit_test(what_a_container_cannot_have_is_refused),
        cmocka_unit_test(a_tier_is_read),
        cmocka_unit_test(more_memory_than_the_operator_allows_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
