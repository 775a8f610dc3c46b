/*
 * Schedules of runs of threads that need nothing from their client. Any node may continue them, so a crash, a
 * lost lease or a drain must never be seen in the result: the run completes, each call is executed at most
 * once, and a stream that joins again sees every frame once.
 */

#include "tests/unit/core/run/engine/schedule.h"

int main(void)
{
    return explore_main(&(struct exploration){
        .scenarios = run_scenarios,
        .orders = 2,
        .pairs = 80,
        .randoms = 100,
        .at_least = 17500,
    });
}
