/* read, write and edit in a workspace: their words, what they refuse, and that they stay inside. */

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "tests/unit/handlers/code/workspace_run.h"

static struct outcome call_tool(const struct tool_handler *handler, const char *quoted,
                                bool planning)
{
    return call_in_workspace(handler, quoted, planning, NULL);
}

/* Arguments with ' for ". */
static void assert_says(const struct tool_handler *handler, const char *args,
                        const char *expected)
{
    AUTO_OUTCOME outcome = call_tool(handler, args, false);

    if (outcome.end.rc)
        fail_msg("%s: %s", args, outcome.end.error.text);
    assert_string_equal(outcome.text, expected);
}

static void assert_fails(const struct tool_handler *handler, const char *args,
                         enum err_code code, const char *sentence)
{
    AUTO_OUTCOME outcome = call_tool(handler, args, false);

    assert_int_equal(outcome.end.rc, code);
    assert_string_equal(outcome.end.error.text, sentence);
}

static void assert_holds(const char *path, const char *expected)
{
    AUTO_FREE char *text = ground_text(path);

    assert_string_equal(text, expected);
}

/* ---- read: F88 ---- */

TEST(lines_are_read_with_their_numbers)
{
    ground_file("a", "one\ntwo\nthree\n");
    assert_says(&read_handler, "{'file_path':'a'}", "1\tone\n2\ttwo\n3\tthree\n4\t");
    assert_says(&read_handler, "{'file_path':'/mnt/data/a','offset':2,'limit':1}",
                "2\ttwo\n\n[Showing lines 2-2 of 4 total lines]");
    assert_fails(&read_handler, "{'file_path':'a','offset':5}", ERR_INVALID,
                 "Line 5 is beyond the end: a has 4 lines.");
    ground_file("empty", "");
    assert_says(&read_handler, "{'file_path':'empty'}", "[Empty file: empty]");
}

TEST(two_thousand_lines_are_read_and_more_are_counted)
{
    AUTO_BUF text = {0};
    AUTO_OUTCOME outcome = {.count = 0};
    AUTO_FREE char *path = mem_printf("%s/long", ground_folder);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

    for (unsigned i = 0; i < 2500; i++)
        buf_add_text(&text, "x\n");
    assert_int_equal(write(fd, text.data, text.length), text.length);
    close(fd);
    outcome = call_tool(&read_handler, "{'file_path':'long'}", false);
    assert_non_null(strstr(outcome.text, "\n2000\tx\n\n[Showing lines 1-2000 of 2501 total "
                                         "lines]"));
    /* `limit` means lines, not characters of the result. */
    assert_true(strlen(outcome.text) > 10000);
}

TEST(what_is_no_text_is_named)
{
    AUTO_OUTCOME picture = {.count = 0}, pdf = {.count = 0};

    ground_file("a.PNG", "\x89PNG");
    ground_file("b.pdf", "%PDF");
    ground_file("c.bin", "\x01\x02\x03");
    assert_says(&read_handler, "{'file_path':'c.bin'}", "[Binary file: c.bin, 3 bytes]");
    picture = call_tool(&read_handler, "{'file_path':'a.PNG'}", false);
    assert_non_null(strstr(picture.text, "[Image file: a.PNG, 4 bytes]"));
    assert_int_equal(picture.end.result.count, 2);
    assert_string_equal(picture.end.result.parts[1].data, "iVBORw==");
    pdf = call_tool(&read_handler, "{'file_path':'b.pdf'}", false);
    assert_non_null(strstr(pdf.text, "[PDF file: b.pdf, 4 bytes]"));
    assert_string_equal(pdf.end.result.parts[1].url, "b.pdf");
}

/* F82, through the tools */
TEST(nothing_outside_is_read_or_written)
{
    static const char *const paths[] = {"/etc/passwd", "../cntr_b/data/a", "link", "up/a"};
    static const char *const calls[] = {"{'file_path':'%s'}",
                                        "{'file_path':'%s','content':'x'}",
                                        "{'file_path':'%s','old_string':'','new_string':'x'}"};
    const struct tool_handler *const tools[] = {&read_handler, &write_handler, &edit_handler};

    ground_link("/etc/passwd", "link");
    ground_link("../..", "up");
    for (size_t i = 0; i < COUNT_OF(paths); i++) {
        for (size_t n = 0; n < COUNT_OF(tools); n++) {
            AUTO_BUF args = {0};
            const char *mark = strstr(calls[n], "%s");
            AUTO_FREE char *sentence = mem_printf("%s is outside of the workspace.", paths[i]);

            buf_add(&args, calls[n], (size_t)(mark - calls[n]));
            buf_add_text(&args, paths[i]);
            buf_add_text(&args, mark + 2);
            {
                AUTO_OUTCOME outcome = call_tool(tools[n], args.data, false);

                assert_int_equal(outcome.end.rc, ERR_FORBIDDEN);
                assert_non_null(strstr(outcome.end.error.text, sentence));
            }
        }
    }
    assert_int_equal(ground_count("workspaces/proj_a"), 1);
}

