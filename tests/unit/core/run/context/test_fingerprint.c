#include <string.h>

#include "core/base/mem.h"
#include "core/run/context/fingerprint.h"
#include "tests/support/test.h"

#define CODE "text(1)"

static const struct seal seal = {.key = "a key of thirty-two bytes of it."};
static const struct tenant project = {.project = "proj_a"};
static const struct tenant stranger = {.project = "proj_b"};

static enum err_code open_with(const struct tenant *tenant, const char *sealed,
                               const char *code, struct fingerprint *ret_print)
{
    struct err err;

    return fingerprint_open(&seal, tenant, sealed, code, ret_print, &err);
}

TEST(a_fingerprint_comes_back_as_it_was)
{
    struct fingerprint print, back = {0};
    AUTO_FREE char *sealed = NULL;

    fingerprint_make(&print);
    sealed = fingerprint_seal(&seal, &project, &print, CODE);
    assert_null(strstr(sealed, print.seed));
    assert_int_equal(open_with(&project, sealed, CODE, &back), ERR_OK);
    assert_string_equal(back.seed, print.seed);
    assert_int_equal(back.now_ms, print.now_ms);
    assert_int_equal(strlen(print.seed), PROGRAM_SEED_DIGITS);
}

TEST(a_fingerprint_is_of_one_code_and_one_project)
{
    struct fingerprint print, back;
    AUTO_FREE char *sealed = NULL;

    fingerprint_make(&print);
    sealed = fingerprint_seal(&seal, &project, &print, CODE);
    assert_int_equal(open_with(&project, sealed, CODE " ", &back), ERR_INVALID);
    assert_int_equal(open_with(&stranger, sealed, CODE, &back), ERR_INVALID);
    sealed[strlen(sealed) / 2] ^= 1;
    assert_int_equal(open_with(&project, sealed, CODE, &back), ERR_INVALID);
    assert_int_equal(open_with(&project, "", CODE, &back), ERR_INVALID);
}

/* What a seal of another kind holds is no fingerprint. */
TEST(other_sealed_text_is_no_fingerprint)
{
    static const char text[] = "{\"v\": 1, \"summary\": \"\"}";
    AUTO_FREE char *sealed = seal_text(&seal, project.project, text, strlen(text));
    struct fingerprint back;

    assert_int_equal(open_with(&project, sealed, CODE, &back), ERR_INVALID);
}

TEST(ids_of_calls_follow_from_the_fingerprint)
{
    struct fingerprint print, other;
    char first[ID_SIZE], again[ID_SIZE], second[ID_SIZE], others[ID_SIZE];

    fingerprint_make(&print);
    fingerprint_make(&other);
    fingerprint_call_id(&print, 0, first);
    fingerprint_call_id(&print, 0, again);
    fingerprint_call_id(&print, 1, second);
    fingerprint_call_id(&other, 0, others);
    assert_string_equal(first, again);
    assert_string_not_equal(first, second);
    assert_string_not_equal(first, others);
    assert_true(id_has_prefix(first, "call_"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fingerprint_comes_back_as_it_was),
        cmocka_unit_test(a_fingerprint_is_of_one_code_and_one_project),
        cmocka_unit_test(other_sealed_text_is_no_fingerprint),
        cmocka_unit_test(ids_of_calls_follow_from_the_fingerprint),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
