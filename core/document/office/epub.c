/*
 * epub.c -- container.xml names the list of parts, and that the order of chapters.
 */

#include "core/document/office/epub.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/document/html.h"
#include "core/document/office/ooxml.h"
#include "core/document/plain_text.h"
#include "core/document/xhtml.h"

static bool is(const char *name, const char *other)
{
    return strcmp(name, other) == 0;
}

/* ---- The order of chapters ---- */

struct epub {
    struct package *package;
    char *list;                  /* the name of the part that lists the others */
    struct package_parts items;  /* by id; the text is the part's name */
    struct package_parts spine;  /* chapters */
    struct package_parts locked; /* parts that are encrypted */
    size_t bytes;
    enum reading problem;
};

/* "a%20b#c" is the part "a b". */
static char *part_at(const char *base, const char *href)
{
    AUTO_FREE char *path = mem_strndup(href, strcspn(href, "#"));
    char *out = path;

    for (const char *in = path; *in; in++) {
        if (*in == '%' && isxdigit((unsigned char)in[1]) && isxdigit((unsigned char)in[2])) {
            char digits[] = {in[1], in[2], '\0'};

            *out++ = (char)strtoul(digits, NULL, 16);
            in += 2;
        } else {
            *out++ = *in;
        }
    }
    *out = '\0';
    return package_resolve(base, path);
}

static void add_part(struct epub *epub, struct package_parts *parts, char *name)
{
    if (!package_parts_add(parts, name))
        epub->problem = READING_TOO_LARGE;
}

static void begin_in_container(void *arg, struct xml *xml, const char *name)
{
    struct epub *epub = arg;
    const char *path = is(name, "rootfile") ? xml_attribute(xml, "full-path") : NULL;

    if (path && !epub->list)
        epub->list = part_at("", path);
}

static void begin_in_encryption(void *arg, struct xml *xml, const char *name)
{
    struct epub *epub = arg;
    const char *uri = is(name, "CipherReference") ? xml_attribute(xml, "URI") : NULL;

    if (uri)
        add_part(epub, &epub->locked, part_at("", uri));
}

static void begin_in_list(void *arg, struct xml *xml, const char *name)
{
    struct epub *epub = arg;
    const char *id = xml_attribute(xml, is(name, "itemref") ? "idref" : "id");
    const char *href;

    if (!id)
        return;
    if (is(name, "item")) {
        size_t count = epub->items.count;

        add_part(epub, &epub->items, mem_strdup(id));
        href = xml_attribute(xml, "href");
        if (href && epub->items.count > count) {
            AUTO_FREE char *part = part_at(epub->list, href);

            buf_add_text(&epub->items.list[count].text, part);
        }
    } else if (is(name, "itemref")) {
        add_part(epub, &epub->spine, mem_strdup(id));
    }
}

/* Ids of the spine become names of parts. */
static void resolve_spine(struct epub *epub)
{
    package_parts_sort(&epub->items);
    for (size_t i = 0; i < epub->spine.count; i++) {
        struct package_part *chapter = &epub->spine.list[i];
        const struct package_part *item = package_parts_find(&epub->items, chapter->name);

        if (!item || !item->text.length)
            continue;
        free(chapter->name);
        chapter->name = mem_strdup(item->text.data);
    }
    package_parts_sort(&epub->spine);
}

/* ---- Chapters ---- */

static bool visit_chapter(void *arg, struct package_entry *entry)
{
    struct epub *epub = arg;
    const char *name = package_entry_name(entry);
    struct package_part *part = package_parts_find(&epub->spine, name);
    AUTO_BUF bytes = {0}, decoded = {0}, html = {0};
    struct text_writer writer = {0};

    if (!part || part->text.length)
        return true;
    if (package_parts_find(&epub->locked, name))
        epub->problem = READING_ENCRYPTED;
    if (epub->problem || !package_entry_load(entry, &bytes))
        return false;
    plain_text_add(&decoded, bytes.data ? bytes.data : "", bytes.length);
    buf_clear(&bytes);
    xhtml_to_html(&html, decoded.data ? decoded.data : "", decoded.length);
    buf_clear(&decoded);
    writer.text = &part->text;
    html_write(&writer, html.data ? html.data : "", html.length);
    epub->bytes += part->text.length;
    return epub->bytes <= TEXT_WRITER_MAX;
}

static enum reading read_list(struct epub *epub, const char *part,
                              void (*begin)(void *, struct xml *, const char *))
{
    const struct xml_handler handler = {begin, xml_ignore_end, xml_ignore_text};
    enum reading problem = ooxml_read(epub->package, part, &handler, epub);

    return problem ? problem : epub->problem;
}

static enum reading read_book(struct epub *epub)
{
    enum reading problem = read_list(epub, "META-INF/container.xml", begin_in_container);

    if (!problem && !epub->list)
        problem = READING_INCOMPLETE;
    if (!problem)
        problem = read_list(epub, epub->list, begin_in_list);
    if (!problem)
        problem = read_list(epub, "META-INF/encryption.xml", begin_in_encryption);
    if (problem == READING_INCOMPLETE && epub->spine.count)
        problem = READING_DONE;
    resolve_spine(epub);
    package_parts_sort(&epub->locked);
    if (!problem)
        problem = package_walk(epub->package, visit_chapter, epub);
    return problem ? problem : epub->problem;
}

enum reading epub_write(struct text_writer *writer, struct package *package)
{
    struct epub epub = {.package = package};
    enum reading problem = read_book(&epub);

    for (size_t i = 0; !problem && i < epub.spine.count; i++) {
        if (!epub.spine.list[i].text.length)
            continue;
        text_writer_break(writer, 2);
        text_writer_mark(writer, epub.spine.list[i].text.data);
        text_writer_break(writer, 2);
    }
    free(epub.list);
    package_parts_clear(&epub.items);
    package_parts_clear(&epub.spine);
    package_parts_clear(&epub.locked);
    return problem;
}
