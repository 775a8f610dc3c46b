#include <string.h>

#include "core/base/buf.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/domain/rows.h"
#include "core/run/catalog/tool_choice.h"
#include "core/run/catalog/tool_secrets.h"
#include "core/run/catalog/tool_set.h"
#include "core/tool/registry.h"
#include "handlers/handlers.h"
#include "tests/support/test.h"

/* ---- The registry of this test ---- */

static enum err_code never_run(struct tool_call *call, struct tool_result *ret_result,
                               struct err *err)
{
    (void)call;
    (void)ret_result;
    return err_set(err, ERR_INTERNAL, "not in this test");
}

static const struct tool_handler one = {.name = "one",
                                        .group = "g",
                                        .description = "The first.",
                                        .parameters = "{\"type\":\"object\"}",
                                        .run = never_run};
static const struct tool_handler two = {.name = "two",
                                        .group = "g",
                                        .description = "The second.",
                                        .parameters = "{\"type\":\"object\"}",
                                        .flags = TOOL_HIDDEN,
                                        .run = never_run};
/* Its description depends on the run: it is the name of the model. A run with the model
 * "none" does not have the tool. */
static int inits;

static json_t *init_made(const struct tool_context *context)
{
    const char *word = context->settings->model;

    inits++;
    if (strcmp(word, "none") == 0)
        return NULL;
    return json_build("{s:s, s:{s:s}}", "description", word, "parameters", "title", word);
}

static const struct tool_handler made = {.name = "made",
                                         .group = "h",
                                         .description = "Not made yet.",
                                         .parameters = "{\"type\":\"object\"}",
                                         .init = init_made,
                                         .run = never_run};
static const struct tool_handler *const all[] = {
    &function_handler, &custom_handler,      &one,  &two,
    &shell_handler,    &tool_search_handler, &made, NULL};

static int set_registry(void **state)
{
    (void)state;
    tool_registry_set(all);
    return 0;
}

static const struct run_settings unset;

#define GROUP "{\"type\":\"mcp\",\"server_label\":\"l\",\"server_url\":\"builtin:g\""

static enum err_code init(struct tool_set *set, const char *text, struct err *err)
{
    json_auto_t *tools = json_loads(text, 0, NULL);

    assert_non_null(tools);
    return tool_set_init(set, tools, &unset, err);
}

/* ---- Promises ---- */

TEST(tool_set_knows_who_executes_a_tool)
{
    struct tool_set set;

    assert_int_equal(init(&set, "[{\"type\":\"function\",\"name\":\"f\"}, " GROUP "}]", NULL),
                     0);
    assert_int_equal(set.count, 3);
    assert_true(tool_use_is_clients(tool_set_find(&set, "f")));
    assert_false(tool_use_is_clients(tool_set_find(&set, "one")));
    assert_null(tool_set_find(&set, "one")->handler->item);
    assert_null(tool_set_find(&set, "three"));
    tool_set_clear(&set);
}

TEST(tool_set_takes_functions_of_both_apis)
{
    struct tool_set set;
    json_auto_t *offered = NULL;

    assert_int_equal(
        init(&set,
             "[{\"type\":\"function\",\"name\":\"a\",\"parameters\":{}},"
             "{\"type\":\"function\",\"function\":{\"name\":\"b\",\"strict\":true}}]",
             NULL),
        0);
    offered = tool_set_offer(&set, NULL);
    assert_string_equal(
        json_get_string(json_object_get(json_array_get(offered, 0), "function"), "name", ""),
        "a");
    assert_true(json_get_bool(json_object_get(json_array_get(offered, 1), "function"), "strict",
                              false));
    tool_set_clear(&set);
}

TEST(tool_set_allowed_tools_of_an_entry_narrow_the_group)
{
    struct tool_set set;

    assert_int_equal(init(&set, "[" GROUP ",\"allowed_tools\":[\"two\"]}]", NULL), 0);
    assert_int_equal(set.count, 1);
    tool_set_clear(&set);
    /* An implementation that ignores the object form would run every tool. */
    assert_int_equal(
        init(&set, "[" GROUP ",\"allowed_tools\":{\"tool_names\":[\"one\"]}}]", NULL), 0);
    assert_int_equal(set.count, 1);
    assert_non_null(tool_set_find(&set, "one"));
    tool_set_clear(&set);
}

