#include "core/ingest/embeddings_answer.h"

#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/base64.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/utf8.h"
#include "core/retrieval/segment.h"
#include "core/retrieval/vectors.h"

#define COMPLAINT_LIMIT ((size_t)200) /* bytes that are quoted */

struct reading {
    size_t count;
    uint32_t dimensions; /* 0: not known yet */
    float *vectors;      /* NULL until they are known */
    bool *seen;
};

static enum err_code refuse(struct err *err, const char *what)
{
    return err_set(err, ERR_UPSTREAM, "the answer of the embeddings model %s", what);
}

/* The first vector says how long all are, unless the caller knows. */
static enum err_code find_room(struct reading *reading, size_t length, struct err *err)
{
    if (!reading->dimensions && length && length <= SEGMENT_DIMENSIONS_MAX)
        reading->dimensions = (uint32_t)length;
    if (!length || length != reading->dimensions)
        return err_set(err, ERR_UPSTREAM,
                       "the answer of the embeddings model has a vector of %zu dimensions "
                       "instead of %u",
                       length, reading->dimensions);
    if (!reading->vectors)
        reading->vectors = mem_new_array(float, reading->count * reading->dimensions);
    return ERR_OK;
}

static float float_of(const char *bytes)
{
    uint32_t bits = (uint32_t)(unsigned char)bytes[0] | (uint32_t)(unsigned char)bytes[1] << 8 |
                    (uint32_t)(unsigned char)bytes[2] << 16 |
                    (uint32_t)(unsigned char)bytes[3] << 24;
    float number;

    memcpy(&number, &bits, sizeof(number));
    return number;
}

/* Little-endian, as the API says. */
static enum err_code read_packed(struct reading *reading, size_t place, const json_t *value,
                                 struct err *err)
{
    size_t length = 0;
    AUTO_FREE char *bytes =
        base64_decode(json_string_value(value), json_string_length(value), &length);
    enum err_code rc;

    if (!bytes || length % sizeof(float))
        return refuse(err, "has a vector that is no base64 of numbers");
    rc = find_room(reading, length / sizeof(float), err);
    for (size_t i = 0; !rc && i < reading->dimensions; i++)
        reading->vectors[place * reading->dimensions + i] = float_of(bytes + 4 * i);
    return rc;
}

static enum err_code read_numbers(struct reading *reading, size_t place, const json_t *list,
                                  struct err *err)
{
    enum err_code rc = find_room(reading, json_array_size(list), err);
    const json_t *number;
    size_t i;

    json_array_foreach (list, i, number) {
        if (rc)
            return rc;
        if (!json_is_number(number))
            return refuse(err, "has a vector with something else than numbers in it");
        reading->vectors[place * reading->dimensions + i] = (float)json_number_value(number);
    }
    return rc;
}

static enum err_code read_vector(struct reading *reading, size_t n, const json_t *entry,
                                 struct err *err)
{
    const json_t *value = json_object_get(entry, "embedding");
    json_int_t place = json_get_int(entry, "index", (json_int_t)n);
    const float *vector;
    enum err_code rc;

    if (place < 0 || (size_t)place >= reading->count || reading->seen[place])
        return refuse(err, "names the place of a text twice, or one that there is not");
    reading->seen[place] = true;
    rc = json_is_string(value) ? read_packed(reading, (size_t)place, value, err)
                               : read_numbers(reading, (size_t)place, value, err);
    if (rc)
        return rc;
    vector = reading->vectors + (size_t)place * reading->dimensions;
    for (size_t i = 0; i < reading->dimensions; i++) {
        if (!isfinite(vector[i]))
            return refuse(err, "has a number that is not finite");
    }
    return ERR_OK;
}

enum err_code embeddings_answer_read(const char *text, size_t length, size_t count,
                                     uint32_t dimensions, struct embedded *ret_embedded,
                                     struct err *err)
{
    AUTO_FREE bool *seen = mem_zeroed(count + 1, sizeof(bool));
    struct reading reading = {.count = count, .dimensions = dimensions, .seen = seen};
    json_auto_t *answer = NULL;
    const json_t *data, *entry;
    enum err_code rc = ERR_OK;
    size_t i;

    if (json_parse(text, length, &answer, NULL))
        return refuse(err, "is no JSON");
    data = json_object_get(answer, "data");
    if (json_array_size(data) != count)
        return err_set(err, ERR_UPSTREAM,
                       "the answer of the embeddings model has %zu vectors for %zu texts",
                       json_array_size(data), count);
    json_array_foreach (data, i, entry) {
        rc = read_vector(&reading, i, entry, err);
        if (rc)
            break;
    }
    if (rc) {
        free(reading.vectors);
        return rc;
    }
    for (i = 0; i < count; i++)
        vectors_normalize(reading.vectors + i * reading.dimensions, reading.dimensions);
    *ret_embedded = (struct embedded){
        .vectors = reading.vectors,
        .dimensions = reading.dimensions,
        .tokens = (uint64_t)json_get_int(json_object_get(answer, "usage"), "total_tokens", 0),
        .packed = json_is_string(json_object_get(json_array_get(data, 0), "embedding"))};
    return ERR_OK;
}

char *embeddings_answer_complaint(const char *text, size_t length)
{
    json_auto_t *answer = NULL;
    const char *message;

    if (json_parse(text, length, &answer, NULL))
        return mem_strdup("");
    message = json_get_string(json_object_get(answer, "error"), "message",
                              json_get_string(answer, "message", ""));
    length = strlen(message);
    return mem_strndup(message,
                       utf8_fit(message, length < COMPLAINT_LIMIT ? length : COMPLAINT_LIMIT));
}
