/* The group script in a real box: output, injected variables, ends, limits. F53. Skipped where a machine has no user
 * namespaces; a tool whose program is missing is skipped by itself. */

#include <stdio.h>
#include <unistd.h>

#include "tests/unit/handlers/code/boxed_run.h"

/* It ran and has failed; the model reads all of this. */
static void assert_fails_with(const struct tool_handler *handler, const char *args,
                              const char *expected)
{
    AUTO_OUTCOME outcome = call_tool(handler, args);

    assert_string_equal(outcome.text, expected);
    assert_int_equal(outcome.end.result.status, TOOL_ERROR);
}

static void assert_refused(const struct tool_handler *handler, const char *args, bool planning,
                           enum err_code code, const char *words)
{
    AUTO_OUTCOME outcome = call_in_workspace(handler, args, planning, test_box);

    assert_int_equal(outcome.end.rc, code);
    if (!strstr(outcome.end.error.text, words))
        fail_msg("%s", outcome.end.error.text);
}

static void skip_without(const char *program)
{
    if (access(program, X_OK) != 0) {
        printf("SKIPPED (no %s)\n", program);
        skip();
    }
}

/* ---- Shell ---- */

TEST(a_shell_script_shows_both_streams)
{
    assert_says(&script_shell_handler, "{'command':'echo a; echo b >&2; pwd'}",
                "[stdout]\na\n/mnt/data\n\n[stderr]\nb");
    ground_make_folder("sub");
    assert_says(&script_shell_handler, "{'command':'pwd','directory':'sub'}",
                "[stdout]\n/mnt/data/sub\n\n[stderr]\n");
    assert_refused(&script_shell_handler, "{'command':'pwd','directory':'none'}", false,
                   ERR_NOT_FOUND, "none does not exist");
    assert_refused(&script_shell_handler, "{'command':'pwd','directory':'/etc'}", false,
                   ERR_FORBIDDEN, "/etc is outside of the workspace.");
}

TEST(a_shell_script_that_fails_is_an_error_with_its_output)
{
    assert_fails_with(&script_shell_handler, "{'command':'echo a; exit 3'}",
                      "Shell execution error: exit code 3\n[stdout]\na\n\n[stderr]\n");
    assert_fails_with(
        &script_shell_handler, "{'command':'echo a; kill -9 $$'}",
        "Shell execution error: exit code 137 (killed by signal 9)\n[stdout]\na\n\n"
        "[stderr]\n");
}

TEST(variables_are_in_a_shell_script_and_its_environment)
{
    assert_says(&script_shell_handler,
                "{'command':'echo \\\"$a|$n\\\"; printenv a; cat /tmp/call/vars/o',"
                "'injectVar':{'a':'x `id` $(id)\\n\\n','n':7,'o':{'k':[1]}}}",
                "[stdout]\nx `id` $(id)\n\n|7\nx `id` $(id)\n\n\n{\"k\":[1]}\n\n[stderr]\n");
}

static char *large_call(const char *key, const char *code)
{
    AUTO_FREE char *many = mem_new_array(char, 300001);

    memset(many, 'x', 300000);
    many[300000] = '\0';
    return mem_printf("{'%s':'%s','injectVar':{'big':'%s','small':'s'}}", key, code, many);
}

TEST(a_large_variable_is_no_part_of_the_environment)
{
    AUTO_FREE char *shell =
        large_call("command", "echo ${#big}; wc -c < /tmp/call/vars/big; env | grep -cE ^big=; "
                              "env | grep ^small; true");
    AUTO_FREE char *python =
        large_call("code", "import os; print(len(big), small, os.environ.get(\\\"big\\\"), "
                           "os.environ[\\\"small\\\"])");

    assert_says(&script_shell_handler, shell,
                "[stdout]\n300000\n300000\n0\nsmall=s\n\n[stderr]\n");
    assert_says(&script_python_handler, python, "[stdout]\n300000 s None s\n\n[stderr]\n");
}

TEST(names_that_choose_programs_are_refused_before_a_person_is_asked)
{
    static const char *const names[] = {"PATH",         "LD_PRELOAD", "PYTHONPATH", "BASH_ENV",
                                        "NODE_OPTIONS", "GIT_SSH",    "IFS"};

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        AUTO_FREE char *args =
            mem_printf("{'command':'true','injectVar':{'%s':'x'}}", names[i]);

        assert_refused(&script_shell_handler, args, true, ERR_INVALID, "must not be set");
        assert_refused(&script_shell_handler, args, false, ERR_INVALID, "must not be set");
    }
    assert_refused(&script_python_handler, "{'code':'1','injectVar':{'a-b':1}}", true,
                   ERR_INVALID, "cannot be the name of a variable");
    assert_refused(&script_javascript_handler, "{'code':'1','injectVar':{'1a':1}}", true,
                   ERR_INVALID, "cannot be the name of a variable");
}

/* ---- Python ---- */

TEST(a_python_script_has_its_variables_as_values)
{
    assert_says(
        &script_python_handler,
        "{'code':'import os\\nprint(data[\\\"a\\\"][1], n + 1, t, __name__, os.getcwd())',"
        "'injectVar':{'data':{'a':[1,2]},'n':3,'t':'\\\\ \\\"q\\\"'}}",
        "[stdout]\n2 4 \\ \"q\" __main__ /mnt/data\n\n[stderr]\n");
}