TEST(tool_set_refuses_entries_that_it_cannot_resolve)
{
    static const struct {
        const char *tools;
        const char *param;
    } cases[] = {
        {"[{\"type\":\"namespace\",\"name\":\"n\",\"tools\":[{\"type\":\"function\","
         "\"name\":\"f\"}]},{\"type\":\"function\",\"name\":\"n__f\"}]",
         "tools[1]"},
        {"[{}]", "tools[0].type"},
        {"[{\"type\":\"function\"}]", "tools[0].name"},
        {"[{\"type\":\"mcp\",\"server_label\":\"l\",\"server_url\":\"builtin:none\"}]",
         "tools[0].server_url"},
        {"[{\"type\":\"mcp\",\"server_label\":\"l\",\"server_url\":\"ftp://example.com\"}]",
         "tools[0].server_url"},
        {"[{\"type\":\"mcp\",\"server_url\":\"builtin:g\"}]", "tools[0].server_label"},
        {"[" GROUP ",\"require_approval\":{\"always\":{\"tool_names\":[\"won\"]}}}]",
         "tools[0].require_approval"},
        {"[{\"type\":\"function\",\"name\":\"runnel_approval\"}]", "tools[0].name"},
        {"[" GROUP "}, " GROUP "}]", "tools[1]"},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct tool_set set;
        struct err err = {0};

        assert_int_equal(init(&set, cases[i].tools, &err), ERR_INVALID);
        assert_string_equal(err.place, cases[i].param);
    }
}

static enum err_code check_permissions(struct tool_set *set, const char *permissions)
{
    CLEANUP(run_settings_clear) struct run_settings settings = {0};
    AUTO_FREE char *request = mem_printf("{\"runnel\":{\"permissions\":%s}}", permissions);

    run_settings_load(&settings, request);
    set->settings = &settings;
    return tool_set_check_permissions(set, NULL);
}

/* F38. With a misspelt key the tool would run without its approval. */
TEST(permissions_name_existing_tools)
{
    static const char *const good[] = {"{}", "{\"l\":{}}", "{\"l/one\":{},\"l/two\":{}}"};
    static const char *const bad[] = {"{\"g\":{}}", "{\"l/on\":{}}", "{\"l/\":{}}",
                                      "{\"l\":{},\"f\":{}}"};
    struct tool_set set;

    assert_int_equal(init(&set, "[{\"type\":\"function\",\"name\":\"f\"}, " GROUP "}]", NULL),
                     0);
    for (size_t i = 0; i < COUNT_OF(good); i++) {
        assert_int_equal(check_permissions(&set, good[i]), ERR_OK);
    }
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        assert_int_equal(check_permissions(&set, bad[i]), ERR_INVALID);
    }
    tool_set_clear(&set);
}

static void assert_choice(const struct tool_set *set, const char *choice, const char *expected)
{
    json_auto_t *given = json_loads(choice, JSON_DECODE_ANY, NULL);
    json_auto_t *wanted = json_loads(expected, JSON_DECODE_ANY, NULL);
    json_auto_t *got = tool_choice_upstream(set, given);

    if (json_is_null(wanted))
        assert_null(got);
    else
        assert_true(json_equal(got, wanted));
}

