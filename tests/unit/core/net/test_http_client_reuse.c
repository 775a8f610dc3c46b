/*
 * What one call leaves behind must not harm the next one: every way to end, followed by every kind
 * of call, with the handles and connections that libcurl keeps. A sanitizer sees writes out of
 * bounds; without one, the answers must be whole and the process alive.
 */

#include "tests/support/test.h"
#include "tests/unit/core/net/http_endings.h"
#include "tests/unit/core/net/name_server.h"

TEST(every_kind_of_call_works_after_every_other_kind)
{
    for (size_t ending = 0; ending < http_ending_count; ending++)
        for (size_t follower = 0; follower < http_follower_count; follower++) {
            http_end_a_call(*state, ending);
            http_follow_with(*state, follower);
        }
}

/* Several handles of one kind wait for their next use at once. */
TEST(any_number_of_calls_may_end_at_once)
{
    for (size_t ending = 0; ending < http_ending_count; ending++) {
        for (int i = 0; i < 3; i++)
            http_end_a_call(*state, ending);
        for (int i = 0; i < 3; i++)
            http_follow_with(*state, 0);
    }
}

static int begin(void **state)
{
    name_server_init();
    http_endings_begin();
    return start_http(state);
}

static int end(void **state)
{
    http_endings_end();
    return end_http(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        client_test(every_kind_of_call_works_after_every_other_kind),
        client_test(any_number_of_calls_may_end_at_once),
    };

    return cmocka_run_group_tests(tests, begin, end);
}
