#include "tests/unit/handlers/tool_run.h"

/* file-a is a text, file-b binary, file-c longer than is read; all else is missing. */
static enum err_code read_fake(void *arg, const struct tenant *tenant, const char *id,
                               size_t first_page, tool_take_fn *take, void *take_arg,
                               struct tool_file *ret_file, struct err *err)
{
    static char long_text[300000];
    const char *bytes = strcmp(id, "file-a") == 0   ? "one\ntwo"
                        : strcmp(id, "file-b") == 0 ? "\1\2\3\4"
                                                    : long_text;

    (void)arg;
    (void)tenant;
    assert_int_equal(first_page, 0);
    memset(long_text, 'x', sizeof(long_text) - 1);
    if (strlen(id) != 6)
        return err_set(err, ERR_NOT_FOUND, "No such File object: %s", id);
    (void)take(take_arg, bytes, strlen(bytes));
    *ret_file = (struct tool_file){
        .id = mem_strdup(id), .name = mem_printf("%c.txt", id[5]), .bytes = strlen(bytes)};
    return ERR_OK;
}

static struct outcome read_of(const char *args)
{
    const struct tool_desk desk = {.read = read_fake};

    return tool_run_spec(&read_files_handler, args,
                         &(struct tool_call_spec){.call_id = "call_1", .desk = &desk});
}

TEST(texts_stand_behind_their_names)
{
    AUTO_OUTCOME outcome = read_of("{\"file_ids\":[\"file-a\",\"file-b\",\"file-nothing\"]}");

    assert_string_equal(outcome.text, "[a.txt (file-a)]\none\ntwo\n\n"
                                      "[b.txt (file-b): binary, 4 bytes]\n\n"
                                      "[file-nothing: No such File object: file-nothing]");
}

TEST(a_long_text_is_cut_and_the_others_are_named)
{
    AUTO_OUTCOME outcome = read_of("{\"file_ids\":[\"file-c\",\"file-a\"]}");

    assert_in_range(strlen(outcome.text), 240000, 240300);
    assert_non_null(strstr(
        outcome.text, "x\n[The rest of c.txt was left out. Call readDocument to read on.]\n\n"
                      "[a.txt (file-a)]\n\n[The rest of a.txt was left out."));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_stand_behind_their_names),
        cmocka_unit_test(a_long_text_is_cut_and_the_others_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