TEST(a_missing_file_and_a_folder_are_errors)
{
    ground_make_folder("folder");
    assert_fails(&read_handler, "{'file_path':'none'}", ERR_NOT_FOUND, "none does not exist.");
    assert_fails(&read_handler, "{'file_path':'none.png'}", ERR_NOT_FOUND,
                 "none.png does not exist.");
    assert_fails(&read_handler, "{'file_path':'folder'}", ERR_INVALID, "folder is a folder.");
    assert_fails(&write_handler, "{'file_path':'folder','content':''}", ERR_INVALID,
                 "Failed to write folder: folder is a folder.");
    assert_fails(&edit_handler, "{'file_path':'folder','old_string':'a','new_string':'b'}",
                 ERR_INVALID, "Failed to edit folder: folder is a folder.");
}

/* ---- write: F89 ---- */

TEST(a_file_is_created_with_its_folders_and_then_updated)
{
    assert_says(&write_handler, "{'file_path':'x/y.txt','content':'one\\ntwo'}",
                "Successfully created x/y.txt\n7 bytes written (2 lines)");
    assert_says(&write_handler, "{'file_path':'/x/y.txt','content':''}",
                "Successfully updated /x/y.txt\n0 bytes written (1 line)");
    assert_holds("x/y.txt", "");
    ground_file("binary", "\x01\xff");
    assert_says(&write_handler, "{'file_path':'binary','content':'text'}",
                "Successfully updated binary\n4 bytes written (1 line)");
}

/* ---- edit: F90 ---- */

TEST(a_text_is_replaced_and_the_difference_described)
{
    AUTO_OUTCOME outcome = {.count = 0};

    ground_file("a", "one\r\ntwo\r\nthree\r\n");
    outcome =
        call_tool(&edit_handler,
                  "{'file_path':'a','old_string':'two\\n','new_string':'2\\n2\\n'}", false);
    assert_string_equal(outcome.text, "Successfully edited a");
    assert_holds("a", "one\r\n2\r\n2\r\nthree\r\n");
    assert_int_equal(json_get_int(outcome.end.result.metadata, "additions", -1), 2);
    assert_int_equal(json_get_int(outcome.end.result.metadata, "deletions", -1), 1);
    assert_string_equal(json_get_string(outcome.end.result.metadata, "strategy", ""), "simple");
}

TEST(errors_of_an_edit_leave_the_file_alone)
{
    ground_file("a", "x\nx\n");
    assert_fails(&edit_handler, "{'file_path':'a','old_string':'y','new_string':'z'}",
                 ERR_NOT_FOUND, "Failed to edit a: oldString not found in content");
    assert_fails(&edit_handler, "{'file_path':'a','old_string':'x','new_string':'z'}",
                 ERR_CONFLICT,
                 "Failed to edit a: Found multiple matches for oldString. Provide more "
                 "surrounding lines in oldString to identify the correct match.");
    assert_holds("a", "x\nx\n");
    assert_says(&edit_handler,
                "{'file_path':'a','old_string':'x','new_string':'z','replace_all':true}",
                "Successfully edited a (replaced 2 occurrences)");
    assert_holds("a", "z\nz\n");
    assert_says(&edit_handler, "{'file_path':'new','old_string':'','new_string':'z'}",
                "Successfully edited new");
    assert_holds("new", "z");
}

TEST(a_question_shows_what_would_change)
{
    AUTO_OUTCOME outcome = {.count = 0}, missing = {.count = 0};
    bool shown = false;

    ground_file("a", "one\n");
    outcome = call_tool(&edit_handler,
                        "{'file_path':'a','old_string':'one','new_string':'two'}", true);
    assert_int_equal(outcome.end.rc, ERR_OK);
    for (size_t i = 0; i < outcome.count; i++) {
        AUTO_FREE char *said = json_text(outcome.said[i].fields);

        shown |= said && strstr(said, "-one") && strstr(said, "+two");
    }
    assert_true(shown);
    assert_holds("a", "one\n");
    missing =
        call_tool(&edit_handler, "{'file_path':'a','old_string':'q','new_string':'two'}", true);
    assert_int_equal(missing.end.rc, ERR_NOT_FOUND);
}

#define GROUNDED(test) cmocka_unit_test_setup_teardown(test, ground_set_up, ground_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        GROUNDED(lines_are_read_with_their_numbers),
        GROUNDED(two_thousand_lines_are_read_and_more_are_counted),
        GROUNDED(what_is_no_text_is_named),
        GROUNDED(nothing_outside_is_read_or_written),
        GROUNDED(a_missing_file_and_a_folder_are_errors),
        GROUNDED(a_file_is_created_with_its_folders_and_then_updated),
        GROUNDED(a_text_is_replaced_and_the_difference_described),
        GROUNDED(errors_of_an_edit_leave_the_file_alone),
        GROUNDED(a_question_shows_what_would_change),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
