/*
 * Schedules of responses in the foreground. They live as long as their connection: a client that hangs up
 * cancels one, and a node that dies fails it. Text leaves before it is stored, so barriers are what is
 * tested: a client must see nothing that it can act on before the database has it.
 */

#include "tests/unit/core/run/engine/schedule.h"

int main(void)
{
    return explore_main(&(struct exploration){
        .scenarios = foreground_scenarios,
        .orders = 2,
        .pairs = 80,
        .randoms = 100,
        .at_least = 14000,
    });
}
