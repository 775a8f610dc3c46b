#ifndef RUNNEL_TESTS_INTEGRATION_CORE_STORE_CONTAINERS_FAILING_H
#define RUNNEL_TESTS_INTEGRATION_CORE_STORE_CONTAINERS_FAILING_H

#include <stddef.h>

#include "core/base/err.h"
#include "core/base/fault.h"
#include "core/base/mem.h"
#include "tests/support/test.h"

/*
 * failing.h -- steps whose statements fail once, and then have changed nothing.
 */

struct failing {
    const char *point;
    enum err_code (*step)(void);
};

#ifdef RUNNEL_FAULTS
/* `all_rows` gives a text of all that may have changed, which is freed here. */
static inline void assert_undone(const struct failing *cases, size_t count,
                                 char *(*all_rows)(void))
{
    for (size_t i = 0; i < count; i++) {
        AUTO_FREE char *before = all_rows();
        AUTO_FREE char *after = NULL;

        fault_arm(cases[i].point, 1);
        assert_int_not_equal(cases[i].step(), ERR_OK);
        assert_true(fault_fired());
        fault_disarm();
        after = all_rows();
        assert_string_equal(after, before);
    }
}
#endif

#endif
