/* bash, glob and grep in a real box: their words, their limits, and that they see nothing else. Skipped where a
 * machine has no user namespaces. */

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/handlers/code/boxed_run.h"

static void assert_fails(const struct tool_handler *handler, const char *args,
                         enum err_code code, const char *words)
{
    AUTO_OUTCOME outcome = call_tool(handler, args);

    assert_int_equal(outcome.end.rc, code);
    if (!strstr(outcome.end.error.text, words))
        fail_msg("%s", outcome.end.error.text);
}

/* ---- bash: F86, F87 ---- */

TEST(output_of_both_streams_comes_in_its_order)
{
    AUTO_OUTCOME outcome =
        call_tool(&bash_handler, "{'command':'echo a; echo b >&2; echo c; pwd'}");

    assert_string_equal(outcome.text, "a\nb\nc\n/mnt/data\n");
    assert_string_equal(outcome.end.result.title, "Executed: echo a; echo b >&2; echo c; pwd");
    assert_int_equal(json_get_int(outcome.end.result.metadata, "exitCode", -2), 0);
    assert_says(&bash_handler, "{'command':'true'}", "(no output)");
}

TEST(a_status_and_a_signal_are_notes)
{
    AUTO_OUTCOME outcome = call_tool(&bash_handler, "{'command':'echo a; exit 3'}");

    assert_string_equal(outcome.text, "a\n\n\n<bash_metadata>\nExit code: 3\n</bash_metadata>");
    assert_string_equal(outcome.end.result.title, "Failed (exit 3): echo a; exit 3");
    assert_says(&bash_handler, "{'command':'kill -9 $$'}",
                "(no output)\n\n<bash_metadata>\nExit code: 137 (killed by signal "
                "9)\n</bash_metadata>");
}

TEST(a_command_that_takes_too_long_keeps_its_output)
{
    assert_says(&bash_handler, "{'command':'echo a; sleep 99','timeout':300}",
                "a\n\n\n<bash_metadata>\ntimed out after 300 ms\n</bash_metadata>");
    assert_box_is_empty();
}

TEST(thirty_thousand_characters_are_shown)
{
    AUTO_OUTCOME outcome = call_tool(&bash_handler, "{'command':'yes ä | head -c 300000'}");
    const char *note = "\n\n<bash_metadata>\nOutput truncated at 30000 "
                       "characters\n</bash_metadata>";

    /* Half of the characters are line breaks, the others have two bytes. */
    assert_int_equal(strlen(outcome.text), 45000 + strlen(note));
    assert_string_equal(outcome.text + 45000, note);
}

TEST(a_folder_to_start_in_is_one_of_the_workspace)
{
    ground_make_folder("a/b");
    ground_file("file", "");
    assert_says(&bash_handler, "{'command':'pwd','working_directory':'a/b'}",
                "/mnt/data/a/b\n");
    assert_fails(&bash_handler, "{'command':'pwd','working_directory':'/etc'}", ERR_FORBIDDEN,
                 "/etc is outside of the workspace.");
    assert_fails(&bash_handler, "{'command':'pwd','working_directory':'none'}", ERR_NOT_FOUND,
                 "none does not exist.");
    assert_fails(&bash_handler, "{'command':'pwd','working_directory':'file'}", ERR_INVALID,
                 "file is no folder.");
}

TEST(a_command_has_neither_network_nor_the_servers_environment)
{
    assert_int_equal(setenv("SECRET_OF_THE_SERVER", "1", 1), 0);
    assert_says(&bash_handler,
                "{'command':'env | grep -c SECRET; cat /proc/net/route | wc -l'}", "0\n1\n");
}

TEST(what_a_command_leaves_running_is_killed)
{
    assert_says(&bash_handler, "{'command':'(setsid sleep 99 &) ; sleep 99 & echo a'}", "a\n");
    assert_box_is_empty();
}

/* ---- What a plan asks ---- */

static char *asked(const char *args, enum err_code *ret_rc)
{
    AUTO_OUTCOME outcome = call_in_workspace(&bash_handler, args, true, test_box);
    AUTO_BUF text = {0};

    *ret_rc = outcome.end.rc;
    if (outcome.end.rc)
        return mem_strdup(outcome.end.error.text);
    for (size_t i = 0; i < outcome.count; i++) {
        AUTO_FREE char *said = json_text(outcome.said[i].fields);

        buf_add_text(&text, said ? said : "");
    }
    return buf_take(&text);
}

