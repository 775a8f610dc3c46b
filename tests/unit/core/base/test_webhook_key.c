/* F44: the key that signs webhooks. */

#include <string.h>

#include "core/base/mem.h"
#include "core/base/webhook_key.h"
#include "tests/support/test.h"

/* The example of the specification, which its libraries are tested with. */
#define SECRET    "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
#define ID        "msg_p5jXN8AQM9LWM0D4loKWxJek"
#define SECONDS   1614265330
#define BODY      "{\"test\": 2432232314}"
#define SIGNATURE "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="

TEST(a_signature_matches_the_example_of_the_specification)
{
    struct webhook_key key;
    AUTO_FREE char *signature = NULL;

    assert_true(webhook_key_parse(SECRET, &key));
    assert_int_equal(key.length, 24);
    signature = webhook_sign(&key, ID, SECONDS, BODY, strlen(BODY));
    assert_string_equal(signature, SIGNATURE);
}

TEST(another_body_or_moment_has_another_signature)
{
    struct webhook_key key;
    AUTO_FREE char *later = NULL;
    AUTO_FREE char *shorter = NULL;

    assert_true(webhook_key_parse(SECRET, &key));
    later = webhook_sign(&key, ID, SECONDS + 1, BODY, strlen(BODY));
    shorter = webhook_sign(&key, ID, SECONDS, BODY, strlen(BODY) - 1);
    assert_string_not_equal(later, SIGNATURE);
    assert_string_not_equal(shorter, SIGNATURE);
}

TEST(invalid_secrets_are_refused)
{
    static const char *const wrong[] = {
        "",
        "whsec_",
        "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        "whsec_c2hvcnQ=",
        "whsec_!!!!",
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
    };
    struct webhook_key key;

    for (size_t i = 0; i < COUNT_OF(wrong); i++)
        assert_false(webhook_key_parse(wrong[i], &key));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_signature_matches_the_example_of_the_specification),
        cmocka_unit_test(another_body_or_moment_has_another_signature),
        cmocka_unit_test(invalid_secrets_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
