#ifndef RUNNEL_CORE_INGEST_SAMPLE_TEXTS_H
#define RUNNEL_CORE_INGEST_SAMPLE_TEXTS_H

/*
 * sample_texts.h -- texts by which an embeddings model is known: prose of several kinds in English and Chinese, some
 * other languages, code, tables. Their mean stands for what all texts of a model have in common (vectors.h).
 *
 * A changed text is another model to vector_model.c, so they stay as they are.
 */

#define SAMPLE_TEXTS 64

extern const char *const sample_texts[SAMPLE_TEXTS];

#endif