/* An implementation that knows only "NONE" makes "none" into auto. */
TEST(tool_set_bella_B5_every_tool_choice_reaches_the_model)
{
    struct tool_set set;

    assert_int_equal(init(&set, "[{\"type\":\"function\",\"name\":\"f\"}, " GROUP "}]", NULL),
                     0);
    assert_choice(&set, "\"none\"", "\"none\"");
    assert_choice(&set, "\"required\"", "\"required\"");
    assert_choice(&set, "\"auto\"", "null");
    assert_choice(&set, "{\"type\":\"function\",\"name\":\"f\"}",
                  "{\"type\":\"function\",\"function\":{\"name\":\"f\"}}");
    assert_choice(&set, "{\"type\":\"function\",\"function\":{\"name\":\"f\"}}",
                  "{\"type\":\"function\",\"function\":{\"name\":\"f\"}}");
    assert_choice(&set, "{\"type\":\"mcp\",\"server_label\":\"l\",\"name\":\"one\"}",
                  "{\"type\":\"function\",\"function\":{\"name\":\"one\"}}");
    tool_set_clear(&set);
}

#define ALLOW(mode, tools) \
    "{\"type\":\"allowed_tools\",\"mode\":\"" mode "\",\"tools\":[" tools "]}"

/* The list begins each prompt, and a prompt cache hits only if it stays the same. */
TEST(tool_choice_allowed_tools_leave_the_list_as_it_is)
{
    static const char *const choices[] = {
        ALLOW("auto", "{\"type\":\"function\",\"name\":\"f\"}"),
        ALLOW("required", "{\"type\":\"function\",\"name\":\"f\"}"),
        ALLOW("auto", "{\"type\":\"mcp\",\"server_label\":\"l\"}"),
    };
    struct tool_set set;
    json_auto_t *whole = NULL;

    assert_int_equal(init(&set, "[{\"type\":\"function\",\"name\":\"f\"}, " GROUP "}]", NULL),
                     0);
    whole = tool_set_offer(&set, NULL);
    for (size_t i = 0; i < COUNT_OF(choices); i++) {
        json_auto_t *choice = json_loads(choices[i], 0, NULL);
        json_auto_t *offered = tool_set_offer(&set, choice);

        assert_true(json_equal(offered, whole));
        assert_int_equal(tool_choice_offers(&set, choice, tool_set_find(&set, "f")), i < 2);
        assert_int_equal(tool_choice_offers(&set, choice, tool_set_find(&set, "one")), i == 2);
    }
    tool_set_clear(&set);
}

/* The names of the functions that may be called, in one string. */
static void assert_callable(const struct tool_set *set, const char *choice, const char *names)
{
    json_auto_t *given = json_loads(choice, 0, NULL);
    AUTO_BUF got = {0};

    for (size_t i = 0; i < set->count; i++)
        if (tool_choice_offers(set, given, &set->uses[i]))
            buf_addf(&got, "%s ", set->uses[i].name);
    assert_string_equal(got.data, names);
}

/* The names of the functions that are offered, in one string. */
static void assert_offered(const struct tool_set *set, const char *choice, const char *names)
{
    json_auto_t *given = choice ? json_loads(choice, JSON_DECODE_ANY, NULL) : NULL;
    json_auto_t *offered = tool_set_offer(set, given);
    AUTO_BUF got = {0};
    size_t i;
    json_t *tool;

    json_array_foreach (offered, i, tool) {
        const char *name = json_get_string(json_object_get(tool, "function"), "name", "");

        assert_true(tool_choice_offers(set, given, tool_set_find(set, name)) ||
                    json_is_string(given));
        buf_addf(&got, "%s ", name);
    }
    assert_string_equal(got.data, names);
}

static const char several[] =
    "[{\"type\":\"function\",\"name\":\"f\"},{\"type\":\"shell\"}," GROUP "},"
    "{\"type\":\"namespace\",\"name\":\"crm\",\"tools\":["
    "{\"type\":\"function\",\"name\":\"f\"},{\"type\":\"custom\",\"name\":\"c\"}]}]";

