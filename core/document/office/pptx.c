/*
 * pptx.c -- slides as pages: the title as a heading, what stands on them, and the speaker's notes.
 *
 * The order of slides is in the presentation, and their parts lie in any order. So they are read as they come, and
 * written afterwards.
 */

#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/document/office/ooxml.h"

static bool is(const char *name, const char *other)
{
    return strcmp(name, other) == 0;
}

/* ---- One slide, or its notes ---- */

struct slide {
    struct text_writer writer;
    bool title;  /* the shape is it */
    bool chrome; /* the shape is a date, a number, or a line that all slides have */
    bool begun;  /* the paragraph */
    bool item;
    unsigned level;
    bool text;
};

static bool is_chrome(const char *type)
{
    return is(type, "dt") || is(type, "ftr") || is(type, "hdr") || is(type, "sldNum");
}

static void take_placeholder(struct slide *slide, const char *type)
{
    if (!type)
        return;
    slide->title = is(type, "title") || is(type, "ctrTitle");
    slide->chrome = is_chrome(type);
}

static void begin_text(struct slide *slide)
{
    if (slide->begun)
        return;
    slide->begun = true;
    if (slide->title)
        text_writer_heading(&slide->writer, 1);
    else if (slide->item || slide->level)
        text_writer_item(&slide->writer, slide->level + 1);
}

static void begin(void *arg, struct xml *xml, const char *name)
{
    struct slide *slide = arg;

    if (text_writer_is_full(&slide->writer)) {
        xml_stop(xml);
    } else if (is(name, "sp") || is(name, "graphicFrame")) {
        slide->title = slide->chrome = false;
    } else if (is(name, "ph")) {
        take_placeholder(slide, xml_attribute(xml, "type"));
    } else if (is(name, "p")) {
        slide->begun = slide->item = false;
        slide->level = 0;
    } else if (is(name, "pPr")) {
        const char *level = xml_attribute(xml, "lvl");

        slide->level = level ? (unsigned)strtoul(level, NULL, 10) % 10 : 0;
    } else if (is(name, "buChar") || is(name, "buAutoNum")) {
        slide->item = true;
    } else if (is(name, "t")) {
        slide->text = !slide->chrome;
    } else if (is(name, "br")) {
        text_writer_break(&slide->writer, 1);
    } else if (is(name, "tbl")) {
        text_writer_table(&slide->writer);
    } else if (is(name, "tr")) {
        text_writer_row(&slide->writer);
    } else if (is(name, "tc")) {
        text_writer_cells(&slide->writer, 1);
    } else if (is(name, "Fallback")) {
        xml_skip(xml);
    }
}

static void end(void *arg, struct xml *xml, const char *name)
{
    struct slide *slide = arg;

    (void)xml;
    if (is(name, "t"))
        slide->text = false;
    else if (is(name, "p"))
        text_writer_break(&slide->writer, 1);
    else if (is(name, "sp"))
        text_writer_break(&slide->writer, 2);
    else if (is(name, "tbl"))
        text_writer_table_end(&slide->writer);
}

static void text(void *arg, const char *text, size_t length)
{
    struct slide *slide = arg;

    if (!slide->text)
        return;
    begin_text(slide);
    text_writer_add(&slide->writer, text, length);
}

/* ---- The order of slides ---- */

struct pptx {
    struct package *package;
    struct relations relations;  /* of the presentation */
    struct package_parts slides; /* in their order */
    struct package_parts links;  /* the relations of each, in the same order */
    struct package_parts notes;  /* of slides that have some */
    size_t *notes_of; /* for each slide, one more than an index of `notes`; 0: none */
    size_t bytes;     /* of text */
    enum reading problem;
};

static void begin_in_presentation(void *arg, struct xml *xml, const char *name)
{
    struct pptx *pptx = arg;
    const struct relation *slide;

    if (!is(name, "sldId"))
        return;
    slide = relations_by_id(&pptx->relations, xml_attribute_in(xml, "relationships", "id"));
    if (slide && (!package_parts_add(&pptx->slides, mem_strdup(slide->part)) ||
                  !package_parts_add(&pptx->links, relations_name(slide->part))))
        pptx->problem = READING_TOO_LARGE;
}

/* The relations of a slide name its notes. */
static bool visit_links(void *arg, struct package_entry *entry)
{
    struct pptx *pptx = arg;
    struct package_part *part = package_parts_find(&pptx->links, package_entry_name(entry));
    struct relations relations = {0};
    const struct relation *notes;
    size_t index;

    if (!part)
        return true;
    index = (size_t)(part - pptx->links.list);
    pptx->problem = relations_read(entry, pptx->slides.list[index].name, &relations);
    notes = relations_by_type(&relations, "notesSlide");
    if (notes && package_parts_add(&pptx->notes, mem_strdup(notes->part)))
        pptx->notes_of[index] = pptx->notes.count;
    relations_clear(&relations);
    return !pptx->problem;
}

static bool visit_slide(void *arg, struct package_entry *entry)
{
    static const struct xml_handler handler = {begin, end, text};
    struct pptx *pptx = arg;
    const char *name = package_entry_name(entry);
    struct package_part *part = package_parts_find(&pptx->slides, name);
    struct slide slide = {0};

    if (!part)
        part = package_parts_find(&pptx->notes, name);
    if (!part || part->text.length)
        return true;
    slide.writer.text = &part->text;
    pptx->problem = ooxml_read_entry(pptx->package, entry, &handler, &slide);
    pptx->bytes += part->text.length;
    return !pptx->problem && pptx->bytes <= TEXT_WRITER_MAX;
}

static void write_slides(struct text_writer *writer, const struct pptx *pptx)
{
    for (size_t i = 0; i < pptx->slides.count && !text_writer_is_full(writer); i++) {
        const struct package_part *slide = &pptx->slides.list[i];
        const struct package_part *notes =
            pptx->notes_of[i] ? &pptx->notes.list[pptx->notes_of[i] - 1] : NULL;

        if (slide->text.length)
            text_writer_mark(writer, slide->text.data);
        if (notes && notes->text.length) {
            text_writer_break(writer, 2);
            text_writer_mark(writer, "Notes: ");
            text_writer_mark(writer, notes->text.data);
        }
        text_writer_page_end(writer);
    }
}

static enum reading walk(struct pptx *pptx, package_visit *visit)
{
    enum reading problem = package_walk(pptx->package, visit, pptx);

    return problem ? problem : pptx->problem;
}

enum reading pptx_write(struct text_writer *writer, struct package *package, const char *main)
{
    static const struct xml_handler handler = {begin_in_presentation, xml_ignore_end,
                                               xml_ignore_text};
    struct pptx pptx = {.package = package};
    enum reading problem = relations_find(package, main, &pptx.relations);

    if (!problem)
        problem = ooxml_read(package, main, &handler, &pptx);
    if (!problem)
        problem = pptx.problem;
    pptx.notes_of = mem_new_array(size_t, pptx.slides.count + 1);
    package_parts_sort(&pptx.slides);
    package_parts_sort(&pptx.links);
    if (!problem)
        problem = walk(&pptx, visit_links);
    package_parts_sort(&pptx.notes);
    if (!problem)
        problem = walk(&pptx, visit_slide);
    if (!problem)
        write_slides(writer, &pptx);
    free(pptx.notes_of);
    package_parts_clear(&pptx.slides);
    package_parts_clear(&pptx.links);
    package_parts_clear(&pptx.notes);
    relations_clear(&pptx.relations);
    return problem;
}
