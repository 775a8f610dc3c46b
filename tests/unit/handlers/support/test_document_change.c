/*
 * The tools that write, over one file in memory.
 */

#include "handlers/support/document_change.h"

#include "tests/unit/handlers/tool_run.h"

struct fake {
    char *bytes; /* of file-a; owned */
    int changes; /* what it has gone through */
    int races;   /* so often another tool changes it after a read */
    char *made;  /* "name store bytes"; owned */
};

static enum err_code load_fake(void *arg, const struct tenant *tenant, const char *id,
                               size_t limit, struct tool_text *ret_text, struct err *err)
{
    struct fake *fake = arg;

    (void)tenant;
    if (strcmp(id, "file-a") != 0)
        return err_set(err, ERR_NOT_FOUND, "No such File object: %s", id);
    assert_int_equal(limit, EDIT_FILE_LIMIT);
    *ret_text = (struct tool_text){.id = mem_strdup(id),
                                   .name = mem_strdup("a.md"),
                                   .version = mem_printf("%d", fake->changes),
                                   .bytes = mem_strdup(fake->bytes),
                                   .length = strlen(fake->bytes)};
    if (fake->races > 0) {
        char *raced = mem_printf("%s!", fake->bytes);

        free(fake->bytes);
        fake->bytes = raced;
        fake->changes++;
        fake->races--;
    }
    return ERR_OK;
}

static enum err_code change_fake(void *arg, const struct tenant *tenant,
                                 const struct tool_text *read, const char *bytes, size_t length,
                                 struct err *err)
{
    struct fake *fake = arg;
    AUTO_FREE char *version = mem_printf("%d", fake->changes);

    (void)tenant;
    if (strcmp(version, read->version) != 0)
        return err_set(err, ERR_CONFLICT, "%s was changed meanwhile. Read it again.", read->id);
    free(fake->bytes);
    fake->bytes = mem_strndup(bytes, length);
    fake->changes++;
    return ERR_OK;
}

static enum err_code make_fake(void *arg, const struct tenant *tenant, const char *name,
                               const char *vector_store_id, const char *bytes, size_t length,
                               struct tool_file *ret_file, struct err *err)
{
    struct fake *fake = arg;

    (void)tenant;
    if (vector_store_id && strcmp(vector_store_id, "vs_none") == 0)
        return err_set(err, ERR_NOT_FOUND, "No vector store found with id 'vs_none'.");
    fake->made = mem_printf("%s %s %.*s", name, vector_store_id ? vector_store_id : "-",
                            (int)length, bytes);
    *ret_file = (struct tool_file){
        .id = mem_strdup("file-b"), .name = mem_strdup(name), .bytes = length};
    return ERR_OK;
}

static struct fake fake_of(const char *bytes)
{
    return (struct fake){.bytes = mem_strdup(bytes)};
}

static void fake_clear(struct fake *fake)
{
    free(fake->bytes);
    free(fake->made);
}

#define AUTO_FAKE CLEANUP(fake_clear) struct fake

static struct outcome run_on(struct fake *fake, const struct tool_handler *handler,
                             const char *args, bool planning)
{
    const struct tool_desk desk = {
        .load = load_fake, .change = change_fake, .make = make_fake, .arg = fake};

    return tool_run_spec(
        handler, args,
        &(struct tool_call_spec){.call_id = "call_1", .desk = &desk, .planning = planning});
}

static void expect(const struct tool_handler *handler, const char *before, const char *args,
                   const char *said, const char *after)
{
    AUTO_FAKE fake = fake_of(before);
    AUTO_OUTCOME outcome = run_on(&fake, handler, args, false);

    assert_string_equal(outcome.end.rc ? outcome.end.error.text : outcome.text, said);
    assert_string_equal(fake.bytes, after);
}

#define EDIT(before, args, said, after) \
    expect(&edit_document_handler, before, "{\"file_id\":\"file-a\"," args "}", said, after)