TEST(tool_choice_allows_tools_of_every_kind)
{
    struct tool_set set;

    assert_int_equal(init(&set, several, NULL), 0);
    assert_offered(&set, NULL, "f shell one two crm__f crm__c ");
    assert_offered(&set, "\"none\"", "f shell one two crm__f crm__c ");
    assert_callable(
        &set, ALLOW("auto", "{\"type\":\"shell\"},{\"type\":\"mcp\",\"server_label\":\"l\"}"),
        "shell one two ");
    assert_callable(&set, ALLOW("auto", "{\"type\":\"namespace\",\"name\":\"crm\"}"),
                    "crm__f crm__c ");
    assert_callable(&set,
                    ALLOW("auto", "{\"type\":\"mcp\",\"server_label\":\"l\",\"name\":\"two\"}"),
                    "two ");
    assert_choice(&set, ALLOW("required", "{\"type\":\"mcp\",\"server_label\":\"l\"}"),
                  "\"required\"");
    assert_choice(&set, ALLOW("required", "{\"type\":\"shell\"}"),
                  "{\"type\":\"function\",\"function\":{\"name\":\"shell\"}}");
    assert_offered(&set, "{\"type\":\"mcp\",\"server_label\":\"l\"}", "one two ");
    assert_choice(&set, "{\"type\":\"mcp\",\"server_label\":\"l\"}", "\"required\"");
    assert_choice(&set, "{\"type\":\"shell\"}",
                  "{\"type\":\"function\",\"function\":{\"name\":\"shell\"}}");
    tool_set_clear(&set);
}

TEST(tool_choice_none_means_that_nothing_may_be_called)
{
    struct tool_set set;
    json_auto_t *none = json_string("none");
    json_auto_t *required = json_string("required");

    assert_int_equal(init(&set, several, NULL), 0);
    assert_false(tool_choice_offers(&set, none, tool_set_find(&set, "f")));
    assert_true(tool_choice_offers(&set, required, tool_set_find(&set, "f")));
    assert_ptr_equal(tool_choice_standing(none), none);
    assert_null(tool_choice_standing(required));
    tool_set_clear(&set);
}

static void assert_no_choice(const struct tool_set *set, const char *choice, const char *text)
{
    json_auto_t *given = json_loads(choice, JSON_DECODE_ANY, NULL);
    struct err err = {0};

    assert_int_equal(tool_choice_check(set, given, &err), ERR_INVALID);
    assert_string_equal(err.text, text);
    assert_string_equal(err.place, "tool_choice");
}

TEST(tool_choice_of_a_missing_tool_is_refused)
{
    struct tool_set set;

    assert_int_equal(init(&set, several, NULL), 0);
    assert_no_choice(&set, "{\"type\":\"function\",\"name\":\"g\"}",
                     "Tool choice 'g' not found in 'tools' parameter.");
    assert_no_choice(&set, "{\"type\":\"custom\",\"name\":\"f\"}",
                     "Tool choice 'f' not found in 'tools' parameter.");
    assert_no_choice(&set, "{\"type\":\"apply_patch\"}",
                     "Tool choice 'apply_patch' not found in 'tools' parameter.");
    assert_no_choice(&set,
                     "{\"type\":\"allowed_tools\",\"mode\":\"auto\",\"tools\":["
                     "{\"type\":\"shell\"},{\"type\":\"mcp\",\"server_label\":\"m\"}]}",
                     "Tool choice 'm' not found in 'tools' parameter.");
    tool_set_clear(&set);
    assert_int_equal(init(&set, "[]", NULL), 0);
    assert_no_choice(&set, "\"required\"",
                     "Tool choice 'required' must be specified with 'tools' parameter.");
    tool_set_clear(&set);
}

TEST(tool_set_members_of_a_namespace_have_two_names)
{
    const struct tool_use *use;
    struct tool_set set;

    assert_int_equal(init(&set, several, NULL), 0);
    use = tool_set_find(&set, "crm__f");
    assert_non_null(use);
    assert_string_equal(use->own, "f");
    assert_string_equal(use->space, "crm");
    assert_null(tool_set_find(&set, "f")->space);
    tool_set_clear(&set);
}

#define DEFERRED "{\"type\":\"function\",\"name\":\"late\",\"defer_loading\":true}"

