#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/run/citation/overlap.h"
#include "tests/support/test.h"

static const char *const manual[] = {
    "The battery of the drill is covered by a warranty of two years from the date of purchase.",
    "Clean the filter of the vacuum cleaner every month with cold water and let it dry.",
    "To reset the thermostat, hold the upper button for ten seconds until the display blinks.",
    "电池的保修期为两年,自购买之日起计算。请保留发票。",
};

/* "end:passage ..." for each citation. */
static void assert_cited(const char *text, const char *expected)
{
    struct overlap_passage passages[4];
    AUTO_BUF seen = {0};
    struct overlap *list;
    size_t count;

    for (size_t i = 0; i < 4; i++)
        passages[i] = (struct overlap_passage){.text = manual[i], .length = strlen(manual[i])};
    list = overlap_find(text, strlen(text), passages, 4, &count);
    buf_add_text(&seen, "");
    for (size_t i = 0; i < count; i++)
        buf_addf(&seen, "%s%zu:%zu", i ? " " : "", list[i].end, list[i].passage);
    assert_string_equal(seen.data ? seen.data : "", expected);
    free(list);
}

TEST(a_paragraph_is_cited_where_its_words_stand)
{
    assert_cited("The drill's battery has a warranty of two years, from the purchase date.",
                 "72:0");
    assert_cited("电池自购买之日起保修期为两年。", "45:3");
}

TEST(each_paragraph_has_its_own_passage)
{
    assert_cited("The battery's warranty covers two years from purchase.\n\n"
                 "I do not know more about your other question, sorry.\n\n"
                 "Hold the upper button ten seconds until the display blinks.\n",
                 "54:0 169:2");
    assert_cited("- The battery's warranty covers two years from purchase.\n"
                 "- Hold the upper button ten seconds until the display blinks.",
                 "56:0 118:2");
}

TEST(what_could_come_from_two_passages_is_not_cited)
{
    assert_cited("The battery warranty of two years, and the upper button of the display "
                 "blinks ten seconds.",
                 "");
}

TEST(too_few_words_say_nothing)
{
    assert_cited("Two years.", "");
    assert_cited("", "");
    assert_cited("\n\n\n", "");
    assert_cited("Something else entirely, without any relation to those documents.", "");
}

TEST(no_passages_cite_nothing)
{
    size_t count = 7;

    assert_null(overlap_find("text", 4, NULL, 0, &count));
    assert_int_equal(count, 0);
}

/* How many paragraphs are cited of a long list, whose last line quotes the first of so many passages. */
static size_t cited_behind_a_list(size_t count)
{
    AUTO_FREE struct overlap_passage *passages = mem_new_array(struct overlap_passage, count);
    AUTO_BUF text = {0};
    size_t found;

    for (size_t i = 0; i < count; i++)
        passages[i] = (struct overlap_passage){.text = i ? "x" : manual[0],
                                               .length = i ? 1 : strlen(manual[0])};
    while (text.length < OVERLAP_TEXT_LIMIT - 200)
        buf_add_text(&text, "- one two three four\n");
    buf_addf(&text, "- %s\n", manual[0]);
    free(overlap_find(text.data, text.length, passages, count, &found));
    return found;
}

TEST(a_long_list_beside_thousands_of_passages_is_given_up)
{
    assert_int_equal(cited_behind_a_list(50), 1);
    assert_int_equal(cited_behind_a_list(5000), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_paragraph_is_cited_where_its_words_stand),
        cmocka_unit_test(each_paragraph_has_its_own_passage),
        cmocka_unit_test(what_could_come_from_two_passages_is_not_cited),
        cmocka_unit_test(too_few_words_say_nothing),
        cmocka_unit_test(no_passages_cite_nothing),
        cmocka_unit_test(a_long_list_beside_thousands_of_passages_is_given_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
