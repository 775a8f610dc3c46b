#ifndef RUNNEL_HANDLERS_HANDLERS_H
#define RUNNEL_HANDLERS_HANDLERS_H

#include "core/tool/group.h"
#include "core/tool/tool.h"
#include "core/tool/tool_item.h"

/*
 * handlers.h -- the list of all tools and all groups.
 *
 * A new tool is one file in the folder of its group, which ends in a descriptor called <name>_handler, and
 * one line in a list below: X(<name>). README.md has the recipe.
 */

/* clang-format off */

/* Definition-only: the client executes. */
#define CLIENT_HANDLERS(X)        \
    X(function)                   \
    X(custom)                     \
    X(local_shell)                \
    X(shell)                      \
    X(apply_patch)                \
    X(computer)                   \
    X(computer_use_preview)       \
    X(tool_search)

/* Groups "basic", "vars" and "skills", in the order in which models are offered them. */
#define SERVER_HANDLERS(X)        \
    X(datetime)                   \
    X(text)                       \
    X(json2interface)             \
    X(list_vars)                  \
    X(read_var)                   \
    X(write_var)                  \
    X(remove_vars)                \
    X(skill)                      \
    X(file_search)                \
    X(code_interpreter)           \
    X(container_shell)            \
    X(container_patch)            \
    X(program)                    \
    X(image_generation)           \
    X(web_search)                 \
    X(open_page)                  \
    X(find_in_page)               \
    X(list_documents)             \
    X(read_document)              \
    X(search_document)            \
    X(retrieval)                  \
    X(read_files)                 \
    X(create_document)            \
    X(append_document)            \
    X(edit_document)              \
    X(read)                       \
    X(write)                      \
    X(edit)                       \
    X(glob)                       \
    X(grep)                       \
    X(bash)                       \
    X(fs_view)                    \
    X(fs_list)                    \
    X(fs_inspect)                 \
    X(fs_glob)                    \
    X(fs_grep)                    \
    X(fs_search_replace)          \
    X(fs_write_file)              \
    X(fs_file_ops)                \
    X(script_shell)               \
    X(script_python)              \
    X(script_javascript)          \
    X(script_pandoc)              \
    X(script_custom)              \
    X(bing_search)                \
    X(google_search)              \
    X(tavily_search)              \
    X(bocha_search)               \
    X(fetch_web_page)             \
    X(search_in_web_page)         \
    X(extract_html)               \
    X(inspect_dom_structure)

#define SERVER_GROUPS(X)         \
    X(basic)                     \
    X(vars)                      \
    X(skills)                    \
    X(documents)             \
    X(code)                      \
    X(files)                     \
    X(script)                    \
    X(web)

/* Groups "test" and "careful", only in builds with RUNNEL_TEST_HANDLERS. */
#ifdef RUNNEL_TEST_HANDLERS
#define TEST_HANDLERS(X)          \
    X(test_slow)                  \
    X(test_stream)                \
    X(test_outside)               \
    X(test_backwards)             \
    X(test_pages)                 \
    X(test_short)                 \
    X(test_whole)                 \
    X(test_unkept)                \
    X(test_fail)                  \
    X(test_final)                 \
    X(test_final_image)           \
    X(test_hidden)                \
    X(test_stubborn)              \
    X(test_image)                 \
    X(test_search)                \
    X(test_cite)                  \
    X(test_web)                   \
    X(test_code)                  \
    X(test_echo_context)          \
    X(test_greet)                 \
    X(test_careful)               \
    X(test_data)                  \
    X(test_lines)                 \
    X(test_brief)                 \
    X(test_notes)                 \
    X(test_ends)                  \
    X(test_ends_final)            \
    X(test_ends_hidden)           \
    X(test_number)                \
    X(test_count)                 \
    X(test_count_idempotent)      \
    X(test_weather)
#define TEST_GROUPS(X) X(test)
#else
#define TEST_HANDLERS(X)
#define TEST_GROUPS(X)
#endif

#define ALL_HANDLERS(X) CLIENT_HANDLERS(X) SERVER_HANDLERS(X) TEST_HANDLERS(X)
#define ALL_GROUPS(X)   SERVER_GROUPS(X) TEST_GROUPS(X)
/* clang-format on */

/* Registers all handlers and groups; a second call starts over. At start, before other threads exist. */
void handlers_register(void);

/* Each ends with NULL. */
extern const struct tool_handler *const all_handlers[];
extern const struct tool_group *const all_groups[];

#define DECLARE_HANDLER(name) extern const struct tool_handler name##_handler;
#define DECLARE_GROUP(name)   extern const struct tool_group name##_group;
ALL_HANDLERS(DECLARE_HANDLER)
ALL_GROUPS(DECLARE_GROUP)

/* The items of OpenAI's hosted tools, for the handlers that execute them. */
extern const struct tool_item file_search_item;
extern const struct tool_item web_search_item;
extern const struct tool_item image_generation_item;
extern const struct tool_item code_interpreter_item;

#endif
