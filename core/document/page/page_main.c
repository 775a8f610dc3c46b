#include "core/document/page/page_main.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/compiler.h"
#include "core/base/mem.h"
#include "core/document/html.h"

/* Shares of the text, in percent. */
#define MISNAMED_PERCENT 50 /* what has more of the page's text is not left out for its name */
#define CALLED_PERCENT   30 /* what the page calls its main part has at least this */
#define MAIN_PERCENT     90 /* the main element has at least this of what is not left out */
#define LINKS_PERCENT    70 /* of a block's letters, if it is a list of links */
#define LEFT_PERCENT     50 /* so much stays when lists of links go */
#define CONTENTS_PERCENT 90 /* of a list's letters lead to places of the page: its contents */
#define HEADING_PERCENT  50 /* of a page's head is its title; otherwise it is the site's */

#define CONTENTS_LINKS 2 /* a list with fewer is no list of contents */

/* ---- How much text ---- */

struct weight {
    uint32_t letters; /* without white space, and without what is left out */
    uint32_t linked;  /* of them in links */
    uint32_t inside;  /* of them in links to places of the page */
    uint32_t places;  /* such links */
};

static uint32_t letters_of(const char *text)
{
    uint32_t letters = 0;

    for (; *text; text++)
        letters += (unsigned char)*text > ' ' && ((unsigned char)*text & 0xC0) != 0x80;
    return letters;
}

static void weigh_link(const struct html_node *link, struct weight *weight)
{
    const char *target = html_attribute(link, "href");

    weight->linked = weight->letters;
    if (target && *target == '#' && weight->letters) {
        weight->inside = weight->letters;
        weight->places = 1;
    }
}

static void add_weight(struct weight *sum, const struct weight *weight)
{
    sum->letters += weight->letters;
    sum->linked += weight->linked;
    sum->inside += weight->inside;
    sum->places += weight->places;
}

/* Of each node, from the last to the first: children stand behind their parents. */
static void weigh(const struct html_tree *tree, struct weight *weights)
{
    memset(weights, 0, tree->count * sizeof(*weights));
    for (size_t i = tree->count; i-- > 0;) {
        const struct html_node *node = &tree->nodes[i];
        const char *text = html_text(node);

        if (node->left_out || html_is_no_text(html_tag(node)))
            weights[i] = (struct weight){0};
        if (text)
            weights[i].letters = letters_of(text);
        if (html_tag(node) == GUMBO_TAG_A)
            weigh_link(node, &weights[i]);
        if (i)
            add_weight(&weights[node->parent], &weights[i]);
    }
}

static bool is_percent(uint32_t part, uint32_t whole, unsigned percent)
{
    return (uint64_t)part * 100 >= (uint64_t)whole * percent;
}

/* ---- What says that it is something else ---- */

/* Words of classes and ids, as "nav" of "page-nav" and of "pageNav". In their order. */
static const char *const other_words[] = {
    "ad",          "ads",         "advert",      "advertisement", "banner",      "breadcrumb",
    "breadcrumbs", "catlinks",    "cookie",      "cookies",       "copyright",   "dynheader",
    "edit",        "editsection", "footer",      "headerlink",    "hidden",      "ingroups",
    "jump",        "lineno",      "linenos",     "linenumber",    "linenumbers", "menu",
    "modal",       "nav",         "navbar",      "navfooter",     "navheader",   "navigation",
    "navpath",     "newsletter",  "noprint",     "pager",         "pagination",  "paginator",
    "popup",       "prevnext",    "printfooter", "promo",         "rellinks",    "search",
    "searchbox",   "share",       "sharing",     "sidebar",       "sidenav",     "skip",
    "skiplink",    "skiplinks",   "social",      "sphinxsidebar", "sponsor",     "subscribe",
    "titlearea",   "toc",         "toolbar"};

static int compare_words(const void *word, const void *other)
{
    return strcmp(word, *(const char *const *)other);
}

/* The next word, in small letters: it ends at a sign, and before a capital letter behind a small one. */
static const char *next_word(const char *names, char word[32])
{
    size_t length = 0;

    while (*names && !isalnum((unsigned char)*names))
        names++;
    while (isalnum((unsigned char)*names)) {
        if (length && isupper((unsigned char)*names) && islower((unsigned char)names[-1]))
            break;
        if (length < 31)
            word[length++] = (char)tolower((unsigned char)*names);
        names++;
    }
    word[length] = '\0';
    return names;
}

static bool has_other_word(const char *names)
{
    char word[32];

    if (!names)
        return false;
    for (names = next_word(names, word); *word; names = next_word(names, word)) {
        if (bsearch(word, other_words, COUNT_OF(other_words), sizeof(*other_words),
                    compare_words))
            return true;
    }
    return false;
}

static bool is_one_of_words(const char *word, const char *const *words, size_t count)
{
    for (size_t i = 0; word && i < count; i++) {
        if (strcasecmp(word, words[i]) == 0)
            return true;
    }
    return false;
}

