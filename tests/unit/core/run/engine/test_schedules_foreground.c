#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/core/run/engine/schedule.h"

static void every_schedule_keeps_the_rules(void **state)
{
    (void)state;
    explore(&(struct exploration){
        .scenarios = foreground_scenarios,
        .orders = 2,
        .pairs = 700,
        .randoms = 700,
        .at_least = 20000,
    });
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_schedule_keeps_the_rules)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
