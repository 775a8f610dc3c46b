#ifndef RUNNEL_SERVER_ENCODE_ENCODE_FIELD_H
#define RUNNEL_SERVER_ENCODE_ENCODE_FIELD_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "core/domain/rows.h"

/*
 * encode_field.h -- how single fields of objects are filled in; for encode*.c only.
 *
 * Values are shared with where they come from, not copied: what is given must be the caller's
 * own and not be changed afterwards.
 */

/* What a field shows when its source says nothing: JSON text, NULL for null. */
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

/* object["tools"] without what a client gave to reach servers of tools, which is told to them only:
 * nobody reads it back. */
void field_hide_secrets(json_t *object);

/* From columns: JSON text or its fallback; an id, null for ""; a time, null for 0. */
void field_set_own(json_t *object, const char *key, const char *text, const char *fallback);
void field_set_id(json_t *object, const char *key, const char *id);
void field_set_time(json_t *object, const char *key, int64_t microseconds);

/* {"id","object","created_at"}. New reference. */
json_t *encode_new(const char *id, const char *object, int64_t created_at);

/* {"reason"} from a run's `incomplete`, in the words of the face; null for NULL. */
json_t *encode_incomplete(const char *incomplete, enum row_face face);

#endif
