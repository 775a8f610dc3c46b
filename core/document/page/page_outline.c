#include "core/document/page/page_outline.h"

#include <ctype.h>
#include <string.h>

#include "core/base/compiler.h"
#include "core/base/utf8.h"

static bool is_unseen(GumboTag tag)
{
    static const GumboTag tags[] = {GUMBO_TAG_SCRIPT, GUMBO_TAG_STYLE, GUMBO_TAG_NOSCRIPT,
                                    GUMBO_TAG_SVG};

    return html_is_one_of(tag, tags, COUNT_OF(tags));
}

/* ---- Names ---- */

static void add_tag(struct buf *out, const struct html_node *node)
{
    GumboStringPiece own = node->gumbo->v.element.original_tag;

    if (html_tag(node) == GUMBO_TAG_UNKNOWN) {
        gumbo_tag_from_original_text(&own);
        buf_add(out, own.data ? own.data : "x", own.data ? own.length : 1);
    } else {
        buf_add_text(out, gumbo_normalized_tagname(html_tag(node)));
    }
}

/* "css-1x8fk2a": at least six letters and digits in a row, two of them digits. Frameworks make such names. */
static bool is_made(const char *name, size_t length)
{
    size_t run = 0, digits = 0;

    for (size_t i = 0; i < length; i++) {
        bool counts = isalnum((unsigned char)name[i]);

        run = counts ? run + 1 : 0;
        digits = counts ? digits + (isdigit((unsigned char)name[i]) != 0) : 0;
        if (run >= 6 && digits >= 2)
            return true;
    }
    return length > PAGE_OUTLINE_NAME;
}

static void add_classes(struct buf *out, const char *classes)
{
    size_t count = 0;

    while (classes && *classes && count < PAGE_OUTLINE_NAMES) {
        size_t length;

        classes += strspn(classes, " \t\r\n\f");
        length = strcspn(classes, " \t\r\n\f");
        if (length && !is_made(classes, length)) {
            buf_add_char(out, '.');
            buf_add(out, classes, length);
            count++;
        }
        classes += length;
    }
}

static void add_name(struct buf *out, const struct html_node *node)
{
    const char *id = html_attribute(node, "id");

    add_tag(out, node);
    if (id && *id && !is_made(id, strlen(id)) && !strpbrk(id, " \t\r\n")) {
        buf_add_char(out, '#');
        buf_add_text(out, id);
    }
    add_classes(out, html_attribute(node, "class"));
}

/* The elements around it and itself, the innermost ones. */
static void add_path(struct buf *out, const struct html_tree *tree, size_t at)
{
    size_t path[PAGE_OUTLINE_PATH];
    size_t count = 0;

    for (; at && count < PAGE_OUTLINE_PATH; at = tree->nodes[at].parent)
        path[count++] = at;
    while (count--) {
        add_name(out, &tree->nodes[path[count]]);
        if (count)
            buf_add_text(out, " > ");
    }
}

/* ---- Text ---- */

/* The beginning of its own text, blanks folded. */
static void add_text(struct buf *out, const struct html_tree *tree, size_t at)
{
    size_t letters = 0, end = tree->nodes[at].end;
    bool blank = false;

    for (size_t i = at + 1; i < end; i = tree->nodes[i].end) {
        const char *text = html_text(&tree->nodes[i]);

        for (; text && *text; text++) {
            if ((unsigned char)*text <= ' ') {
                blank = letters > 0;
                continue;
            }
            if (((unsigned char)*text & 0xC0) != 0x80 && letters + blank >= PAGE_OUTLINE_TEXT) {
                buf_add_text(out, "…\"");
                return;
            }
            if (!letters)
                buf_add_text(out, " \"");
            if (blank)
                buf_add_char(out, ' ');
            letters += (size_t)blank + (((unsigned char)*text & 0xC0) != 0x80);
            blank = false;
            buf_add_char(out, *text);
        }
        blank = letters > 0;
    }
    if (letters)
        buf_add_char(out, '"');
}

void page_outline(struct buf *out, const struct html_tree *tree, size_t top, unsigned depth,
                  bool with_text)
{
    size_t open = top, lines = 0;
    unsigned level = 0;

    for (size_t i = top; i < tree->nodes[top].end;) {
        const struct html_node *node = &tree->nodes[i];

        if (html_text(node) || is_unseen(html_tag(node))) {
            i = node->end;
            continue;
        }
        for (; tree->nodes[open].end <= i; open = tree->nodes[open].parent)
            level--;
        if (i != top)
            level++;
        open = i;
        if (lines++ == PAGE_OUTLINE_LINES) {
            buf_add_text(out, "[more elements follow]\n");
            return;
        }
        buf_addf(out, "%*s- ", 2 * (int)level, "");
        add_name(out, node);
        if (with_text)
            add_text(out, tree, i);
        buf_add_text(out, " (");
        add_path(out, tree, i);
        buf_add_text(out, ")\n");
        if (level < depth) {
            i++;
        } else {
            i = node->end;
        }
    }
}

/* ---- HTML ---- */

static void add_escaped(struct buf *out, const char *text, bool is_value)
{
    for (; *text; text++) {
        if (*text == '&')
            buf_add_text(out, "&amp;");
        else if (*text == '<' && !is_value)
            buf_add_text(out, "&lt;");
        else if (*text == '"' && is_value)
            buf_add_text(out, "&quot;");
        else
            buf_add_char(out, *text);
    }
}

static bool is_void(GumboTag tag)
{
    static const GumboTag tags[] = {
        GUMBO_TAG_AREA,  GUMBO_TAG_BASE,   GUMBO_TAG_BR,    GUMBO_TAG_COL,  GUMBO_TAG_EMBED,
        GUMBO_TAG_HR,    GUMBO_TAG_IMG,    GUMBO_TAG_INPUT, GUMBO_TAG_LINK, GUMBO_TAG_META,
        GUMBO_TAG_PARAM, GUMBO_TAG_SOURCE, GUMBO_TAG_TRACK, GUMBO_TAG_WBR};

    return html_is_one_of(tag, tags, COUNT_OF(tags));
}

static void begin_element(struct buf *out, const struct html_node *node)
{
    const GumboVector *attributes = &node->gumbo->v.element.attributes;

    buf_add_char(out, '<');
    add_tag(out, node);
    for (unsigned i = 0; i < attributes->length; i++) {
        const GumboAttribute *attribute = attributes->data[i];

        buf_addf(out, " %s=\"", attribute->name);
        add_escaped(out, attribute->value, true);
        buf_add_char(out, '"');
    }
    buf_add_char(out, '>');
}

static void end_element(struct buf *out, const struct html_node *node)
{
    if (is_void(html_tag(node)))
        return;
    buf_add_text(out, "</");
    add_tag(out, node);
    buf_add_char(out, '>');
}

void page_add_html(struct buf *out, const struct html_tree *tree, size_t top)
{
    size_t open = top;

    for (size_t i = top; i < tree->nodes[top].end;) {
        const struct html_node *node = &tree->nodes[i];
        const char *text = html_text(node);

        for (; tree->nodes[open].end <= i; open = tree->nodes[open].parent)
            end_element(out, &tree->nodes[open]);
        if (!text && is_unseen(html_tag(node))) {
            i = node->end;
            continue;
        }
        if (text) {
            add_escaped(out, text, false);
        } else {
            begin_element(out, node);
            open = i;
        }
        i++;
    }
    for (; open != top; open = tree->nodes[open].parent)
        end_element(out, &tree->nodes[open]);
    end_element(out, &tree->nodes[top]);
}
