/* Base64, padded or not. */

#include "core/base/base64.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/compiler.h"
#include "core/base/mem.h"
#include "tests/support/test.h"

TEST(padding_may_be_missing)
{
    static const char *const texts[] = {"Zm9vYg==", "Zm9vYg", "Zm9vYg="};

    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        size_t length = 0;
        AUTO_FREE char *bytes = base64_decode(texts[i], strlen(texts[i]), &length);

        assert_non_null(bytes);
        assert_int_equal(length, 4);
        assert_string_equal(bytes, "foob");
    }
}

TEST(bytes_may_be_zero_and_there_may_be_none)
{
    size_t length = 9;
    AUTO_FREE char *bytes = base64_decode("AAAB", 4, &length);
    AUTO_FREE char *none = base64_decode("", 0, &length);

    assert_memory_equal(bytes, "\0\0\1", 3);
    assert_non_null(none);
    assert_int_equal(length, 0);
}

TEST(what_is_no_base64_is_refused)
{
    static const char *const texts[] = {"Z", "Zm9v!A==", "Zm 9v", "Zm9v\n", "Zm-_", "===="};
    size_t length;

    for (size_t i = 0; i < COUNT_OF(texts); i++)
        assert_null(base64_decode(texts[i], strlen(texts[i]), &length));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(padding_may_be_missing),
        cmocka_unit_test(bytes_may_be_zero_and_there_may_be_none),
        cmocka_unit_test(what_is_no_base64_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
