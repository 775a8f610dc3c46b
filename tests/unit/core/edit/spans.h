#ifndef RUNNEL_TESTS_UNIT_CORE_EDIT_SPANS_H
#define RUNNEL_TESTS_UNIT_CORE_EDIT_SPANS_H

#include <string.h>

#include "core/edit/lines.h"

/* spans.h -- for the tests of this room. */

/* The whole text; NULL is an empty span. */
static inline struct edit_span span_of(const char *text)
{
    return (struct edit_span){text, text ? strlen(text) : 0};
}

#endif