TEST(tool_set_deferred_tools_wait_for_a_search_of_the_client)
{
    char body[] = "{\"tools\":[{\"type\":\"function\",\"name\":\"late\"},"
                  "{\"type\":\"function\",\"name\":\"new\"},{\"type\":\"web_search\"}]}";
    struct item_row item = {.type = ITEM_TOOL_SEARCH_OUTPUT, .body = body};
    struct tool_set set;

    assert_int_equal(init(&set, "[" DEFERRED "]", NULL), 0);
    assert_offered(&set, NULL, "late ");
    tool_set_clear(&set);
    assert_int_equal(init(&set, "[" DEFERRED ",{\"type\":\"tool_search\"}]", NULL), 0);
    assert_offered(&set, NULL, "late ");
    tool_set_clear(&set);
    assert_int_equal(
        init(&set, "[" DEFERRED ",{\"type\":\"tool_search\",\"execution\":\"client\"}]", NULL),
        0);
    assert_offered(&set, NULL, "tool_search ");
    tool_set_load_items(&set, &item, 1);
    assert_offered(&set, NULL, "tool_search late new ");
    tool_set_clear(&set);
}

static json_t *namespace_of(unsigned number, unsigned members)
{
    json_t *tools = json_array();
    char name[32];

    for (unsigned i = 0; i < members; i++) {
        (void)snprintf(name, sizeof(name), "f%u", i);
        json_array_append_new(tools,
                              json_build("{s:s, s:s}", "type", "function", "name", name));
    }
    (void)snprintf(name, sizeof(name), "n%u", number);
    return json_build("{s:s, s:s, s:o}", "type", "namespace", "name", name, "tools", tools);
}

TEST(tool_set_has_a_limit)
{
    json_auto_t *tools = json_array();
    json_auto_t *body = json_build("{s:O}", "tools", tools);
    AUTO_FREE char *text = NULL;
    struct item_row items[2] = {{.type = ITEM_ADDITIONAL_TOOLS},
                                {.type = ITEM_ADDITIONAL_TOOLS}};
    struct tool_set set;
    struct err err = {0};

    for (unsigned i = 0; i < 8; i++)
        json_array_append_new(tools, namespace_of(i, 127));
    assert_int_equal(tool_set_init(&set, tools, &unset, &err), ERR_OK);
    tool_set_clear(&set);

    text = json_text(body);
    items[0].body = items[1].body = text;
    assert_int_equal(tool_set_init(&set, NULL, &unset, NULL), ERR_OK);
    tool_set_load_items(&set, items, 2); /* the older one is too much */
    assert_int_equal(set.count, 8 * 127);
    tool_set_clear(&set);

    json_array_append_new(tools, namespace_of(8, 127));
    assert_int_equal(tool_set_init(&set, tools, &unset, &err), ERR_INVALID);
    assert_string_equal(err.place, "tools[8]");
}

TEST(tool_set_hidden_tools_are_offered_but_not_listed)
{
    struct tool_set set;
    json_auto_t *offered = NULL;
    json_auto_t *listed = NULL;

    assert_int_equal(init(&set, "[" GROUP "}]", NULL), 0);
    offered = tool_set_offer(&set, NULL);
    listed = tool_set_listing(&set, "l");
    assert_int_equal(json_array_size(offered), 2);
    assert_int_equal(json_array_size(listed), 1);
    tool_set_clear(&set);
}

#define SERVER(label)                             \
    "{\"type\":\"mcp\",\"server_label\":\"" label \
    "\",\"server_url\":\"https://example.com/mcp\"}"

static void add_listed(struct tool_set *set, size_t server, const char *text)
{
    json_auto_t *tools = json_parse_own(text);

    tool_set_add_remote(set, &set->servers[server], tools);
}

