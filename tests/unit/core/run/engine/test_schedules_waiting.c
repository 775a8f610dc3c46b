/*
 * Schedules of runs of threads that wait for their client: for outputs of functions, or for decisions. Such a
 * run leaves memory in requires_action, and each answer makes a new residency, perhaps on another node. The
 * incidents to look for are answers that come twice, too early, too late, or while the run is being cancelled.
 */

#include "tests/unit/core/run/engine/schedule.h"

int main(void)
{
    return explore_main(&(struct exploration){
        .scenarios = waiting_scenarios,
        .orders = 2,
        .pairs = 80,
        .randoms = 100,
        .at_least = 38000,
    });
}
