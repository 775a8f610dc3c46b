/*
 * html_tree.c -- walks gumbo's tree once.
 *
 * The walk follows the parents' links back up and uses no stack: a page of a million nested elements is a tree that
 * deep. For the same reason the tree is not released by gumbo, but block by block.
 */

#include "core/document/html_tree.h"

#include <stdlib.h>

#include "core/base/compiler.h"
#include "core/base/mem.h"

/* ---- Memory ---- */

/* What gumbo allocates, in a list. Its own way to release a tree is a recursion as deep as the tree. */
struct html_block {
    struct html_block *next, **place;
    max_align_t bytes[];
};

static void *allocate(void *list, size_t size)
{
    struct html_block **first = list;
    struct html_block *block = mem_zeroed(1, sizeof(*block) + size);

    block->next = *first;
    block->place = first;
    if (block->next)
        block->next->place = &block->next;
    *first = block;
    return block->bytes;
}

static void release(void *list, void *bytes)
{
    struct html_block *block;

    (void)list;
    if (!bytes)
        return;
    block = CONTAINER_OF(bytes, struct html_block, bytes);
    *block->place = block->next;
    if (block->next)
        block->next->place = block->place;
    free(block);
}

void html_tree_clear(struct html_tree *tree)
{
    for (struct html_block *block = tree->blocks; block;) {
        struct html_block *next = block->next;

        free(block);
        block = next;
    }
    free(tree->nodes);
    *tree = (struct html_tree){0};
}

/* ---- Nodes ---- */

GumboTag html_tag(const struct html_node *node)
{
    return node->gumbo->type == GUMBO_NODE_ELEMENT ? node->gumbo->v.element.tag
                                                   : GUMBO_TAG_UNKNOWN;
}

const char *html_attribute(const struct html_node *node, const char *name)
{
    const GumboAttribute *attribute =
        node->gumbo->type == GUMBO_NODE_ELEMENT
            ? gumbo_get_attribute(&node->gumbo->v.element.attributes, name)
            : NULL;

    return attribute ? attribute->value : NULL;
}

static bool is_text(const GumboNode *node)
{
    return node->type == GUMBO_NODE_TEXT || node->type == GUMBO_NODE_CDATA ||
           node->type == GUMBO_NODE_WHITESPACE;
}

const char *html_text(const struct html_node *node)
{
    return is_text(node->gumbo) ? node->gumbo->v.text.text : NULL;
}

bool html_is_one_of(GumboTag tag, const GumboTag *tags, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (tags[i] == tag)
            return true;
    }
    return false;
}

/* ---- The walk ---- */

struct walk {
    struct html_tree *tree;
    size_t capacity, max_depth;
    uint32_t open; /* the node that the walk is in */
    size_t depth;  /* of elements, with those that are left out */
};

static const GumboVector *children_of(const GumboNode *node)
{
    if (node->type == GUMBO_NODE_DOCUMENT)
        return &node->v.document.children;
    return node->type == GUMBO_NODE_ELEMENT ? &node->v.element.children : NULL;
}

static void add(struct walk *walk, const GumboNode *gumbo)
{
    struct html_tree *tree = walk->tree;

    if (tree->count == walk->capacity) {
        walk->capacity = walk->capacity ? 2 * walk->capacity : 256;
        tree->nodes = mem_resize(tree->nodes, walk->capacity, sizeof(*tree->nodes));
    }
    tree->nodes[tree->count] = (struct html_node){
        .gumbo = gumbo, .parent = walk->open, .end = (uint32_t)tree->count + 1};
    tree->count++;
}

/* Its children come next. */
static void enter(struct walk *walk, const GumboNode *gumbo)
{
    if (is_text(gumbo))
        add(walk, gumbo);
    if (!children_of(gumbo))
        return;
    if (walk->depth++ <= walk->max_depth) {
        add(walk, gumbo);
        walk->open = (uint32_t)walk->tree->count - 1;
    }
}

static void leave(struct walk *walk, const GumboNode *gumbo)
{
    struct html_node *node = &walk->tree->nodes[walk->open];

    if (!children_of(gumbo) || --walk->depth > walk->max_depth)
        return;
    node->end = (uint32_t)walk->tree->count;
    walk->open = node->parent;
}

/* The node after `gumbo` when its children are done: the next sibling, or that of a parent. NULL at the end. */
static const GumboNode *after(struct walk *walk, const GumboNode *gumbo)
{
    for (; gumbo->parent; gumbo = gumbo->parent) {
        const GumboVector *siblings = children_of(gumbo->parent);
        size_t next = gumbo->index_within_parent + 1;

        leave(walk, gumbo);
        if (next < siblings->length)
            return siblings->data[next];
    }
    return NULL;
}

/* Where the walk was cut, its nodes are still open. */
static void close_all(struct walk *walk)
{
    struct html_tree *tree = walk->tree;

    for (uint32_t open = walk->open; open; open = tree->nodes[open].parent)
        tree->nodes[open].end = (uint32_t)tree->count;
    tree->nodes[0].end = (uint32_t)tree->count;
}

void html_tree_parse(const char *html, size_t length, size_t max_nodes, size_t max_depth,
                     struct html_tree *ret_tree)
{
    GumboOptions options = kGumboDefaultOptions;
    struct walk walk = {.tree = ret_tree, .max_depth = max_depth};
    const GumboNode *gumbo;

    *ret_tree = (struct html_tree){0};
    options.max_errors = 0;
    options.allocator = allocate;
    options.deallocator = release;
    options.userdata = &ret_tree->blocks;
    gumbo = gumbo_parse_with_options(&options, html, length)->document;
    while (gumbo && ret_tree->count < max_nodes) {
        const GumboVector *children = children_of(gumbo);

        enter(&walk, gumbo);
        gumbo = children && children->length ? children->data[0] : after(&walk, gumbo);
    }
    ret_tree->is_cut = gumbo != NULL;
    close_all(&walk);
}
