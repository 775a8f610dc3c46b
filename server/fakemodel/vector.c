#include "server/fakemodel/vector.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#include "core/base/hash.h"

static void add_word(uint32_t hash, float *vector, size_t length)
{
    vector[(hash >> 1) % length] += hash & 1 ? 1.0F : -1.0F;
}

static void add_words(const char *text, float *vector, size_t length)
{
    uint32_t hash = HASH_OF_NOTHING;

    for (;; text++) {
        unsigned char byte = (unsigned char)*text;

        if (isalnum(byte) || byte >= 0x80) {
            hash = hash_byte(hash, (unsigned char)tolower(byte));
        } else if (hash != HASH_OF_NOTHING) {
            add_word(hash, vector, length);
            hash = HASH_OF_NOTHING;
        }
        if (!byte)
            return;
    }
}

static uint32_t hash_token(const json_t *token)
{
    json_int_t number = json_integer_value(token);
    uint32_t hash = HASH_OF_NOTHING;

    for (; number > 0; number >>= 8)
        hash = hash_byte(hash, (unsigned char)(number & 0xff));
    return hash;
}

static void normalize(float *vector, size_t length)
{
    float sum = 0;

    for (size_t i = 0; i < length; i++)
        sum += vector[i] * vector[i];
    if (sum == 0) /* no words, or words that cancel each other */
        vector[0] = sum = 1;
    for (size_t i = 0; i < length; i++)
        vector[i] /= sqrtf(sum);
}

void vector_of(const json_t *text, float *ret_vector, size_t length)
{
    const json_t *token;
    size_t i;

    memset(ret_vector, 0, length * sizeof(*ret_vector));
    if (json_is_string(text))
        add_words(json_string_value(text), ret_vector, length);
    json_array_foreach (text, i, token)
        add_word(hash_token(token), ret_vector, length);
    normalize(ret_vector, length);
}

double vector_likeness(const json_t *a, const json_t *b)
{
    float left[VECTOR_LENGTH];
    float right[VECTOR_LENGTH];
    double sum = 0;

    vector_of(a, left, VECTOR_LENGTH);
    vector_of(b, right, VECTOR_LENGTH);
    for (size_t i = 0; i < VECTOR_LENGTH; i++)
        sum += (double)left[i] * (double)right[i];
    return sum;
}
