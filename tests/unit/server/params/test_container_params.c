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
           "'allowed_domains':['a.b','10.0.0.1']}}}",
           "invalid_value", "tools[0].container.network_policy.allowed_domains[1]",
           "Invalid value: '10.0.0.1'. Expected a host name such as 'example.com', or "
           "'*.example.com' for all names below it.");
    refuse("{'container':{'type':'auto','network_policy':{'type':'allowlist',"
           "'allowed_domains':['a.b'],'domain_secrets':[{'domain':'a.b','name':'K',"
           "'value':'v'}]}}}",
           "unsupported_value", "tools[0].container.network_policy.domain_secrets",
           "Unsupported value: this server cannot put secrets into requests of a container, "
           "because most of them are encrypted.");
}

static void check_policy(const char *domains, const char *most, const char *place,
                         const char *text)
{
    json_auto_t *given = json_object();
    json_auto_t *list = quoted_json(most);
    struct err err = {0};
    enum err_code rc;

    json_set(
        given, "network_policy",
        json_build("{s:s, s:o}", "type", "allowlist", "allowed_domains", quoted_json(domains)));
    rc = container_network_check(given, "c", list, &err);
    assert_int_equal(rc, place ? ERR_INVALID : ERR_OK);
    if (place) {
        assert_string_equal(err.place, place);
        assert_string_equal(err.text, text);
    }
}

TEST(a_policy_lies_within_the_operators)
{
    json_auto_t *closed = quoted_json("{'network_policy':{'type':'disabled'}}");
    AUTO_FREE char *none = container_domains(closed);

    check_policy("['example.org','a.example.net']", "['example.org','*.example.net']", NULL,
                 NULL);
    check_policy("['example.org','evilexample.org']", "['example.org','*.example.net']",
                 "c.network_policy.allowed_domains[1]",
                 "Invalid value: 'evilexample.org'. Containers of this server may reach: "
                 "example.org, *.example.net.");
    check_policy("['example.org']", "[]", "c.network_policy.type",
                 "Unsupported value: containers of this server have no network.");
    assert_int_equal(container_network_check(closed, "c", NULL, NULL), ERR_OK);
    assert_string_equal(none, "[]");
}

TEST(what_the_operator_no_longer_allows_is_left_out)
{
    json_auto_t *most = quoted_json("['example.org','*.example.net']");
    json_auto_t *wanted = quoted_json("['example.org','a.example.net']");
    json_auto_t *within =
        container_domains_within("[\"example.org\",\"b.org\",\"a.example.net\"]", most);
    json_auto_t *nothing = container_domains_within("[\"example.org\"]", NULL);

    assert_true(json_equal(within, wanted));
    assert_int_equal(json_array_size(nothing), 0);
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
        cmocka_unit_test(a_policy_lists_domains_and_no_secrets),
        cmocka_unit_test(a_policy_lies_within_the_operators),
        cmocka_unit_test(what_the_operator_no_longer_allows_is_left_out),
        cmocka_unit_test(a_tier_is_read),
        cmocka_unit_test(more_memory_than_the_operator_allows_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
