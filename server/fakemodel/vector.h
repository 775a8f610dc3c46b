#ifndef RUNNEL_SERVER_FAKEMODEL_VECTOR_H
#define RUNNEL_SERVER_FAKEMODEL_VECTOR_H

#include <jansson.h>
#include <stddef.h>

/*
 * fakemodel/vector.h -- texts as vectors: the embeddings of a model that only counts words.
 *
 * Each word adds one to a place, up or down, that its hash decides. So texts that share words are near
 * each other, as an application that searches by embeddings needs it, and the same text has the same
 * vector on every machine. A Chinese character is a word. Some words mean the same, so that tests can distinguish a
 * search by meaning from one by words: "car", "automobile" and "vehicle", for example (vector.c). Length 1, as
 * OpenAI's.
 */

#define VECTOR_LENGTH       64 /* without `dimensions` */
#define VECTOR_LENGTH_LIMIT 4096

/* `text` is a string, or an array of tokens, of which each is a word. Fills `ret_vector`. */
void vector_of(const json_t *text, float *ret_vector, size_t length);

/* The cosine of the angle between two texts: 1 for the same words. */
double vector_likeness(const json_t *a, const json_t *b);

#endif
