#include "core/base/json.h"
#include "core/run/catalog/passed_tools.h"
#include "core/run/catalog/tool_set.h"
#include "core/tool/registry.h"
#include "handlers/handlers.h"
#include "tests/support/quoted.h"
#include "tests/support/test.h"

static const struct tool_handler *const all[] = {
    &function_handler,         &web_search_handler,       &open_page_handler,
    &image_generation_handler, &code_interpreter_handler, NULL};
static const char *const any[] = {"*", NULL};
static const char *const plain_models[] = {"plain", NULL};
static const char *const chat_models[] = {"chat", NULL};
static const char *const words[] = {"web_search", "image_generation", NULL};

static const struct model_upstream upstreams[] = {
    {.name = "plain", .dialect = MODEL_DIALECT_RESPONSES, .models = plain_models},
    {.name = "chat", .dialect = MODEL_DIALECT_CHAT, .models = chat_models, .passes = words},
    {.name = "able", .dialect = MODEL_DIALECT_RESPONSES, .models = any, .passes = words},
};

static struct permission_set operators;

static int set_up(void **state)
{
    (void)state;
    tool_registry_set(all);
    permission_set_clear(&operators);
    passed_tools_set(upstreams, COUNT_OF(upstreams), &operators);
    return 0;
}

static bool takes(const char *request)
{
    CLEANUP(run_settings_clear) struct run_settings settings = {0};

    run_settings_read(&settings, quoted_json(request));
    return passed_tools_take(&settings, json_array_get(settings.tools, 0));
}

TEST(an_upstream_takes_what_its_operator_says)
{
    assert_true(takes("{'model':'m','tools':[{'type':'web_search'}]}"));
    assert_true(takes("{'model':'m','tools':[{'type':'web_search_preview_2025_03_11'}]}"));
    assert_true(takes("{'model':'m','tools':[{'type':'image_generation'}]}"));
    assert_false(takes("{'model':'plain','tools':[{'type':'web_search'}]}"));
    assert_false(takes("{'model':'chat','tools':[{'type':'web_search'}]}"));
    assert_false(takes("{'model':'m','tools':[{'type':'code_interpreter'}]}"));
    assert_false(takes("{'model':'m','tools':[{'type':'function','name':'web_search'}]}"));
    assert_false(passed_tools_take(NULL, NULL));
}

TEST(a_policy_that_asks_keeps_the_tool)
{
    json_auto_t *asks = quoted_json("{'hosted/web_search':{'execution':'ask-once'}}");

    assert_false(takes("{'model':'m','tools':[{'type':'web_search'}],'runnel':{'permissions':"
                       "{'hosted/web_search':{'execution':'ask-always'}}}}"));
    assert_false(takes("{'model':'m','tools':[{'type':'web_search'}],'runnel':{'permissions':"
                       "{'hosted':{'result':'always'}}}}"));
    permission_set_read(&operators, asks);
    assert_false(takes("{'model':'m','tools':[{'type':'web_search'}]}"));
    assert_true(takes("{'model':'m','tools':[{'type':'image_generation'}]}"));
}

TEST(a_mask_of_this_server_keeps_the_tool)
{
    assert_false(takes("{'model':'m','tools':[{'type':'image_generation',"
                       "'input_image_mask':{'file_id':'file-1'}}]}"));
    assert_true(takes("{'model':'m','tools':[{'type':'image_generation',"
                      "'input_image_mask':{'image_url':'data:image/png;base64,AA=='}}]}"));
}

TEST(a_passed_tool_is_offered_as_an_entry_and_brings_no_others_along)
{
    CLEANUP(run_settings_clear) struct run_settings settings = {0};
    CLEANUP(tool_set_clear) struct tool_set set = {0};
    json_auto_t *offered = NULL;
    json_auto_t *expected =
        quoted_json("[{'type':'web_search','filters':{'allowed_domains':['a.org']}},"
                    " {'type':'image_generation','quality':'low','partial_images':1}]");

    run_settings_read(
        &settings,
        quoted_json("{'model':'m','tools':[{'type':'web_search','user_location':{'type':"
                    "'approximate','city':null},'filters':{'allowed_domains':['a.org']}},"
                    "{'type':'image_generation','n':1,'quality':'low','size':'auto',"
                    "'moderation':'auto','output_compression':100,'partial_images':1}]}"));
    assert_int_equal(tool_set_init(&set, settings.tools, &settings, NULL), ERR_OK);
    offered = tool_set_offer(&set, NULL);
    assert_true(json_equal(offered, expected));
    assert_true(tool_set_passes(&set));
    assert_non_null(tool_set_find_passed(&set, "web_search_call"));
    assert_null(tool_set_find_passed(&set, "code_interpreter_call"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(an_upstream_takes_what_its_operator_says, set_up),
        cmocka_unit_test_setup(a_policy_that_asks_keeps_the_tool, set_up),
        cmocka_unit_test_setup(a_mask_of_this_server_keeps_the_tool, set_up),
        cmocka_unit_test_setup(a_passed_tool_is_offered_as_an_entry_and_brings_no_others_along,
                               set_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
