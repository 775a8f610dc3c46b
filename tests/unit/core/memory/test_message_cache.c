/* F33: names of messages, and the shortened text that the model sees. */

#include <string.h>

#include "core/base/mem.h"
#include "core/memory/message_cache.h"
#include "tests/support/test.h"

TEST(a_name_is_derived_from_the_text_and_can_be_referred_to)
{
    char name[VARIABLE_NAME_LIMIT + 1], other[VARIABLE_NAME_LIMIT + 1];

    message_cache_name("abc", name);
    assert_string_equal(name, "Message_ba7816bf8f01cfea");
    assert_true(variable_name_fits(name));
    assert_true(variable_is_message(name));
    message_cache_name("abcd", other);
    assert_string_not_equal(name, other);
}

TEST(only_names_of_that_form_belong_to_messages)
{
    static const char *const others[] = {"Message_",
                                         "Message_1",
                                         "Message_ba7816bf8f01cfe",
                                         "Message_ba7816bf8f01cfea0",
                                         "Message_BA7816BF8F01CFEA",
                                         "message_ba7816bf8f01cfea",
                                         "Message_ba7816bf8f01cfe-",
                                         "Message_ba7816bf8f01cfea_result",
                                         "ba7816bf8f01cfea",
                                         ""};

    for (size_t i = 0; i < COUNT_OF(others); i++) {
        if (variable_is_message(others[i]))
            fail_msg("%s", others[i]);
    }
}

TEST(a_message_is_listed_without_its_text_and_read_with_it)
{
    struct message_cache *cache = message_cache_new();
    char name[VARIABLE_NAME_LIMIT + 1];
    struct variable listed, read;
    struct err err;

    message_cache_add(cache, "user", "\303\244\n- b");
    message_cache_name("\303\244\n- b", name);
    assert_true(message_cache_at(cache, 0, &listed));
    assert_false(message_cache_at(cache, 1, &read));
    assert_int_equal(message_cache_get(cache, name, &read, &err), ERR_OK);
    message_cache_release(cache);
    assert_null(listed.value);
    assert_string_equal(listed.name, name);
    assert_string_equal(listed.description, "Message of the user: \303\244 - b...");
    assert_int_equal(listed.length, 5);
    assert_int_equal(listed.type, VARIABLE_MESSAGE_CACHE);
    assert_string_equal(read.value, "\303\244\n- b");
    assert_false(variable_is_trusted(&read));
    variable_clear(&listed);
    variable_clear(&read);
}

TEST(the_same_text_is_kept_once)
{
    struct message_cache *cache = message_cache_new();

    message_cache_add(cache, "user", "one");
    message_cache_add(cache, "assistant", "two");
    message_cache_add(cache, "assistant", "one");
    assert_int_equal(message_cache_count(cache), 2);
    message_cache_release(cache);
}

TEST(any_holder_may_be_the_last_to_release_it)
{
    struct message_cache *cache = message_cache_new();
    struct message_cache *held = message_cache_hold(cache);

    message_cache_add(cache, "user", "one");
    message_cache_release(cache);
    assert_int_equal(message_cache_count(held), 1);
    message_cache_release(held);
}

TEST(without_a_cache_nothing_is_found)
{
    struct variable variable;
    struct err err;

    assert_null(message_cache_hold(NULL));
    message_cache_release(NULL);
    assert_int_equal(message_cache_count(NULL), 0);
    assert_false(message_cache_at(NULL, 0, &variable));
    assert_int_equal(message_cache_get(NULL, "Message_ba7816bf8f01cfea", &variable, &err),
                     ERR_NOT_FOUND);
    assert_string_equal(err.text, "Variable 'Message_ba7816bf8f01cfea' not found.");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_is_derived_from_the_text_and_can_be_referred_to),
        cmocka_unit_test(only_names_of_that_form_belong_to_messages),
        cmocka_unit_test(a_message_is_listed_without_its_text_and_read_with_it),
        cmocka_unit_test(the_same_text_is_kept_once),
        cmocka_unit_test(any_holder_may_be_the_last_to_release_it),
        cmocka_unit_test(without_a_cache_nothing_is_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
