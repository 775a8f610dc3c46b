#ifndef RUNNEL_CORE_DOCUMENT_HTML_TREE_H
#define RUNNEL_CORE_DOCUMENT_HTML_TREE_H

#include <gumbo.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * html_tree.h -- the elements and texts of an HTML page, as an array in the order of the page.
 *
 * Gumbo reads the page. What looks at its tree afterwards looks again and again: up, down, and from the end to the
 * beginning. In an array none of that is a recursion, which a hostile page could make as deep as it likes. What is in
 * a node are the nodes between it and its `end`.
 *
 * For compute children: gumbo reads hostile bytes. Memory that is missing ends the child (mem.h).
 */

struct html_block;

struct html_node {
    const GumboNode *gumbo; /* an element, or a text */
    uint32_t parent;        /* of the first node: itself */
    uint32_t end;           /* the first node behind it and what is in it */
    uint32_t items;         /* for who writes lists: how many it has had */
    bool left_out;          /* for who writes pages: it and all that is in it */
};

struct html_tree {
    struct html_node *nodes; /* the first one is the document */
    size_t count;            /* at least 1 */
    bool is_cut;             /* there were more than max_nodes */
    struct html_block *blocks;
};

/* UTF-8. Nodes beyond `max_nodes` are left out. So are elements within more than `max_depth` others: what is in them
 * counts as in the last one. `html` outlives the tree. */
void html_tree_parse(const char *html, size_t length, size_t max_nodes, size_t max_depth,
                     struct html_tree *ret_tree);
void html_tree_clear(struct html_tree *tree);

/* GUMBO_TAG_UNKNOWN for a text. */
GumboTag html_tag(const struct html_node *node);
/* The value of an attribute of an element, or NULL. */
const char *html_attribute(const struct html_node *node, const char *name);
/* The text, or NULL for an element. */
const char *html_text(const struct html_node *node);

bool html_is_one_of(GumboTag tag, const GumboTag *tags, size_t count);

#endif
