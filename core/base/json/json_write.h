#ifndef RUNNEL_CORE_BASE_JSON_JSON_WRITE_H
#define RUNNEL_CORE_BASE_JSON_JSON_WRITE_H

#include <jansson.h>

#include "core/base/buf.h"

/* json_write.h -- a tree as compact text. Any thread that owns the tree. */

/* Adds what json_dumps() writes with JSON_TEXT_FLAGS, and written numbers (json_number.h) as numbers. */
void json_write(struct buf *buf, const json_t *value);

#endif
