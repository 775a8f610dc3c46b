/*
 * upstreams.c -- which upstream serves a model, and the tokenizers of all upstreams.
 *
 * The first upstream in the configured order whose patterns match serves the model. There is no fallback to
 * the next one, so all turns of a run go to one upstream. No other upstream accepts the reasoning that it
 * sealed, or the data that it attached to calls.
 *
 * Rank files are megabytes as text and more in memory. Upstreams that name the same file share one
 * tokenizer, which the first of them owns. All are loaded at start, before there are other threads, and
 * never change, so that nothing needs a lock.
 */

#include <string.h>

#include "core/model/model.h"
#include "core/model/tokens/tokenizer.h"

/* ---- Tokenizers ---- */

static bool same_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

/* The tokenizer of an earlier upstream with the same file, or NULL. */
static struct tokenizer *loaded_before(const struct model_upstream *list, size_t at)
{
    for (size_t i = 0; i < at; i++) {
        if (same_text(list[i].tokenizer_file, list[at].tokenizer_file) &&
            same_text(list[i].tokenizer_split, list[at].tokenizer_split))
            return list[i].tokenizer;
    }
    return NULL;
}

enum err_code model_upstreams_load(struct model_upstream *list, size_t count, struct err *err)
{
    for (size_t i = 0; i < count; i++) {
        struct err why;

        if (!list[i].tokenizer_file)
            continue;
        list[i].tokenizer = loaded_before(list, i);
        if (list[i].tokenizer ||
            !tokenizer_load(list[i].tokenizer_file, list[i].tokenizer_split, &list[i].tokenizer,
                            &why))
            continue;
        model_upstreams_unload(list, i);
        return err_set(err, ERR_INVALID, "the tokenizer of upstream %.64s: %s", list[i].name,
                       why.text);
    }
    return ERR_OK;
}

void model_upstreams_unload(struct model_upstream *list, size_t count)
{
    for (size_t i = count; i-- > 0;) {
        if (!loaded_before(list, i))
            tokenizer_free(list[i].tokenizer);
        list[i].tokenizer = NULL;
    }
}

/* ---- The upstream of a model ---- */

/* A pattern is a name, or the beginning of one and a star. */
static bool pattern_matches(const char *pattern, const char *model)
{
    size_t length = strlen(pattern);

    if (length && pattern[length - 1] == '*')
        return strncmp(pattern, model, length - 1) == 0;
    return strcmp(pattern, model) == 0;
}

static bool upstream_serves(const struct model_upstream *upstream, const char *model)
{
    for (const char *const *pattern = upstream->models; *pattern; pattern++) {
        if (pattern_matches(*pattern, model))
            return true;
    }
    return false;
}

const struct model_upstream *model_upstream_find(const struct model_upstream *list,
                                                 size_t count, const char *model)
{
    for (size_t i = 0; i < count; i++) {
        if (upstream_serves(&list[i], model))
            return &list[i];
    }
    return NULL;
}