static bool has_other_role(const struct html_node *node)
{
    static const char *const roles[] = {"navigation", "banner", "contentinfo", "complementary",
                                        "search",     "dialog", "menu",        "menubar",
                                        "toolbar",    "tablist"};

    return is_one_of_words(html_attribute(node, "role"), roles, COUNT_OF(roles));
}

static bool is_hidden(const struct html_node *node)
{
    const char *style = html_attribute(node, "style");
    const char *aria = html_attribute(node, "aria-hidden");

    return html_attribute(node, "hidden") || (aria && strcmp(aria, "true") == 0) ||
           (style && (strstr(style, "display:none") || strstr(style, "display: none")));
}

static bool is_other_tag(GumboTag tag)
{
    static const GumboTag tags[] = {GUMBO_TAG_NAV,   GUMBO_TAG_ASIDE, GUMBO_TAG_FOOTER,
                                    GUMBO_TAG_INPUT, GUMBO_TAG_LABEL, GUMBO_TAG_HEAD,
                                    GUMBO_TAG_MENU};

    return html_is_one_of(tag, tags, COUNT_OF(tags));
}

static bool is_main(const struct html_node *node)
{
    const char *role = html_attribute(node, "role");
    const char *property = html_attribute(node, "itemprop");

    return html_tag(node) == GUMBO_TAG_MAIN || (role && strcmp(role, "main") == 0) ||
           (property && strcmp(property, "articleBody") == 0);
}

static bool is_in_text(const struct html_tree *tree, size_t at)
{
    for (size_t i = tree->nodes[at].parent; i; i = tree->nodes[i].parent) {
        if (is_main(&tree->nodes[i]) || html_tag(&tree->nodes[i]) == GUMBO_TAG_ARTICLE)
            return true;
    }
    return false;
}

/* The head of a text is its title and little else. That of a page is navigation, also with the site's name as a
 * heading. */
static bool is_page_head(const struct html_tree *tree, const struct weight *weights,
                         size_t node)
{
    size_t heading;

    if (html_tag(&tree->nodes[node]) != GUMBO_TAG_HEADER)
        return false;
    heading = page_find(tree, node, GUMBO_TAG_H1);
    return !heading ||
           (!is_in_text(tree, node) &&
            !is_percent(weights[heading].letters, weights[node].letters, HEADING_PERCENT));
}

/* A list of links to places of the page: its table of contents. */
static bool is_contents(const struct html_tree *tree, const struct weight *weights, size_t at)
{
    GumboTag tag = html_tag(&tree->nodes[at]);

    return (tag == GUMBO_TAG_UL || tag == GUMBO_TAG_OL) &&
           weights[at].places >= CONTENTS_LINKS &&
           is_percent(weights[at].inside, weights[at].letters, CONTENTS_PERCENT);
}

/* A column of a page that is laid out as a table: lists, or tables, of links. Cells of data have no such parts. */
static bool is_menu_cell(const struct html_tree *tree, const struct weight *weights, size_t at)
{
    return html_tag(&tree->nodes[at]) == GUMBO_TAG_TD && weights[at].letters &&
           is_percent(weights[at].linked, weights[at].letters, LINKS_PERCENT) &&
           (page_find(tree, at, GUMBO_TAG_UL) || page_find(tree, at, GUMBO_TAG_TABLE));
}

static bool is_other(const struct html_tree *tree, const struct weight *weights, size_t at)
{
    const struct html_node *node = &tree->nodes[at];
    GumboTag tag = html_tag(node);

    if (html_text(node) || tag == GUMBO_TAG_HTML || tag == GUMBO_TAG_BODY || is_main(node))
        return false;
    return html_is_no_text(tag) || is_other_tag(tag) || is_hidden(node) ||
           has_other_role(node) || is_page_head(tree, weights, at) ||
           is_contents(tree, weights, at) || is_menu_cell(tree, weights, at) ||
           has_other_word(html_attribute(node, "class")) ||
           has_other_word(html_attribute(node, "id"));
}

static void leave_out_others(struct html_tree *tree, const struct weight *weights)
{
    for (size_t i = 1; i < tree->count;) {
        struct html_node *node = &tree->nodes[i];

        node->left_out =
            is_other(tree, weights, i) &&
            (html_is_no_text(html_tag(node)) ||
             !is_percent(weights[i].letters, weights[0].letters + 1, MISNAMED_PERCENT));
        i = node->left_out ? node->end : i + 1;
    }
}

/* ---- The main element ---- */

size_t page_find(const struct html_tree *tree, size_t top, GumboTag tag)
{
    for (size_t i = top + 1; i < tree->nodes[top].end; i++) {
        if (html_tag(&tree->nodes[i]) == tag)
            return i;
    }
    return 0;
}

