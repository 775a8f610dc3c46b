#include "handlers/handlers.h"

#include "core/tool/registry.h"

/* clang-format off */
const struct tool_handler *const all_handlers[] = {
    &function_handler,
    &custom_handler,
    &local_shell_handler,
    &shell_handler,
    &apply_patch_handler,
    &computer_handler,
    &computer_use_preview_handler,
    &tool_search_handler,

    &datetime_handler,
    &text_handler,
    &json2interface_handler,
    &list_vars_handler,
    &read_var_handler,
    &write_var_handler,
    &remove_vars_handler,
    &skill_handler,

#ifdef RUNNEL_TEST_HANDLERS
    &test_slow_handler,
    &test_stream_handler,
    &test_outside_handler,
    &test_backwards_handler,
    &test_pages_handler,
    &test_short_handler,
    &test_whole_handler,
    &test_unkept_handler,
    &test_fail_handler,
    &test_final_handler,
    &test_final_image_handler,
    &test_hidden_handler,
    &test_stubborn_handler,
    &test_image_handler,
    &test_search_handler,
    &test_web_handler,
    &test_code_handler,
    &test_echo_context_handler,
    &test_greet_handler,
    &test_careful_handler,
    &test_data_handler,
    &test_lines_handler,
    &test_brief_handler,
    &test_notes_handler,
    &test_ends_handler,
    &test_ends_final_handler,
    &test_ends_hidden_handler,
    &test_number_handler,
    &test_count_handler,
    &test_count_idempotent_handler,
#endif
    NULL,
};

const struct tool_group *const all_groups[] = {
    &basic_group,
    &vars_group,
    &skills_group,
#ifdef RUNNEL_TEST_HANDLERS
    &test_group,
#endif
    NULL,
};
/* clang-format on */

void handlers_register(void)
{
    tool_registry_set(all_handlers);
    tool_registry_set_groups(all_groups);
}
