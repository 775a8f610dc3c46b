#include <string.h>

#include "core/base/mem.h"
#include "core/base/seal.h"
#include "tests/support/test.h"

static struct seal seal;

static enum err_code open_it(const struct seal *with, const char *domain, const char *sealed,
                             char **ret_text)
{
    size_t length = 0;
    struct err err;
    enum err_code rc = seal_open(with, domain, sealed, ret_text, &length, &err);

    if (!rc)
        assert_int_equal(length, strlen(*ret_text));
    return rc;
}

TEST(a_sealed_text_can_be_opened)
{
    static const char *const texts[] = {"", "a", "The secret of the pyramids \xe2\x98\x83"};

    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        AUTO_FREE char *sealed = seal_text(&seal, "p", texts[i], strlen(texts[i]));
        AUTO_FREE char *text = NULL;

        assert_int_equal(open_it(&seal, "p", sealed, &text), ERR_OK);
        assert_string_equal(text, texts[i]);
        assert_true(!*texts[i] || !strstr(sealed, texts[i]) || strlen(texts[i]) < 4);
        assert_int_equal(strspn(sealed, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                        "0123456789-_"),
                         strlen(sealed));
    }
}

TEST(sealing_twice_gives_two_texts)
{
    AUTO_FREE char *one = seal_text(&seal, "p", "same", 4);
    AUTO_FREE char *two = seal_text(&seal, "p", "same", 4);

    assert_string_not_equal(one, two);
}

TEST(every_altered_character_is_noticed)
{
    AUTO_FREE char *sealed = seal_text(&seal, "p", "hello", 5);
    char *text = NULL;

    for (size_t i = 0; sealed[i]; i++) {
        char kept = sealed[i];

        sealed[i] = kept == 'A' ? 'B' : 'A';
        assert_int_equal(open_it(&seal, "p", sealed, &text), ERR_INVALID);
        sealed[i] = kept;
    }
    assert_null(text);
    for (size_t length = strlen(sealed); length-- > 0;) {
        sealed[length] = '\0';
        assert_int_equal(open_it(&seal, "p", sealed, &text), ERR_INVALID);
    }
}

TEST(garbage_is_refused)
{
    static const char *const texts[] = {
        "", "A", "====", "hello world", "AAAAAAAAAAAAAAAA", "gAAAAABpM0Yj-="};
    char *text = NULL;

    for (size_t i = 0; i < COUNT_OF(texts); i++)
        assert_int_equal(open_it(&seal, "p", texts[i], &text), ERR_INVALID);
}

TEST(another_domain_or_key_cannot_open_it)
{
    AUTO_FREE char *sealed = seal_text(&seal, "p", "hello", 5);
    struct seal other;
    char *text = NULL;

    seal_make_key(other.key);
    assert_int_equal(open_it(&seal, "q", sealed, &text), ERR_INVALID);
    assert_int_equal(open_it(&seal, "", sealed, &text), ERR_INVALID);
    assert_int_equal(open_it(&other, "p", sealed, &text), ERR_INVALID);
}

static int make_key(void **state)
{
    (void)state;
    seal_make_key(seal.key);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sealed_text_can_be_opened),
        cmocka_unit_test(sealing_twice_gives_two_texts),
        cmocka_unit_test(every_altered_character_is_noticed),
        cmocka_unit_test(garbage_is_refused),
        cmocka_unit_test(another_domain_or_key_cannot_open_it),
    };

    return cmocka_run_group_tests(tests, make_key, NULL);
}
