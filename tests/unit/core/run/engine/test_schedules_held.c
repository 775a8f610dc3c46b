#include "tests/unit/core/run/engine/schedule.h"

int main(void)
{
    return explore_main(&(struct exploration){
        .scenarios = held_scenarios,
        .orders = 2,
        .pairs = 700,
        .randoms = 700,
        .at_least = 20000,
    });
}