TEST(tool_set_names_tools_of_servers_by_both_names)
{
    struct tool_set set;
    const struct tool_use *use;

    assert_int_equal(init(&set, "[" SERVER("a") "," SERVER("b") "," GROUP "}]", NULL), 0);
    assert_int_equal(set.server_count, 2);
    assert_int_equal(set.servers[1].index, 1);
    add_listed(&set, 0,
               "[{\"name\":\"one\",\"description\":\"A's.\",\"input_schema\":{\"x\":1}},"
               "{\"name\":\"one\",\"input_schema\":{}},{\"name\":\"no schema\"},7]");
    add_listed(&set, 1, "[{\"name\":\"one\",\"input_schema\":{}}]");
    assert_int_equal(set.count, 4);
    use = tool_set_find(&set, "a__one");
    assert_non_null(use);
    assert_string_equal(use->own, "one");
    assert_string_equal(use->label, "a");
    assert_string_equal(use->handler->description, "A's.");
    assert_false(tool_use_is_clients(use));
    assert_null(use->handler->item);
    assert_int_equal(use->handler->flags, TOOL_FOREIGN);
    assert_non_null(tool_set_find(&set, "b__one"));
    assert_non_null(tool_set_find(&set, "one"));
    tool_set_clear(&set);
}

TEST(tool_choice_may_await_a_server)
{
    json_auto_t *of_a = json_build("{s:s, s:s}", "type", "mcp", "server_label", "a");
    json_auto_t *of_c = json_build("{s:s, s:s}", "type", "mcp", "server_label", "c");
    json_auto_t *required = json_string("required");
    json_auto_t *word = NULL;
    struct tool_set set;

    assert_int_equal(init(&set, "[" SERVER("a") "]", NULL), 0);
    assert_int_equal(tool_choice_check(&set, of_a, NULL), ERR_OK);
    assert_int_equal(tool_choice_check(&set, required, NULL), ERR_OK);
    assert_int_equal(tool_choice_check(&set, of_c, NULL), ERR_INVALID);
    assert_null(tool_choice_upstream(&set, required));
    assert_null(tool_choice_upstream(&set, of_a));
    add_listed(&set, 0, "[{\"name\":\"one\",\"input_schema\":{}}]");
    word = tool_choice_upstream(&set, of_a);
    assert_string_equal(json_string_value(word), "required");
    tool_set_clear(&set);
}

/* A run that turns the group "h" on. Its model is `word`. */
static struct run_settings words(const char *word)
{
    json_t *request =
        json_build("{s:s, s:{s:{s:b}}}", "model", word, "runnel", "tool_groups", "h", 1);
    struct run_settings settings;

    run_settings_read(&settings, request);
    return settings;
}

/* The only tool is offered and listed with the same description each time. */
static void expect_made(const char *word)
{
    CLEANUP(run_settings_clear) struct run_settings settings = words(word);
    json_auto_t *parameters = NULL;
    struct tool_set set;

    inits = 0;
    assert_int_equal(tool_set_init(&set, NULL, &settings, NULL), ERR_OK);
    for (int i = 0; i < 2; i++) {
        json_auto_t *offered = tool_set_offer(&set, NULL);
        json_auto_t *listed = tool_set_listing(&set, "h");
        const json_t *shown = json_object_get(json_array_get(offered, 0), "function");

        assert_string_equal(json_get_string(shown, "description", ""), word);
        assert_string_equal(json_get_string(json_array_get(listed, 0), "description", ""),
                            word);
    }
    parameters = tool_use_parameters(tool_set_find(&set, "made"));
    assert_string_equal(json_get_string(parameters, "title", ""), word);
    assert_int_equal(inits, 1);
    tool_set_clear(&set);
}

/* F73 */
TEST(a_tool_is_made_once_for_each_run)
{
    expect_made("one");
    expect_made("two");
}

/* F73 */
TEST(a_run_may_lack_a_tool)
{
    CLEANUP(run_settings_clear) struct run_settings settings = words("none");
    struct tool_set set;

    assert_int_equal(tool_set_init(&set, NULL, &settings, NULL), ERR_OK);
    assert_null(tool_set_offer(&set, NULL));
    assert_null(tool_set_find(&set, "made"));
    tool_set_clear(&set);
}