/* The page calls it so, and it has enough of the text. */
static size_t find_called(const struct html_tree *tree, const struct weight *weights)
{
    size_t best = 0;

    for (size_t i = 1; i < tree->count; i++) {
        if (is_main(&tree->nodes[i]) &&
            weights[i].letters > weights[best].letters * (best != 0))
            best = i;
    }
    return is_percent(weights[best].letters, weights[0].letters, CALLED_PERCENT) ? best : 0;
}

static bool is_container(GumboTag tag)
{
    static const GumboTag tags[] = {GUMBO_TAG_DIV,  GUMBO_TAG_SECTION, GUMBO_TAG_ARTICLE,
                                    GUMBO_TAG_MAIN, GUMBO_TAG_CENTER,  GUMBO_TAG_FORM,
                                    GUMBO_TAG_TD};

    return html_is_one_of(tag, tags, COUNT_OF(tags));
}

/* The first heading of the first level that is seen; 0: it has no such element. */
static size_t find_heading(const struct html_tree *tree, size_t top)
{
    for (size_t i = top; i < tree->nodes[top].end;) {
        const struct html_node *node = &tree->nodes[i];

        if (!node->left_out && html_tag(node) == GUMBO_TAG_H1)
            return i;
        i = node->left_out ? node->end : i + 1;
    }
    return 0;
}

/* From the outside to the inside, as long as one element has nearly everything, and the heading. */
static size_t find_dense(const struct html_tree *tree, const struct weight *weights, size_t top)
{
    size_t heading = find_heading(tree, top), main = top;

    for (size_t i = top; i < tree->nodes[main].end; i++) {
        const struct html_node *node = &tree->nodes[i];

        if (is_container(html_tag(node)) &&
            is_percent(weights[i].letters, weights[top].letters, MAIN_PERCENT) &&
            (!heading || (i < heading && heading < node->end)))
            main = i;
    }
    return main;
}

/* ---- Lists of links at its beginning and end ---- */

/* Lists go or stay as they are: what is in an item is no part. */
static bool is_part(const struct html_tree *tree, const struct html_node *node)
{
    static const GumboTag tags[] = {GUMBO_TAG_DIV,     GUMBO_TAG_UL,     GUMBO_TAG_OL,
                                    GUMBO_TAG_TABLE,   GUMBO_TAG_P,      GUMBO_TAG_DL,
                                    GUMBO_TAG_SECTION, GUMBO_TAG_CENTER, GUMBO_TAG_FORM};

    return html_is_one_of(html_tag(node), tags, COUNT_OF(tags)) &&
           html_tag(&tree->nodes[node->parent]) != GUMBO_TAG_LI;
}

/* The first part of plain text in the main element, and behind the last one. */
static void find_text(const struct html_tree *tree, const struct weight *weights, size_t main,
                      size_t *ret_first, size_t *ret_behind)
{
    *ret_first = *ret_behind = tree->nodes[main].end;
    for (size_t i = main + 1; i < tree->nodes[main].end; i++) {
        const struct html_node *node = &tree->nodes[i];
        GumboTag tag = html_tag(node);

        if (node->left_out) {
            i = node->end - 1;
            continue;
        }
        if ((tag == GUMBO_TAG_P || tag == GUMBO_TAG_PRE || tag == GUMBO_TAG_TD ||
             (tag >= GUMBO_TAG_H1 && tag <= GUMBO_TAG_H6)) &&
            weights[i].letters && weights[i].linked * 2 < weights[i].letters) {
            *ret_first = *ret_first == tree->nodes[main].end ? i : *ret_first;
            *ret_behind = node->end;
        }
    }
}

static void leave_out_links(struct html_tree *tree, const struct weight *weights, size_t main)
{
    size_t *found = mem_new_array(size_t, tree->count);
    size_t count = 0, first, behind;
    uint32_t letters = 0;

    find_text(tree, weights, main, &first, &behind);
    for (size_t i = main + 1; i < tree->nodes[main].end; i++) {
        const struct html_node *node = &tree->nodes[i];

        if (node->left_out) {
            i = node->end - 1;
        } else if ((node->end <= first || i >= behind) && is_part(tree, node) &&
                   weights[i].letters &&
                   is_percent(weights[i].linked, weights[i].letters, LINKS_PERCENT)) {
            found[count++] = i;
            letters += weights[i].letters;
            i = node->end - 1;
        }
    }
    if (!is_percent(letters, weights[main].letters, 100 - LEFT_PERCENT)) {
        for (size_t i = 0; i < count; i++)
            tree->nodes[found[i]].left_out = true;
    }
    free(found);
}

size_t page_main(struct html_tree *tree)
{
    struct weight *weights = mem_new_array(struct weight, tree->count);
    size_t body = page_find(tree, 0, GUMBO_TAG_BODY);
    size_t main;

    weigh(tree, weights);
    leave_out_others(tree, weights);
    weigh(tree, weights);
    main = find_called(tree, weights);
    main = find_dense(tree, weights, main ? main : body);
    leave_out_links(tree, weights, main);
    free(weights);
    return main;
}
