/* The tools of group files that need no box: their words, their limits, and that they stay inside. F52 */

#include "core/base/buf.h"
#include "handlers/support/file_tree.h"
#include "tests/unit/handlers/code/workspace_run.h"

/* Arguments with ' for ". The text, or the sentence of the error. The caller frees. */
static char *said(const struct tool_handler *handler, const char *args)
{
    AUTO_OUTCOME outcome = call_in_workspace(handler, args, false, NULL);

    return mem_strdup(outcome.end.rc ? outcome.end.error.text : outcome.text);
}

static void assert_says(const struct tool_handler *handler, const char *args,
                        const char *expected)
{
    AUTO_FREE char *text = said(handler, args);

    assert_string_equal(text, expected);
}

static void assert_holds(const char *path, const char *expected)
{
    AUTO_FREE char *text = ground_text(path);

    assert_string_equal(text, expected);
}

/* A file of `count` lines: 1, 2, 3 ... */
static void count_into(const char *path, unsigned count)
{
    AUTO_BUF text = {0};

    for (unsigned i = 1; i <= count; i++)
        buf_addf(&text, "%u\n", i);
    ground_file(path, text.data);
}

/* ---- fs-View ---- */

TEST(a_file_is_shown_whole_or_in_part)
{
    count_into("a", 120);
    assert_says(&fs_view_handler, "{'path':'a','mode':'head','lines':2}",
                "[a: lines 1-2 of 120]\n1\n2");
    assert_says(&fs_view_handler, "{'path':'/mnt/data/a','mode':'tail','lines':2}",
                "[/mnt/data/a: lines 119-120 of 120]\n119\n120");
    assert_says(&fs_view_handler,
                "{'path':'a','mode':'range','range':[9,10],'showLineNumbers':true}",
                "[a: lines 9-10 of 120]\n 9 | 9\n10 | 10");
    assert_says(&fs_view_handler, "{'path':'a','mode':'range','range':[120,500]}",
                "[a: lines 120-120 of 120]\n120");
    ground_file("b", "one\r\ntwo");
    assert_says(&fs_view_handler, "{'path':'b'}", "[b: lines 1-2 of 2]\none\r\ntwo");
    ground_file("empty", "");
    assert_says(&fs_view_handler, "{'path':'empty'}", "[empty: empty]");
}

TEST(a_large_file_is_shown_in_part_only)
{
    AUTO_FREE char *text = NULL;

    count_into("large", 100000);
    text = said(&fs_view_handler, "{'path':'large'}");
    assert_memory_equal(text, "[large: lines 1-100 of 100000]\n1\n2\n", 35);
    assert_string_equal(text + strlen(text) - 4, "\n100");
    assert_says(
        &fs_view_handler, "{'path':'large','mode':'full'}",
        "The file has 588895 bytes; more than 524288 are not shown at once. Use the mode "
        "head, tail or range.");
}

TEST(what_cannot_be_shown_says_why)
{
    ground_file("a", "one\n");
    ground_make_folder("folder");
    ground_link("/etc/passwd", "link");
    ground_file("binary", "a\x01\x02\x03");
    assert_says(&fs_view_handler, "{'path':'none'}", "none does not exist.");
    assert_says(&fs_view_handler, "{'path':'folder'}", "folder is a folder.");
    assert_says(&fs_view_handler, "{'path':'binary'}",
                "binary is binary, not text. Use fs-Inspect.");
    assert_says(&fs_view_handler, "{'path':'../x'}", "../x is outside of the workspace.");
    assert_says(&fs_view_handler, "{'path':'/etc/passwd'}",
                "/etc/passwd is outside of the workspace.");
    assert_says(&fs_view_handler, "{'path':'link'}", "link is outside of the workspace.");
    assert_says(&fs_view_handler, "{'path':'a','mode':'range'}",
                "The mode range needs range: [first, last].");
    assert_says(&fs_view_handler, "{'path':'a','mode':'range','range':[2,3]}",
                "Line 2 is beyond the end: the file has 1.");
    assert_says(&fs_view_handler, "{'path':'a','mode':'range','range':[2,1]}",
                "The range ends before it begins.");
}

/* ---- fs-List, fs-Glob, fs-Inspect ---- */

