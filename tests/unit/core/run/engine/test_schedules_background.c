/*
 * Schedules of responses in the background. As runs of threads they are continued by any node; unlike them
 * they are stored by their own loop, so the first write is part of the race, and a client is answered only
 * after it.
 */

#include "tests/unit/core/run/engine/schedule.h"

int main(void)
{
    return explore_main(&(struct exploration){
        .scenarios = background_scenarios,
        .orders = 2,
        .pairs = 80,
        .randoms = 100,
        .at_least = 23000,
    });
}
