#include "server/fakemodel/vector.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#include "core/base/hash.h"

static void add_word(uint32_t hash, float *vector, size_t length)
{
    vector[(hash >> 1) % length] += hash & 1 ? 1.0F : -1.0F;
}

/* Each means the first of its line. */
static const char *const synonyms[][4] = {
    {"car", "automobile", "vehicle"},
    {"doctor", "physician", "medic"},
    {"battery", "accumulator"},
    {"warranty", "guarantee"},
    {"rice", "grain"},
    {"boil", "simmer"},
    {"begin", "start", "commence"},
};

#define WORD_LIMIT ((size_t)63) /* bytes of a word that are looked at */

static const char *meaning_of(const char *word)
{
    for (size_t i = 0; i < sizeof(synonyms) / sizeof(*synonyms); i++) {
        for (size_t j = 1; j < 4 && synonyms[i][j]; j++) {
            if (strcmp(synonyms[i][j], word) == 0)
                return synonyms[i][0];
        }
    }
    return word;
}

/* The next word: a run of letters and digits, or one character of three bytes or more. Returns its length. */
static size_t next_word(const char *text, char word[WORD_LIMIT + 1])
{
    size_t length = 0, kept = 0;

    for (unsigned char byte; (byte = (unsigned char)text[length]); length++) {
        if ((!isalnum(byte) && byte < 0x80) || (length && byte >= 0xE0) ||
            (length && (unsigned char)text[0] >= 0xE0 && byte < 0x80))
            break;
        if (kept < WORD_LIMIT)
            word[kept++] = (char)tolower(byte);
    }
    word[kept] = '\0';
    return length;
}

static void add_words(const char *text, float *vector, size_t length)
{
    char word[WORD_LIMIT + 1];

    while (*text) {
        size_t taken = next_word(text, word);

        if (taken)
            add_word(hash_text(meaning_of(word)), vector, length);
        text += taken ? taken : 1;
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