TEST(a_text_is_replaced)
{
    EDIT("one\ntwo\n", "\"old_string\":\"two\",\"new_string\":\"2\"",
         "Successfully edited a.md", "one\n2\n");
    EDIT("a b a", "\"old_string\":\"a\",\"new_string\":\"c\",\"replace_all\":true",
         "Successfully edited a.md (replaced 2 occurrences)", "c b c");
    EDIT("old\n", "\"old_string\":\"\",\"new_string\":\"new\\n\"", "Successfully edited a.md",
         "new\n");
    EDIT("a\r\nb\r\n", "\"old_string\":\"a\\nb\",\"new_string\":\"x\\ny\"",
         "Successfully edited a.md", "x\r\ny\r\n");
}

TEST(a_text_that_does_not_stand_there_once_changes_nothing)
{
    EDIT("one\n", "\"old_string\":\"two\",\"new_string\":\"2\"",
         "Failed to edit file-a: oldString not found in content", "one\n");
    EDIT("a\na\n", "\"old_string\":\"a\",\"new_string\":\"b\"",
         "Failed to edit file-a: Found multiple matches for oldString. Provide more "
         "surrounding lines in oldString to identify the correct match.",
         "a\na\n");
    EDIT("a", "\"old_string\":\"a\",\"new_string\":\"a\"",
         "Failed to edit file-a: oldString and newString must be different", "a");
    EDIT("\1\2\3\4", "\"old_string\":\"\",\"new_string\":\"a\"",
         "Failed to edit file-a: The file is binary, not text.", "\1\2\3\4");
    EDIT("\xe9", "\"old_string\":\"\",\"new_string\":\"a\"",
         "Failed to edit file-a: The file is not UTF-8. Its bytes would not survive an edit.",
         "\xe9");
    expect(&edit_document_handler, "a",
           "{\"file_id\":\"file-x\",\"old_string\":\"a\",\"new_string\":\"b\"}",
           "Failed to edit file-x: No such File object: file-x", "a");
}

TEST(text_is_added_in_a_line_of_its_own)
{
    expect(&append_document_handler, "one", "{\"file_id\":\"file-a\",\"content\":\"two\\n\"}",
           "Successfully updated a.md\n4 bytes written (2 lines)", "one\ntwo\n");
    expect(&append_document_handler, "", "{\"file_id\":\"file-a\",\"content\":\"two\"}",
           "Successfully updated a.md\n3 bytes written (1 line)", "two");
    expect(&append_document_handler, "a", "{\"file_id\":\"file-x\",\"content\":\"b\"}",
           "Failed to append to file-x: No such File object: file-x", "a");
}

static struct outcome race(struct fake *fake, int races)
{
    fake->races = races;
    return run_on(fake, &append_document_handler,
                  "{\"file_id\":\"file-a\",\"content\":\"two\"}", false);
}

TEST(what_another_tool_writes_meanwhile_is_not_lost)
{
    AUTO_FAKE fake = fake_of("one");
    AUTO_OUTCOME outcome = race(&fake, 2);

    assert_int_equal(outcome.end.rc, ERR_OK);
    assert_string_equal(fake.bytes, "one!!\ntwo");
}

TEST(a_file_that_changes_all_the_time_is_not_written)
{
    AUTO_FAKE fake = fake_of("one");
    AUTO_OUTCOME outcome = race(&fake, 100);

    assert_int_equal(fake.races, 100 - DOCUMENT_CHANGE_ATTEMPTS);
    assert_int_equal(outcome.end.rc, ERR_CONFLICT);
    assert_string_equal(
        outcome.end.error.text,
        "Failed to append to file-a: file-a was changed meanwhile. Read it again.");
}