static void make_project(void)
{
    ground_make_folder("src");
    ground_make_folder("src/deep");
    ground_make_folder("node_modules");
    ground_make_folder("own");
    ground_file("a.py", "x = 1\n");
    ground_file(".hidden", "");
    ground_file("node_modules/x.js", "");
    ground_file("own/y", "");
    ground_file("src/b.py", "y\n");
    ground_file("src/deep/c.py", "z\n");
    ground_link("/etc", "out");
}

TEST(a_folder_is_listed_as_a_tree)
{
    make_project();
    assert_says(&fs_list_handler, "{'path':'/','skipDir':'none, own'}",
                "a.py (6 B)\nnode_modules/ [skipped: 1 entries]\nout (link)\n"
                "own/ [skipped: 1 entries]\nsrc/\n  b.py (2 B)\n  deep/");
    assert_says(&fs_list_handler,
                "{'path':'src','depth':3,'onlyFiles':true,'showSize':false,'pattern':'c*'}",
                "  c.py");
    assert_says(&fs_list_handler, "{'path':'src','onlyDirs':true}", "deep/");
    assert_says(&fs_list_handler, "{'path':'src/deep','pattern':'none'}", "(nothing)");
    assert_says(&fs_list_handler, "{'path':'out'}", "out is outside of the workspace.");
    assert_says(&fs_list_handler, "{'path':'none'}", "none does not exist.");
}

TEST(five_hundred_entries_are_listed)
{
    AUTO_FREE char *text = NULL;

    for (int i = 0; i < 501; i++) {
        AUTO_FREE char *name = mem_printf("f%03d", i);

        ground_file(name, "");
    }
    text = said(&fs_list_handler, "{'path':'/'}");
    assert_non_null(strstr(text, "f499 (0 B)\n... (the first 500 entries)"));
    assert_null(strstr(text, "f500"));
    free(text);
    text = said(&fs_glob_handler, "{'path':'/','pattern':'f*'}");
    assert_non_null(strstr(text, "f099\n... (the first 100)"));
}

TEST(paths_are_found_by_their_form)
{
    make_project();
    assert_says(&fs_glob_handler, "{'path':'/','pattern':'**/*.py'}",
                "a.py\nsrc/b.py\nsrc/deep/c.py");
    assert_says(&fs_glob_handler, "{'path':'src','pattern':'*.py'}", "b.py");
    assert_says(&fs_glob_handler, "{'path':'/','pattern':'**/*.py','maxDepth':2}",
                "a.py\nsrc/b.py");
    assert_says(&fs_glob_handler, "{'path':'/','pattern':'s*','type':'dir'}", "src");
    assert_says(&fs_glob_handler, "{'path':'/','pattern':'none'}", "No files found");
}

TEST(a_form_is_matched_part_by_part)
{
    static const struct {
        const char *pattern, *path;
        bool matches;
    } cases[] = {
        {"*.c", "a.c", true},
        {"*.c", "x/a.c", false},
        {"**/*.c", "a.c", true},
        {"**/*.c", "x/y/a.c", true},
        {"x/**", "x/y/z", true},
        {"x/**", "y/x", false},
        {"**/x/*.c", "x/x/y/a.c", false},
        {"**/x/*.c", "y/x/x/a.c", true},
        {"a?c", "abc", true},
        {"a?c", "a/c", false},
        {"*a*b*", "xxaxxb", true},
        {"*a*b", "xxaxxbc", false},
        {"**", "a/b", true},
        {"a/**/b", "a/b", true},
        {"a/**/b", "a/x/y/b", true},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        if (file_tree_matches(cases[i].pattern, cases[i].path) != cases[i].matches)
            fail_msg("%s %s", cases[i].pattern, cases[i].path);
    }
}

TEST(a_path_is_inspected)
{
    AUTO_FREE char *file = NULL, *folder = NULL;

    make_project();
    ground_file("b", "\x01\x02\x03\x04");
    file = said(&fs_inspect_handler, "{'path':'a.py'}");
    assert_memory_equal(file,
                        "path: a.py\ntype: file\nsize: 6 bytes\ncontent: text\nlines: 1\n"
                        "language: Python\nmodified: 2",
                        83);
    folder = said(&fs_inspect_handler, "{'path':'src'}");
    assert_memory_equal(folder, "path: src\ntype: directory\nentries: 2\nmodified: ", 46);
    free(file);
    file = said(&fs_inspect_handler, "{'path':'b'}");
    assert_non_null(strstr(file, "content: binary"));
    assert_says(&fs_inspect_handler, "{'path':'out'}", "out is outside of the workspace.");
}

