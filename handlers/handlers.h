#ifndef RUNNEL_HANDLERS_HANDLERS_H
#define RUNNEL_HANDLERS_HANDLERS_H

#include "core/tool/group.h"
#include "core/tool/tool.h"
#include "core/tool/tool_item.h"

/*
 * handlers.h -- all tools.
 *
 * A new tool is one file with one descriptor, one line below and one line in handlers.c.
 */

/* Puts all tools and groups into the registry; doing it again changes nothing. At start, before there
 * are other threads. */
void handlers_register(void);

/* The lists; each ends with NULL. */

extern const struct tool_handler *const all_handlers[];
extern const struct tool_group *const all_groups[];

/* Definition-only: the client executes. */
extern const struct tool_handler function_handler;
extern const struct tool_handler custom_handler;
extern const struct tool_handler local_shell_handler;
extern const struct tool_handler shell_handler;
extern const struct tool_handler apply_patch_handler;
extern const struct tool_handler computer_handler;
extern const struct tool_handler computer_use_preview_handler;
extern const struct tool_handler tool_search_handler;

/* Groups "basic", "vars" and "skills". */
extern const struct tool_group basic_group;
extern const struct tool_group vars_group;
extern const struct tool_group skills_group;
extern const struct tool_handler datetime_handler;
extern const struct tool_handler text_handler;
extern const struct tool_handler json2interface_handler;
extern const struct tool_handler list_vars_handler;
extern const struct tool_handler read_var_handler;
extern const struct tool_handler write_var_handler;
extern const struct tool_handler remove_vars_handler;
extern const struct tool_handler skill_handler;

/* The items of OpenAI's hosted tools, for the handlers that execute them. */
extern const struct tool_item file_search_item;
extern const struct tool_item web_search_item;
extern const struct tool_item image_generation_item;
extern const struct tool_item code_interpreter_item;

/* Group "test", only in builds with RUNNEL_TEST_HANDLERS. */
extern const struct tool_group test_group;
extern const struct tool_handler test_slow_handler;
extern const struct tool_handler test_brief_handler;
extern const struct tool_handler test_backwards_handler;
extern const struct tool_handler test_outside_handler;
extern const struct tool_handler test_stream_handler;
extern const struct tool_handler test_pages_handler;
extern const struct tool_handler test_short_handler;
extern const struct tool_handler test_whole_handler;
extern const struct tool_handler test_unkept_handler;
extern const struct tool_handler test_fail_handler;
extern const struct tool_handler test_final_handler;
extern const struct tool_handler test_final_image_handler;
extern const struct tool_handler test_hidden_handler;
extern const struct tool_handler test_stubborn_handler;
extern const struct tool_handler test_image_handler;
extern const struct tool_handler test_search_handler;
extern const struct tool_handler test_web_handler;
extern const struct tool_handler test_code_handler;
extern const struct tool_handler test_echo_context_handler;
extern const struct tool_handler test_greet_handler;
extern const struct tool_handler test_careful_handler;
extern const struct tool_handler test_data_handler;
extern const struct tool_handler test_lines_handler;
extern const struct tool_handler test_notes_handler;
extern const struct tool_handler test_ends_handler, test_ends_final_handler,
    test_ends_hidden_handler;
extern const struct tool_handler test_number_handler;
extern const struct tool_handler test_count_handler;
extern const struct tool_handler test_count_idempotent_handler;

#endif
