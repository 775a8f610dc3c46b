#include "tests/unit/handlers/tool_run.h"

/* A file whose bytes come in pieces; it counts how many were taken. */
struct fake {
    const char *bytes;
    size_t length, piece;
    size_t pieces; /* taken */
};

static enum err_code read_fake(void *arg, const struct tenant *tenant, const char *id,
                               size_t first_page, tool_take_fn *take, void *take_arg,
                               struct tool_file *ret_file, struct err *err)
{
    struct fake *fake = arg;

    (void)tenant;
    (void)first_page;
    if (strcmp(id, "file-a") != 0)
        return err_set(err, ERR_NOT_FOUND, "No such File object: %s", id);
    for (size_t at = 0; at < fake->length; at += fake->piece) {
        size_t rest = fake->length - at;

        fake->pieces++;
        if (!take(take_arg, fake->bytes + at, rest < fake->piece ? rest : fake->piece))
            break;
    }
    *ret_file = (struct tool_file){
        .id = mem_strdup(id), .name = mem_strdup("a.txt"), .bytes = fake->length};
    return ERR_OK;
}

static struct outcome read_of(struct fake *fake, const char *args)
{
    const struct tool_desk desk = {.read = read_fake, .arg = fake};

    return tool_run_spec(&read_document_handler, args,
                         &(struct tool_call_spec){.call_id = "call_1", .desk = &desk});
}

static void expect(const char *bytes, const char *args, const char *wanted)
{
    struct fake fake = {bytes, strlen(bytes), 1000, 0};
    AUTO_OUTCOME outcome = read_of(&fake, args);

    assert_string_equal(outcome.end.rc ? outcome.end.error.text : outcome.text, wanted);
}

TEST(lines_stand_behind_their_numbers)
{
    expect("a\nb\nc", "{\"file_id\":\"file-a\"}", "1\ta\n2\tb\n3\tc");
    expect("a\nb\nc", "{\"file_id\":\"file-a\",\"offset\":2,\"lines\":1}",
           "2\tb\n\n[Showing lines 2-2 of 3 total lines]");
}

TEST(what_cannot_be_shown_is_said)
{
    expect("", "{\"file_id\":\"file-a\"}", "[Empty file: a.txt]");
    expect("a", "{\"file_id\":\"file-a\",\"offset\":5}",
           "Line 5 is beyond the end: a.txt has 1 line.");
    expect("\1\2\3\4", "{\"file_id\":\"file-a\"}",
           "[Binary file: a.txt, 4 bytes. Its text can be searched in a vector store.]");
    expect("a", "{\"file_id\":\"file-b\"}", "No such File object: file-b");
}

TEST(a_file_is_read_only_as_far_as_asked)
{
    static char bytes[100000];
    struct fake fake = {bytes, sizeof(bytes), 1000, 0};
    AUTO_OUTCOME outcome = {.count = 0};

    memset(bytes, '\n', sizeof(bytes));
    outcome = read_of(&fake, "{\"file_id\":\"file-a\",\"offset\":1500,\"lines\":10}");
    assert_int_equal(fake.pieces, 2);
    assert_non_null(strstr(outcome.text, "[Showing lines 1500-1509; more lines follow]"));
}

/* What is behind the limit is not read, and what was found is shown all the same. */
TEST(a_long_line_that_was_asked_for_is_shown)
{
    const size_t length = ((size_t)64 << 20) + 1000;
    char *bytes = memset(mem_zeroed(length + 1, 1), 'a', length);
    struct fake fake = {bytes, length, 1 << 20, 0};
    AUTO_OUTCOME outcome = read_of(&fake, "{\"file_id\":\"file-a\"}");

    assert_int_equal(outcome.end.rc, ERR_OK);
    assert_non_null(strstr(outcome.text, "1\taaa"));
    assert_non_null(strstr(outcome.text, "[Showing lines 1-1; more lines follow]"));
    free(bytes);
}

TEST(a_server_without_files_says_so)
{
    expect_tool_error(&read_document_handler, "{\"file_id\":\"file-a\"}", ERR_INVALID,
                      "no files on this server");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_stand_behind_their_numbers),
        cmocka_unit_test(what_cannot_be_shown_is_said),
        cmocka_unit_test(a_file_is_read_only_as_far_as_asked),
        cmocka_unit_test(a_long_line_that_was_asked_for_is_shown),
        cmocka_unit_test(a_server_without_files_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
