#ifndef RUNNEL_TESTS_SUPPORT_TEST_H
#define RUNNEL_TESTS_SUPPORT_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs the four above. */
#include <cmocka.h>

/*
 * test.h -- cmocka, with what it needs, and how a test begins.
 *
 *     TEST(closing_lets_waiting_workers_go)
 *     {
 *         ...
 *     }
 *
 * `state` is what the set-up of the test, or of its group, has left there. main() lists the tests.
 */

#define TEST(name) static void name(__attribute__((unused)) void **state)

#endif