TEST(a_person_is_shown_the_difference_before_anything_is_written)
{
    AUTO_FAKE fake = fake_of("one\ntwo\n");
    AUTO_OUTCOME outcome =
        run_on(&fake, &edit_document_handler,
               "{\"file_id\":\"file-a\",\"old_string\":\"two\",\"new_string\":\"2\"}", true);
    const json_t *preview;

    assert_int_equal(outcome.end.rc, ERR_OK);
    assert_int_equal(outcome.count, 1);
    preview = json_object_get(outcome.said[0].fields, "preview");
    assert_non_null(strstr(json_get_string(preview, "diff", ""), "-two\n+2"));
    assert_int_equal(json_get_int(preview, "additions", 0), 1);
    assert_int_equal(json_get_int(preview, "deletions", 0), 1);
    assert_string_equal(json_get_string(preview, "filename", ""), "a.md");
    assert_string_equal(json_get_string(preview, "strategy", ""), "simple");
    assert_string_equal(fake.bytes, "one\ntwo\n");
}

TEST(a_change_that_cannot_be_made_is_not_asked_for)
{
    AUTO_FAKE fake = fake_of("one");
    AUTO_OUTCOME outcome =
        run_on(&fake, &edit_document_handler,
               "{\"file_id\":\"file-a\",\"old_string\":\"two\",\"new_string\":\"2\"}", true);

    assert_int_equal(outcome.count, 0);
    assert_int_equal(outcome.end.rc, ERR_NOT_FOUND);
}

TEST(a_long_difference_is_cut_behind_a_line)
{
    AUTO_FAKE fake = fake_of("");
    AUTO_BUF args = {0};
    AUTO_OUTCOME outcome = {.count = 0};
    const char *diff;

    buf_addf(&args, "{\"file_id\":\"file-a\",\"content\":\"");
    for (int i = 0; i < 1000; i++)
        buf_addf(&args, "line %d\\n", i);
    buf_addf(&args, "\"}");
    outcome = run_on(&fake, &append_document_handler, args.data, true);
    diff = json_get_string(json_object_get(outcome.said[0].fields, "preview"), "diff", "");
    assert_in_range(strlen(diff), 5900, 6100);
    assert_non_null(strstr(diff, "\n... (the diff goes on)\n"));
}

TEST(a_document_is_made)
{
    AUTO_FAKE fake = fake_of("");
    AUTO_OUTCOME outcome = run_on(
        &fake, &create_document_handler,
        "{\"filename\":\"n.md\",\"content\":\"a\\nb\",\"vector_store_id\":\"vs_1\"}", false);

    assert_string_equal(outcome.text,
                        "Successfully created n.md (file-b)\n3 bytes written (2 lines)");
    assert_string_equal(fake.made, "n.md vs_1 a\nb");
    expect(&create_document_handler, "",
           "{\"filename\":\"n.md\",\"content\":\"\",\"vector_store_id\":\"vs_none\"}",
           "Failed to create n.md: No vector store found with id 'vs_none'.", "");
}

TEST(writing_is_never_laxer_than_a_question)
{
    const struct tool_handler *const handlers[] = {
        &create_document_handler, &append_document_handler, &edit_document_handler};

    for (size_t i = 0; i < COUNT_OF(handlers); i++) {
        assert_int_equal(handlers[i]->permission.execution, EXECUTION_ASK_ALWAYS);
        assert_false(handlers[i]->flags & (TOOL_READ_ONLY | TOOL_IDEMPOTENT));
        expect_tool_error(handlers[i],
                          i ? "{\"file_id\":\"file-a\",\"content\":\"a\",\"old_string\":\"a\","
                              "\"new_string\":\"b\"}"
                            : "{\"filename\":\"a\",\"content\":\"a\"}",
                          ERR_INVALID, "no files on this server");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_text_is_replaced),
        cmocka_unit_test(a_text_that_does_not_stand_there_once_changes_nothing),
        cmocka_unit_test(text_is_added_in_a_line_of_its_own),
        cmocka_unit_test(what_another_tool_writes_meanwhile_is_not_lost),
        cmocka_unit_test(a_file_that_changes_all_the_time_is_not_written),
        cmocka_unit_test(a_person_is_shown_the_difference_before_anything_is_written),
        cmocka_unit_test(a_change_that_cannot_be_made_is_not_asked_for),
        cmocka_unit_test(a_long_difference_is_cut_behind_a_line),
        cmocka_unit_test(a_document_is_made),
        cmocka_unit_test(writing_is_never_laxer_than_a_question),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
