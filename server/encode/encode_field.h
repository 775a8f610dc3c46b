#ifndef RUNNEL_SERVER_ENCODE_ENCODE_FIELD_H
#define RUNNEL_SERVER_ENCODE_ENCODE_FIELD_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "core/domain/rows.h"

/*
 * encode_field.h -- fills in single fields of objects; only for encode*.c.
 *
 * Values are shared with their source and not copied. The source must belong to the caller alone and must not
 * be changed afterwards. Otherwise the functions are pure: any thread.
 */

/* `fallback` is the JSON text that a field without a value shows; NULL for null. */
struct field {
    const char *key;
    const char *fallback;
};

/* object[key] = source[key], or the fallback when that is absent or null. */
void field_copy(json_t *object, const json_t *source, const struct field *field);
void field_copy_all(json_t *object, const json_t *source, const struct field *fields,
                    size_t count);
/* The same, but a field that is absent or null is left out. */
void field_copy_present(json_t *object, const json_t *source, const char *key);

/* object["tools"] as clients see it. Without secrets: authorization and headers go to the remote server only, and no
 * client reads them back. A shell with container_auto has become one with container_reference, if its run has found
 * the container. */
void field_show_tools(json_t *object);

/* Fields from columns: JSON text or its fallback; an id, null for ""; a time in seconds, null for 0. */
void field_set_own(json_t *object, const char *key, const char *text, const char *fallback);
void field_set_id(json_t *object, const char *key, const char *id);
void field_set_time(json_t *object, const char *key, int64_t microseconds);

/* runnel.unavailable_tools, if the run with this snapshot goes on without tools of its request. */
void field_set_unavailable(json_t *object, const json_t *snapshot);

/* {"id","object","created_at"}. New reference. */
json_t *encode_new(const char *id, const char *object, int64_t created_at);

/* {"reason"} from a run's `incomplete`, with the reason's name in that API; null for NULL. */
json_t *encode_incomplete(const char *incomplete, enum row_face face);

#endif