/* F80 */
TEST(a_group_of_the_operator_is_on_until_a_request_turns_it_off)
{
    json_auto_t *none = json_build("{s:b}", "g", 0);
    json_auto_t *some = json_build("{s:{s:{s:b}}}", "g", "tools", "two", 0);
    const struct run_settings off = {.tool_groups = none};
    const struct run_settings fewer = {.tool_groups = some};
    json_auto_t *own = json_build("[{s:s, s:s}]", "type", "function", "name", "one");
    struct tool_set set;

    tool_registry_turn_on("g");
    assert_int_equal(tool_set_init(&set, NULL, &unset, NULL), ERR_OK);
    assert_int_equal(set.count, 2);
    tool_set_clear(&set);
    assert_int_equal(tool_set_init(&set, NULL, &off, NULL), ERR_OK);
    assert_int_equal(set.count, 0);
    tool_set_clear(&set);
    assert_int_equal(tool_set_init(&set, NULL, &fewer, NULL), ERR_OK);
    assert_int_equal(set.count, 1);
    tool_set_clear(&set);

    /* A tool of the request with the same name replaces the group's. */
    assert_int_equal(tool_set_init(&set, own, &unset, NULL), ERR_OK);
    assert_int_equal(set.count, 2);
    assert_true(tool_use_is_clients(tool_set_find(&set, "one")));
    tool_set_clear(&set);
    assert_int_equal(tool_set_init(&set, own, &fewer, NULL), ERR_INVALID);
    tool_registry_set(all);
}

/* Tools offered with these settings, this object of the request, and its tools. */
static size_t offered_with(const char *settings, const char *runnel, const char *tools)
{
    json_auto_t *said = json_loads(settings, 0, NULL);
    json_auto_t *asked = json_loads(runnel, 0, NULL);
    json_auto_t *list = json_loads(tools, 0, NULL);
    const struct run_settings given = {.tool_groups = json_object_get(asked, "tool_groups"),
                                       .project_tool_groups =
                                           json_object_get(said, "tool_groups")};
    struct tool_set set;
    size_t count;

    assert_int_equal(tool_set_init(&set, list, &given, NULL), ERR_OK);
    count = set.count;
    tool_set_clear(&set);
    return count;
}

#define ON      "{\"tool_groups\":{\"g\":true}}"
#define OFF     "{\"tool_groups\":{\"g\":{\"enabled\":false}}}"
#define ONE_OFF "{\"tool_groups\":{\"g\":{\"tools\":{\"one\":false}}}}"

/* F49 */
TEST(settings_override_the_operator_and_the_request_overrides_them)
{
    assert_int_equal(offered_with(ON, "{}", "[]"), 2);
    assert_int_equal(offered_with(ON, OFF, "[]"), 0);
    assert_int_equal(offered_with(OFF, ON, "[]"), 2);
    assert_int_equal(offered_with(OFF, ONE_OFF, "[]"), 0);
    assert_int_equal(offered_with(OFF, "{}", "[" GROUP "}]"), 0);
    assert_int_equal(offered_with(ONE_OFF, "{}", "[" GROUP "}]"), 1);
    assert_int_equal(offered_with(ONE_OFF, ON, "[]"), 1);
    assert_int_equal(offered_with(ONE_OFF, "{}", "[]"),
                     0); /* they turn one tool off, and nothing on */
    tool_registry_turn_on("g");
    assert_int_equal(offered_with(OFF, "{}", "[]"), 0);
    assert_int_equal(offered_with(ONE_OFF, "{}", "[]"), 1);
    tool_registry_set(all);
}

/* F49 */
TEST(a_group_of_settings_gives_way_to_a_tool_of_the_request)
{
    assert_int_equal(offered_with(ON, "{}", "[{\"type\":\"function\",\"name\":\"one\"}]"), 2);
}

/* F49 */
TEST(settings_may_name_groups_that_no_longer_exist)
{
    assert_int_equal(offered_with("{\"tool_groups\":{\"gone\":true,"
                                  "\"g\":{\"enabled\":true,\"tools\":{\"gone\":true}}}}",
                                  "{}", "[]"),
                     2);
}

TEST(tool_set_wants_a_label_for_each_server)
{
    struct tool_set set;
    struct err err;

    assert_int_equal(init(&set, "[" SERVER("a") "," SERVER("a") "]", &err), ERR_INVALID);
    assert_string_equal(err.place, "tools[1].server_label");
}