TEST(a_plan_allows_asks_or_denies)
{
    enum err_code rc;
    AUTO_FREE char *nothing = asked("{'command':'ls -l'}", &rc);
    AUTO_FREE char *question = asked("{'command':'ls; rm a'}", &rc);
    AUTO_FREE char *refusal = NULL;

    assert_string_equal(nothing, "");
    assert_non_null(strstr(question, "\"bash\""));
    assert_non_null(strstr(question, "rm *"));
    refusal = asked("{'command':'ls && sudo id'}", &rc);
    assert_int_equal(rc, ERR_FORBIDDEN);
    assert_string_equal(refusal, "Command \"sudo\" is forbidden for security reasons");
}

/* ---- glob and grep: F101 ---- */

static void set_age(const char *path, long seconds)
{
    AUTO_FREE char *full = mem_printf("%s/%s", ground_folder, path);

    assert_int_equal(utimensat(AT_FDCWD, full,
                               (struct timespec[]){{.tv_sec = 1000000 - seconds},
                                                   {.tv_sec = 1000000 - seconds}},
                               AT_SYMLINK_NOFOLLOW),
                     0);
}

static void make_tree(void)
{
    ground_make_folder("src/deep");
    ground_make_folder(".git");
    ground_file("src/old.py", "import os\nprint(1)\n");
    ground_file("src/deep/new.py", "import sys\nprint(2)\nprint(3)\n");
    ground_file("src/a.txt", "Print(4)\n");
    ground_file(".hidden.py", "print(5)\n");
    ground_file(".git/x.py", "print(6)\n");
    set_age("src/old.py", 100);
    set_age("src/deep/new.py", 1);
    set_age("src/a.txt", 50);
    set_age(".hidden.py", 70);
    ground_link("/usr/lib/python3", "outside");
}

TEST(files_are_found_by_their_names_newest_first)
{
    make_tree();
    assert_says(&glob_handler, "{'pattern':'**/*.py'}",
                "/mnt/data/src/deep/new.py\n/mnt/data/.hidden.py\n/mnt/data/src/old.py");
    assert_says(&glob_handler, "{'pattern':'*.py','path':'src'}",
                "/mnt/data/src/deep/new.py\n/mnt/data/src/old.py");
    assert_says(&glob_handler, "{'pattern':'/mnt/data/src/*.txt'}", "/mnt/data/src/a.txt");
    assert_says(&glob_handler, "{'pattern':'*.rs'}", "No files found");
    assert_fails(&glob_handler, "{'pattern':'*','path':'/etc'}", ERR_FORBIDDEN,
                 "/etc is outside of the workspace.");
    assert_fails(&glob_handler, "{'pattern':'[a'}", ERR_INVALID, "unclosed character class");
}

TEST(a_hundred_files_are_shown)
{
    AUTO_OUTCOME outcome = {.count = 0};

    for (unsigned i = 0; i < 110; i++) {
        char name[16];

        snprintf(name, sizeof(name), "f%03u", i);
        ground_file(name, "");
        set_age(name, i);
    }
    outcome = call_tool(&glob_handler, "{'pattern':'f*'}");
    assert_memory_equal(outcome.text, "/mnt/data/f000\n/mnt/data/f001\n", 30);
    assert_non_null(strstr(outcome.text, "/mnt/data/f099\n\n(Results are truncated."));
    assert_null(strstr(outcome.text, "f100"));
}

TEST(lines_are_found_in_the_newest_files_first)
{
    make_tree();
    assert_says(&grep_handler, "{'pattern':'print\\\\(\\\\d'}",
                "Found 4 matches\n/mnt/data/src/deep/new.py:\n  2: print(2)\n  3: print(3)\n\n"
                "/mnt/data/.hidden.py:\n  1: print(5)\n\n/mnt/data/src/old.py:\n  2: print(1)");
    assert_says(&grep_handler, "{'pattern':'print','glob':'*.txt','case_insensitive':true}",
                "Found 1 matches\n/mnt/data/src/a.txt:\n  1: Print(4)");
    assert_says(&grep_handler,
                "{'pattern':'import','type':'py','path':'src/old.py',"
                "'context_lines':1}",
                "Found 1 matches\n/mnt/data/src/old.py:\n  1: import os\n  2- print(1)");
    assert_says(&grep_handler, "{'pattern':'print','type':'rust'}", "No matches found");
    assert_says(&grep_handler, "{'pattern':'-e'}", "No matches found");
    assert_fails(&grep_handler, "{'pattern':'('}", ERR_INVALID, "unclosed group");
    assert_fails(&grep_handler, "{'pattern':'a','path':'../..'}", ERR_FORBIDDEN,
                 "../.. is outside of the workspace.");
}

