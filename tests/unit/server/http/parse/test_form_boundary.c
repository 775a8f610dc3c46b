#include "core/base/compiler.h"
#include "core/base/mem.h"
#include "server/http/parse/form_boundary.h"
#include "tests/support/test.h"

#define FORM    "multipart/form-data"
#define SEVENTY "0123456789012345678901234567890123456789012345678901234567890123456789"

static void expect(const char *type, const char *boundary)
{
    AUTO_FREE char *found = form_boundary(type);

    if (boundary)
        assert_non_null(found);
    else
        assert_null(found);
    if (found)
        assert_string_equal(found, boundary);
}

TEST(a_boundary_is_found_anywhere_in_the_header)
{
    expect(FORM "; boundary=abc", "abc");
    expect(FORM ";boundary=abc", "abc");
    expect(FORM "; Boundary=abc", "abc");
    expect(FORM "; boundary=abc; charset=utf-8", "abc");
    expect(FORM "; charset=utf-8 ;\tboundary=abc ", "abc");
    expect(FORM "; xboundary=no; boundary=abc;;", "abc");
    expect(FORM "; note=\"; boundary=no\"; boundary=abc", "abc");
    expect(FORM "; note=\"\\\"; boundary=no\"; boundary=abc", "abc");
}

TEST(a_boundary_may_be_quoted)
{
    expect(FORM "; boundary=\"abc\"", "abc");
    expect(FORM "; boundary=\"a b\"; charset=utf-8", "a b");
    expect(FORM "; boundary=\"a\\bc\"", "abc");
    expect(FORM "; boundary=\"gc0pJq0M:08jU534c0p\"", "gc0pJq0M:08jU534c0p");
}

/* As mail programs and old Java libraries write it. */
TEST(a_boundary_need_not_be_quoted)
{
    expect(FORM "; boundary=----=_Part_0_12:3", "----=_Part_0_12:3");
}

TEST(a_boundary_has_one_to_seventy_characters)
{
    expect(FORM "; boundary=a", "a");
    expect(FORM "; boundary=" SEVENTY, SEVENTY);
    expect(FORM "; boundary=" SEVENTY "0", NULL);
    expect(FORM "; boundary=", NULL);
    expect(FORM "; boundary=\"\"", NULL);
}

TEST(an_invalid_boundary_is_not_found)
{
    static const char *const types[] = {
        FORM,
        FORM ";",
        FORM " boundary=abc",
        FORM "; charset=utf-8",
        FORM "; boundary",
        FORM "; boundary = abc",
        FORM "; boundary=\"abc",
        FORM "; boundary=\"abc\\",
        FORM "; boundary=\"abc\"d",
        FORM "; boundary=abc def",
        FORM "; boundary=\"abc \"",
        FORM "; boundary=a\"bc",
        FORM "; boundary=a\x01"
             "bc",
        FORM "; boundary=\"a\\\"bc\"",
        FORM "; boundary=caf\xC3\xA9",
        FORM "; boundary=abc; boundary=abc",
        FORM "; boundary=abc; =utf-8",
    };

    for (size_t i = 0; i < COUNT_OF(types); i++)
        expect(types[i], NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_boundary_is_found_anywhere_in_the_header),
        cmocka_unit_test(a_boundary_may_be_quoted),
        cmocka_unit_test(a_boundary_need_not_be_quoted),
        cmocka_unit_test(a_boundary_has_one_to_seventy_characters),
        cmocka_unit_test(an_invalid_boundary_is_not_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