TEST(items_bring_no_servers)
{
    char body[] = "{\"tools\":[" SERVER("a") "," GROUP "}]}";
    struct item_row item = {.type = ITEM_ADDITIONAL_TOOLS, .body = body};
    struct tool_set set;

    assert_int_equal(init(&set, "[]", NULL), 0);
    tool_set_load_items(&set, &item, 1);
    assert_int_equal(set.server_count, 0);
    assert_non_null(tool_set_find(&set, "one"));
    tool_set_clear(&set);
}

/* ---- Secrets ---- */

TEST(secrets_are_kept_apart_by_place)
{
    json_auto_t *tools =
        json_parse_own("[{\"type\":\"function\",\"name\":\"f\"},"
                       "{\"type\":\"mcp\",\"authorization\":\"tok\",\"headers\":{\"X\":\"y\"}},"
                       "{\"type\":\"mcp\",\"authorization\":null,\"headers\":{}}]");
    json_auto_t *secrets = tool_secrets_of(tools);
    json_auto_t *stripped = tool_secrets_strip(tools);
    json_auto_t *nothing = tool_secrets_of(stripped);
    AUTO_FREE char *apart = json_text(secrets);
    AUTO_FREE char *rest = json_text(stripped);

    assert_string_equal(apart,
                        "[null,{\"authorization\":\"tok\",\"headers\":{\"X\":\"y\"}},null]");
    assert_string_equal(rest, "[{\"type\":\"function\",\"name\":\"f\"},"
                              "{\"type\":\"mcp\",\"had_secrets\":true},{\"type\":\"mcp\"}]");
    assert_true(tool_had_secrets(json_array_get(stripped, 1)));
    assert_false(tool_had_secrets(json_array_get(stripped, 2)));
    assert_null(nothing);
    assert_string_equal(json_get_string(json_array_get(tools, 1), "authorization", ""), "tok");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tool_set_knows_who_executes_a_tool),
        cmocka_unit_test(tool_set_takes_functions_of_both_apis),
        cmocka_unit_test(tool_set_allowed_tools_of_an_entry_narrow_the_group),
        cmocka_unit_test(tool_set_refuses_entries_that_it_cannot_resolve),
        cmocka_unit_test(permissions_name_existing_tools),
        cmocka_unit_test(tool_set_bella_B5_every_tool_choice_reaches_the_model),
        cmocka_unit_test(tool_choice_allowed_tools_leave_the_list_as_it_is),
        cmocka_unit_test(tool_choice_allows_tools_of_every_kind),
        cmocka_unit_test(tool_choice_none_means_that_nothing_may_be_called),
        cmocka_unit_test(tool_choice_of_a_missing_tool_is_refused),
        cmocka_unit_test(tool_set_members_of_a_namespace_have_two_names),
        cmocka_unit_test(tool_set_deferred_tools_wait_for_a_search_of_the_client),
        cmocka_unit_test(tool_set_has_a_limit),
        cmocka_unit_test(tool_set_hidden_tools_are_offered_but_not_listed),
        cmocka_unit_test(tool_set_names_tools_of_servers_by_both_names),
        cmocka_unit_test(tool_choice_may_await_a_server),
        cmocka_unit_test(a_tool_is_made_once_for_each_run),
        cmocka_unit_test(a_run_may_lack_a_tool),
        cmocka_unit_test(a_group_of_the_operator_is_on_until_a_request_turns_it_off),
        cmocka_unit_test(settings_override_the_operator_and_the_request_overrides_them),
        cmocka_unit_test(a_group_of_settings_gives_way_to_a_tool_of_the_request),
        cmocka_unit_test(settings_may_name_groups_that_no_longer_exist),
        cmocka_unit_test(tool_set_wants_a_label_for_each_server),
        cmocka_unit_test(items_bring_no_servers),
        cmocka_unit_test(secrets_are_kept_apart_by_place),
    };

    return cmocka_run_group_tests(tests, set_registry, NULL);
}
