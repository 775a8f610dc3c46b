#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/edit/numbered.h"
#include "tests/support/test.h"

/* The text in pieces of `piece` bytes. */
static char *shown(const char *text, size_t first, size_t lines, size_t piece)
{
    CLEANUP(numbered_clear) struct numbered numbered;
    size_t length = strlen(text);

    numbered_init(&numbered, first, lines);
    for (size_t at = 0; at < length; at += piece)
        numbered_add(&numbered, text + at, piece < length - at ? piece : length - at);
    return numbered_finish(&numbered, true);
}

static void expect(const char *text, size_t first, size_t lines, const char *wanted)
{
    for (size_t piece = 1; piece < 4; piece++) {
        AUTO_FREE char *seen = shown(text, first, lines, piece);

        assert_string_equal(seen, wanted);
    }
}

TEST(lines_are_numbered_as_the_vectors_say)
{
    json_auto_t *all = json_load_file(VECTORS "/toolsystem_vectors.json", 0, NULL);
    size_t i;
    json_t *vector;

    assert_int_equal(json_array_size(json_object_get(all, "read_format")), 6);
    json_array_foreach (json_object_get(all, "read_format"), i, vector) {
        const json_t *args = json_object_get(vector, "args");
        const char *text = json_get_string(vector, "text", "");

        /* The last three are sentences of the tools, or no text. */
        if (*text && !json_object_get(vector, "required"))
            expect(text, (size_t)json_get_int(args, "offset", 1),
                   (size_t)json_get_int(args, "limit", (json_int_t)NUMBERED_LINES),
                   json_get_string(vector, "seed", ""));
    }
}

TEST(numbers_are_as_wide_as_the_last_one)
{
    expect("1\n2\n3\n4\n5\n6\n7\n8\nnine\nten\n11\n12", 9, 2,
           " 9\tnine\n10\tten\n\n[Showing lines 9-10 of 12 total lines]");
}

TEST(an_offset_behind_the_end_shows_nothing)
{
    assert_null(shown("a", 5, 1, 1));
}

TEST(long_lines_are_cut_between_letters)
{
    AUTO_BUF text = {0}, wanted = {0};

    buf_add_text(&wanted, "1\t");
    for (size_t n = 0; n < NUMBERED_LINE_LETTERS; n++) {
        buf_add_text(&text, "\xC3\xA4");
        buf_add_text(&wanted, "\xC3\xA4");
    }
    buf_add_text(&text, "\nb");
    buf_add_text(&wanted, "\n2\tb");
    expect(text.data, 1, 5, wanted.data);
    buf_reset(&text);
    for (size_t n = 0; n <= 2 * NUMBERED_LINE_LETTERS; n++)
        buf_add_text(&text, "\xC3\xA4");
    buf_add_text(&text, "\nb");
    wanted.length -= 4;
    buf_add_text(&wanted, "... (truncated)\n2\tb");
    expect(text.data, 1, 5, wanted.data);
}

TEST(what_follows_need_not_come)
{
    CLEANUP(numbered_clear) struct numbered numbered;
    AUTO_FREE char *seen = NULL;

    numbered_init(&numbered, 2, 1);
    assert_true(numbered_add(&numbered, "a\nb", 3));
    assert_false(numbered_add(&numbered, "\nc", 2));
    seen = numbered_finish(&numbered, false);
    assert_string_equal(seen, "2\tb\n\n[Showing lines 2-2; more lines follow]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_numbered_as_the_vectors_say),
        cmocka_unit_test(numbers_are_as_wide_as_the_last_one),
        cmocka_unit_test(an_offset_behind_the_end_shows_nothing),
        cmocka_unit_test(long_lines_are_cut_between_letters),
        cmocka_unit_test(what_follows_need_not_come),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