/* ---- fs-SearchReplace, fs-WriteFile ---- */

TEST(blocks_are_replaced_all_or_none)
{
    ground_file("a", "one\ntwo\nthree\n");
    assert_says(&fs_search_replace_handler,
                "{'path':'a','blocks':'<<<<<<< SEARCH\\none\\n=======\\n1\\n>>>>>>> REPLACE\\n"
                "<<<<<<< SEARCH\\n  three\\n=======\\n>>>>>>> REPLACE'}",
                "Replaced 2 blocks in a\nBlock #1: line 1, -1 +1 (exact)\n"
                "Block #2: line 3, -1 +0 (normalized)");
    assert_holds("a", "1\ntwo\n");
    assert_says(
        &fs_search_replace_handler,
        "{'path':'a','blocks':'<<<<<<<\\n1\\n=======\\n2\\n>>>>>>>\\n"
        "<<<<<<<\\nnone\\n=======\\nx\\n>>>>>>>'}",
        "Failed to change a: Block #2 does not match: these lines are not in the file.");
    assert_holds("a", "1\ntwo\n");
    assert_says(&fs_search_replace_handler, "{'path':'none','blocks':'x'}",
                "Failed to change none: The file does not exist. Use fs-WriteFile.");
    assert_says(
        &fs_search_replace_handler, "{'path':'a','blocks':'two'}",
        "Failed to change a: There is no block. A block is <<<<<<< SEARCH, the old lines, "
        "=======, the new lines, >>>>>>> REPLACE, each on lines of its own.");
    assert_says(&fs_search_replace_handler,
                "{'path':'../a','blocks':'<<<<<<<\\na\\n=======\\nb\\n>>>>>>>'}",
                "Failed to change ../a: ../a is outside of the workspace.");
}

TEST(a_byte_order_mark_stays)
{
    ground_file("a", "\xef\xbb\xbfone\r\ntwo\r\n");
    assert_says(&fs_search_replace_handler,
                "{'path':'a','blocks':'<<<<<<<\\none\\n=======\\n1\\n>>>>>>>'}",
                "Replaced 1 block in a\nBlock #1: line 1, -1 +1 (exact)");
    assert_holds("a", "\xef\xbb\xbf"
                      "1\r\ntwo\r\n");
}

TEST(a_file_is_written_in_three_modes)
{
    assert_says(&fs_write_file_handler, "{'path':'new/a','content':'one'}",
                "Created new/a (mode: create)\n3 bytes written (1 line)");
    assert_says(&fs_write_file_handler, "{'path':'new/a','content':'two','mode':'create'}",
                "Failed to write new/a: The file exists.");
    assert_holds("new/a", "one");
    assert_says(&fs_write_file_handler, "{'path':'new/a','content':'two','mode':'append'}",
                "Wrote new/a (mode: append)\n7 bytes written (2 lines)");
    assert_holds("new/a", "one\ntwo");
    assert_says(&fs_write_file_handler, "{'path':'new/a','content':'','mode':'overwrite'}",
                "Wrote new/a (mode: overwrite)\n0 bytes written (1 line)");
    assert_says(&fs_write_file_handler, "{'path':'b','content':'x','mode':'append'}",
                "Created b (mode: append)\n1 bytes written (1 line)");
    assert_says(&fs_write_file_handler, "{'path':'/etc/x','content':'x'}",
                "Failed to write /etc/x: /etc/x is outside of the workspace.");
}

#define GROUNDED(test) cmocka_unit_test_setup_teardown(test, ground_set_up, ground_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        GROUNDED(a_file_is_shown_whole_or_in_part),
        GROUNDED(a_large_file_is_shown_in_part_only),
        GROUNDED(what_cannot_be_shown_says_why),
        GROUNDED(a_folder_is_listed_as_a_tree),
        GROUNDED(five_hundred_entries_are_listed),
        GROUNDED(paths_are_found_by_their_form),
        GROUNDED(a_form_is_matched_part_by_part),
        GROUNDED(a_path_is_inspected),
        GROUNDED(blocks_are_replaced_all_or_none),
        GROUNDED(a_byte_order_mark_stays),
        GROUNDED(a_file_is_written_in_three_modes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
