#ifndef RUNNEL_CORE_BASE_YAML_H
#define RUNNEL_CORE_BASE_YAML_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/err.h"

/*
 * yaml.h -- YAML as a tree of values, each with its line.
 *
 * Every scalar is text, as it was written. Its reader decides what the text means, so `port: 0800`
 * and `name: no` are what the writer sees, and YAML's guesses about types do not matter.
 *
 * An alias is the same value as its anchor. So a short text may be a large tree, or an endless one
 * (`&a [*a]`): a reader that walks the tree limits the depth and the number of values that it visits.
 * Keys may be given twice; that is for the reader to refuse, too.
 *
 * The text is UTF-8, with or without a byte order mark, and has one document. Pure functions: any
 * thread. A tree is never changed, so several threads may read it.
 */

enum yaml_kind {
    YAML_TEXT,
    YAML_LIST,
    YAML_MAP,
};

/* Belongs to its tree, with all that it points to. */
struct yaml_value {
    enum yaml_kind kind;
    size_t line;      /* where it begins; from 1 */
    bool plain;       /* a text without quotes, which may stand for null, true or a number */
    const char *text; /* of a YAML_TEXT; ends in a NUL that does not count */
    size_t length;
    size_t count;                          /* values of a list, or pairs of a map */
    const struct yaml_value *const *items; /* of a YAML_LIST */
    const struct yaml_pair *pairs;         /* of a YAML_MAP, in their order */
};

struct yaml_pair {
    const struct yaml_value *key; /* of any kind */
    const struct yaml_value *value;
};

struct yaml_tree;

/* The caller frees *ret_tree. ERR_INVALID if the text is not YAML, or has a second document: the error
 * says what is wrong, and *ret_line where. */
enum err_code yaml_tree_parse(const char *text, size_t length, struct yaml_tree **ret_tree,
                              size_t *ret_line, struct err *err) MUST_CHECK;
void yaml_tree_free(struct yaml_tree *tree); /* NULL is fine */

/* NULL if the text has no value: it is empty, or has only comments. */
const struct yaml_value *yaml_tree_root(const struct yaml_tree *tree);

/* The value of the first key of that name in a YAML_MAP, or NULL. */
const struct yaml_value *yaml_map_get(const struct yaml_value *map, const char *name);

#endif
