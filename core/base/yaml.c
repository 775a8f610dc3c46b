/*
 * YAML as a tree of values.
 *
 * libyaml makes a document: an array of nodes that name each other by index. Here each node becomes a
 * value, and indexes become pointers. The texts stay where libyaml has put them, in the document,
 * which lives as long as the tree. So a tree costs three more allocations, however large it is.
 *
 * Why not libyaml's document itself: then everyone who reads YAML includes its header, and each walks
 * stacks of indexes. Why not JSON, as jansson has it: it has no lines, and its null is one value for
 * all, so that an error message could not name the place.
 *
 * Values are shared where the text has aliases, and an alias may be inside of its own anchor. So this
 * is a graph, and nothing here walks it.
 */

#include "core/base/yaml.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "core/base/mem.h"

struct yaml_tree {
    yaml_document_t document;        /* owns the texts */
    struct yaml_value *values;       /* values[i] is node i + 1 of the document */
    const struct yaml_value **items; /* of all lists, one list behind the other */
    struct yaml_pair *pairs;         /* of all maps */
    size_t item_count, pair_count;   /* how many of them are used */
};

static size_t node_count(const yaml_document_t *document)
{
    return (size_t)(document->nodes.top - document->nodes.start);
}

static const struct yaml_value *value_at(const struct yaml_tree *tree, int index)
{
    return &tree->values[index - 1];
}

static void add_list(struct yaml_tree *tree, const yaml_node_t *node, struct yaml_value *value)
{
    const yaml_node_item_t *item = node->data.sequence.items.start;

    value->kind = YAML_LIST;
    value->items = tree->items + tree->item_count;
    for (; item < node->data.sequence.items.top; item++, value->count++)
        tree->items[tree->item_count++] = value_at(tree, *item);
}

static void add_map(struct yaml_tree *tree, const yaml_node_t *node, struct yaml_value *value)
{
    const yaml_node_pair_t *pair = node->data.mapping.pairs.start;

    value->kind = YAML_MAP;
    value->pairs = tree->pairs + tree->pair_count;
    for (; pair < node->data.mapping.pairs.top; pair++, value->count++)
        tree->pairs[tree->pair_count++] =
            (struct yaml_pair){value_at(tree, pair->key), value_at(tree, pair->value)};
}

static void add_text(const yaml_node_t *node, struct yaml_value *value)
{
    value->kind = YAML_TEXT;
    value->plain = node->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    value->text = (const char *)node->data.scalar.value;
    value->length = node->data.scalar.length;
}

/* Room for the children of all nodes. */
static void reserve(struct yaml_tree *tree)
{
    size_t items = 0, pairs = 0;

    for (const yaml_node_t *node = tree->document.nodes.start; node < tree->document.nodes.top;
         node++) {
        if (node->type == YAML_SEQUENCE_NODE)
            items += (size_t)(node->data.sequence.items.top - node->data.sequence.items.start);
        else if (node->type == YAML_MAPPING_NODE)
            pairs += (size_t)(node->data.mapping.pairs.top - node->data.mapping.pairs.start);
    }
    tree->values = mem_new_array(struct yaml_value, node_count(&tree->document) + 1);
    tree->items = mem_new_array(const struct yaml_value *, items + 1);
    tree->pairs = mem_new_array(struct yaml_pair, pairs + 1);
}

static void convert(struct yaml_tree *tree)
{
    size_t count = node_count(&tree->document);

    reserve(tree);
    for (size_t i = 0; i < count; i++) {
        const yaml_node_t *node = &tree->document.nodes.start[i];
        struct yaml_value *value = &tree->values[i];

        value->line = node->start_mark.line + 1;
        switch (node->type) {
        case YAML_SEQUENCE_NODE: add_list(tree, node, value); break;
        case YAML_MAPPING_NODE: add_map(tree, node, value); break;
        case YAML_SCALAR_NODE: add_text(node, value); break;
        case YAML_NO_NODE: assert(false); /* the loader makes none */
        }
    }
}

static enum err_code not_yaml(const yaml_parser_t *parser, size_t *ret_line, struct err *err)
{
    *ret_line = parser->problem_mark.line + 1;
    return err_set(err, ERR_INVALID, "%s", parser->problem ? parser->problem : "not YAML");
}

/* libyaml loads one document and leaves what follows. A line that is indented less than the first one
 * begins a second document: it must not be ignored, because its writer believes that it is read. */
static enum err_code check_end(yaml_parser_t *parser, size_t *ret_line, struct err *err)
{
    yaml_document_t rest;
    enum err_code rc = ERR_OK;

    if (!yaml_parser_load(parser, &rest))
        return not_yaml(parser, ret_line, err);
    if (node_count(&rest)) {
        *ret_line = rest.nodes.start->start_mark.line + 1;
        rc = err_set(err, ERR_INVALID, "a second document begins");
    }
    yaml_document_delete(&rest);
    return rc;
}

static enum err_code load(yaml_parser_t *parser, struct yaml_tree **ret_tree, size_t *ret_line,
                          struct err *err)
{
    struct yaml_tree *tree;
    yaml_document_t document;
    enum err_code rc;

    if (!yaml_parser_load(parser, &document)) /* which has released the document then */
        return not_yaml(parser, ret_line, err);
    tree = mem_new(struct yaml_tree);
    tree->document = document;
    rc = check_end(parser, ret_line, err);
    if (rc) {
        yaml_tree_free(tree);
        return rc;
    }
    convert(tree);
    *ret_tree = tree;
    return ERR_OK;
}

/* To libyaml, a byte order mark is a column of the first line, and so the second line is indented less. */
static size_t mark_length(const char *text, size_t length)
{
    static const char mark[] = "\xEF\xBB\xBF";

    return length >= 3 && memcmp(text, mark, 3) == 0 ? 3 : 0;
}

enum err_code yaml_tree_parse(const char *text, size_t length, struct yaml_tree **ret_tree,
                              size_t *ret_line, struct err *err)
{
    size_t skipped = mark_length(text, length);
    yaml_parser_t parser;
    enum err_code rc;

    if (!yaml_parser_initialize(&parser))
        abort(); /* no memory, which cannot happen: see mem.h */
    yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser, (const unsigned char *)text + skipped,
                                 length - skipped);
    rc = load(&parser, ret_tree, ret_line, err);
    yaml_parser_delete(&parser);
    return rc;
}

void yaml_tree_free(struct yaml_tree *tree)
{
    if (!tree)
        return;
    yaml_document_delete(&tree->document);
    free(tree->values);
    free((void *)tree->items);
    free(tree->pairs);
    free(tree);
}

const struct yaml_value *yaml_tree_root(const struct yaml_tree *tree)
{
    return node_count(&tree->document) ? value_at(tree, 1) : NULL;
}

const struct yaml_value *yaml_map_get(const struct yaml_value *map, const char *name)
{
    for (size_t i = 0; i < map->count; i++) {
        const struct yaml_value *key = map->pairs[i].key;

        if (key->kind == YAML_TEXT && strcmp(key->text, name) == 0)
            return map->pairs[i].value;
    }
    return NULL;
}