TEST(a_hundred_matches_of_two_thousand_characters_are_shown)
{
    AUTO_OUTCOME outcome = {.count = 0};
    AUTO_BUF text = {0};
    AUTO_FREE char *path = mem_printf("%s/many", ground_folder);
    const char *third;
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

    for (unsigned i = 0; i < 3000; i++)
        buf_add_char(&text, 'x');
    for (unsigned i = 0; i < 150; i++)
        buf_add_text(&text, "\nx");
    assert_int_equal(write(fd, text.data, text.length), text.length);
    close(fd);
    outcome = call_tool(&grep_handler, "{'pattern':'x'}");
    assert_memory_equal(outcome.text, "Found 100 matches\n/mnt/data/many:\n  1: xxx", 40);
    third = strstr(outcome.text, "...\n  2: x\n");
    assert_non_null(third);
    assert_int_equal(third - outcome.text,
                     strlen("Found 100 matches\n/mnt/data/many:\n  1: ") + 2000);
    assert_non_null(strstr(outcome.text, "  100: x\n\n(Results are truncated."));
}

/* ---- fs-Grep and fs-FileOps: F52 ---- */

TEST(lines_are_found_by_a_plain_text_in_the_order_of_paths)
{
    ground_make_folder("node_modules");
    ground_file("node_modules/x", "A.b\n");
    ground_file("b", "one\na.b\nthree\n");
    ground_file("a", "A.B\naxb\n");
    assert_says(&fs_grep_handler, "{'path':'/','pattern':'a.b'}", "a:1:A.B\nb:2:a.b");
    assert_says(&fs_grep_handler, "{'path':'/','pattern':'a.b','caseSensitive':true}",
                "b:2:a.b");
    assert_says(&fs_grep_handler, "{'path':'a','pattern':'^A.b$','regex':true,'maxResults':1}",
                "a:1:A.B\n... (the first 1 matches)");
    assert_says(&fs_grep_handler, "{'path':'/','pattern':'a.b','include':'b','contextLines':1}",
                "b-1-one\nb:2:a.b\nb-3-three");
    assert_says(&fs_grep_handler, "{'path':'/','pattern':'none'}", "No matches found");
    assert_fails(&fs_grep_handler, "{'path':'/etc','pattern':'root'}", ERR_FORBIDDEN,
                 "/etc is outside of the workspace.");
}

static void assert_refused(const char *args, const char *sentence)
{
    AUTO_OUTCOME outcome = call_in_workspace(&fs_file_ops_handler, args, true, NULL);

    assert_int_not_equal(outcome.end.rc, ERR_OK);
    assert_string_equal(outcome.end.error.text, sentence);
}

TEST(a_program_of_the_list_runs_without_a_shell)
{
    static const char plain[] = "Only one program with plain words is executed: no patterns, "
                                "variables, pipes or redirections. Quote a word that has such "
                                "characters.";
    AUTO_OUTCOME outcome = {0};

    ground_file("a", "one\n");
    assert_says(&fs_file_ops_handler, "{'command':'cp a \\\"b *x\\\"'}", "(no output)");
    assert_says(&fs_file_ops_handler, "{'command':'ls'}", "[stdout]\na\nb *x\n");
    outcome = call_tool(&fs_file_ops_handler, "{'command':'cat a none'}");
    assert_string_equal(outcome.text, "[stdout]\none\n\n\n[stderr]\ncat: none: No such file or "
                                      "directory\n\n\nExit code: 1");
    assert_int_equal(outcome.end.result.status, TOOL_ERROR);
    assert_refused("{'command':'bash -c ls'}", "The program \"bash\" is not on the list.");
    assert_refused("{'command':'/bin/rm a'}", "The program \"/bin/rm\" is not on the list.");
    assert_refused("{'command':'rm *'}", plain);
    assert_refused("{'command':'ls; id'}", plain);
    assert_refused("{'command':'cat a > b'}", plain);
    assert_refused("{'command':'ls $(id)'}", plain);
    assert_refused("{'command':'X=1 ls'}", plain);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOXED(output_of_both_streams_comes_in_its_order),
        BOXED(a_status_and_a_signal_are_notes),
        BOXED(a_command_that_takes_too_long_keeps_its_output),
        BOXED(thirty_thousand_characters_are_shown),
        BOXED(a_folder_to_start_in_is_one_of_the_workspace),
        BOXED(a_command_has_neither_network_nor_the_servers_environment),
        BOXED(what_a_command_leaves_running_is_killed),
        BOXED(a_plan_allows_asks_or_denies),
        BOXED(files_are_found_by_their_names_newest_first),
        BOXED(a_hundred_files_are_shown),
        BOXED(lines_are_found_in_the_newest_files_first),
        BOXED(lines_are_found_by_a_plain_text_in_the_order_of_paths),
        BOXED(a_program_of_the_list_runs_without_a_shell),
        BOXED(a_hundred_matches_of_two_thousand_characters_are_shown),
    };

    return run_in_boxes(tests, COUNT_OF(tests), start_boxed, boxes_stop);
}
