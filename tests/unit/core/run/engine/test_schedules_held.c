/*
 * Schedules of responses that wait for a person with their request open, of those that suspend instead, and of
 * those that are not stored. Decisions come from other nodes, are repeated, contradict each other, or come when
 * nothing waits for them any more.
 */

#include "tests/unit/core/run/engine/schedule.h"

int main(void)
{
    return explore_main(&(struct exploration){
        .scenarios = held_scenarios,
        .orders = 2,
        .pairs = 80,
        .randoms = 100,
        .at_least = 20000,
    });
}