TEST(a_python_script_that_raises_shows_its_own_lines)
{
    assert_fails_with(&script_python_handler,
                      "{'code':'print(1)\\nraise ValueError(\\\"no\\\")'}",
                      "Python execution error: exit code 1\n[stdout]\n1\n\n[stderr]\n"
                      "Traceback (most recent call last):\n"
                      "  File \"/tmp/call/script.py\", line 2, in <module>\n"
                      "    raise ValueError(\"no\")\nValueError: no");
    assert_fails_with(&script_python_handler, "{'code':'import sys; sys.exit(4)'}",
                      "Python execution error: exit code 4\n[stdout]\n\n\n[stderr]\n");
}

TEST(a_script_can_be_kept)
{
    ground_make_folder("sub");
    assert_says(&script_python_handler,
                "{'code':'print(__file__)','directory':'sub','keepFile':true}",
                "[stdout]\n/mnt/data/sub/script_call_1.py\n\n[stderr]\n\n[file]\n"
                "/mnt/data/sub/script_call_1.py");
    assert_refused(&script_python_handler,
                   "{'code':'print(2)','directory':'sub','keepFile':true}", false, ERR_CONFLICT,
                   "script_call_1.py");
    assert_says(&script_shell_handler, "{'command':'cat sub/script_call_1.py; ls'}",
                "[stdout]\nprint(__file__)sub\n\n[stderr]\n");
}

/* ---- JavaScript ---- */

TEST(javascript_shows_what_it_prints_and_what_it_returns)
{
    skip_without("/usr/bin/node");
    assert_says(&script_javascript_handler,
                "{'code':'console.log(1, \\\"a\\\"); return {b: [2]}'}",
                "1 a\n\nReturn value: {\"b\":[2]}");
    assert_says(&script_javascript_handler, "{'code':'x.length + 1','injectVar':{'x':'abc'}}",
                "Return value: 4");
    assert_says(&script_javascript_handler,
                "{'code':'console.warn(\\\"w\\\"); return await "
                "Promise.resolve(x)','injectVar':{'x':5}}",
                "Return value: 5\n\nErrors:\nw");
    assert_says(&script_javascript_handler, "{'code':'let y = 1;'}",
                "The code has run, without output.");
}

TEST(javascript_that_fails_says_why)
{
    skip_without("/usr/bin/node");
    assert_fails_with(&script_javascript_handler, "{'code':'console.log(1);\\nnone()'}",
                      "ReferenceError: none is not defined\n    at script.js:2:1");
    assert_fails_with(&script_javascript_handler, "{'code':'x = 2','injectVar':{'x':1}}",
                      "TypeError: Assignment to constant variable.\n    at script.js:1:3");
    assert_fails_with(&script_javascript_handler, "{'code':'require(\\\"fs\\\")'}",
                      "ReferenceError: require is not defined\n    at script.js:1:1");
}

TEST(javascript_has_five_seconds)
{
    skip_without("/usr/bin/node");
    assert_fails_with(&script_javascript_handler, "{'code':'console.log(1); for (;;);'}",
                      "timed out after 5 s; output so far:\n1");
    assert_box_is_empty();
}

/* ---- Pandoc ---- */

TEST(pandoc_makes_markdown_and_what_its_arguments_say)
{
    skip_without("/usr/bin/pandoc");
    ground_file("a.html", "<h1>T</h1><p>x <b>y</b></p>");
    assert_says(&script_pandoc_handler, "{'file':'a.html'}", "# T\n\nx **y**");
    assert_says(&script_pandoc_handler,
                "{'file':'a.html','customCommand':'pandoc a.html -t plain -o \\\"b c.txt\\\"'}",
                "Pandoc has run, without output.");
    assert_says(&script_shell_handler, "{'command':'cat \\\"b c.txt\\\"'}",
                "[stdout]\nT\n\nx y\n\n[stderr]\n");
}

TEST(pandoc_takes_words_and_no_shell)
{
    assert_refused(&script_pandoc_handler, "{'file':'a','customCommand':'a | sh'}", true,
                   ERR_INVALID, "no patterns, variables, pipes");
    assert_refused(&script_pandoc_handler, "{'file':'a','customCommand':'-s $HOME'}", true,
                   ERR_INVALID, "quote a word");
    assert_refused(&script_pandoc_handler, "{'file':'/etc/passwd'}", true, ERR_FORBIDDEN,
                   "/etc/passwd is outside of the workspace.");
    assert_refused(&script_pandoc_handler, "{'file':'none'}", false, ERR_NOT_FOUND,
                   "none does not exist");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOXED(a_shell_script_shows_both_streams),
        BOXED(a_shell_script_that_fails_is_an_error_with_its_output),
        BOXED(variables_are_in_a_shell_script_and_its_environment),
        BOXED(a_large_variable_is_no_part_of_the_environment),
        BOXED(names_that_choose_programs_are_refused_before_a_person_is_asked),
        BOXED(a_python_script_has_its_variables_as_values),
        BOXED(a_python_script_that_raises_shows_its_own_lines),
        BOXED(a_script_can_be_kept),
        BOXED(javascript_shows_what_it_prints_and_what_it_returns),
        BOXED(javascript_that_fails_says_why),
        BOXED(javascript_has_five_seconds),
        BOXED(pandoc_makes_markdown_and_what_its_arguments_say),
        BOXED(pandoc_takes_words_and_no_shell),
    };

    return run_in_boxes(tests, sizeof(tests) / sizeof(*tests), start_boxed, boxes_stop);
}
