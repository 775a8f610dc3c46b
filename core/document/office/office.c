#include "core/document/office/office.h"

#include <string.h>

#include "core/base/compiler.h"
#include "core/base/mem.h"
#include "core/document/office/epub.h"
#include "core/document/office/odf.h"
#include "core/document/office/ooxml.h"
#include "core/document/office/package.h"

/* ---- What the first look finds ---- */

struct look {
    struct package *package;
    char mimetype[128];         /* OpenDocument and EPUB have it in a part of its own */
    struct relations relations; /* Office has relations of the package itself */
    enum reading problem;
};

static void take_mimetype(struct look *look, struct package_entry *entry)
{
    long got = package_entry_read(entry, look->mimetype, sizeof(look->mimetype) - 1);

    look->mimetype[got > 0 ? got : 0] = '\0';
    look->mimetype[strcspn(look->mimetype, " \r\n")] = '\0';
}

static bool visit(void *arg, struct package_entry *entry)
{
    struct look *look = arg;

    if (strcmp(package_entry_name(entry), "mimetype") == 0)
        take_mimetype(look, entry);
    else if (strcmp(package_entry_name(entry), "_rels/.rels") == 0)
        look->problem = relations_read(entry, "", &look->relations);
    return !look->problem;
}

/* ---- Office: the root element of the main part is the type ---- */

static void begin_root(void *arg, struct xml *xml, const char *name)
{
    char **root = arg;

    *root = mem_strdup(name);
    xml_stop(xml);
}

static enum reading write_ooxml(struct text_writer *writer, struct package *package,
                                const char *main)
{
    static const struct {
        const char *root;
        enum reading (*write)(struct text_writer *, struct package *, const char *);
    } types[] = {
        {"document", docx_write}, {"presentation", pptx_write}, {"workbook", xlsx_write}};
    static const struct xml_handler handler = {begin_root, xml_ignore_end, xml_ignore_text};
    AUTO_FREE char *root = NULL;
    enum reading problem = ooxml_read(package, main, &handler, &root);

    for (size_t i = 0; !problem && root && i < COUNT_OF(types); i++) {
        if (strcmp(root, types[i].root) == 0)
            return types[i].write(writer, package, main);
    }
    return problem ? problem : READING_NO_DOCUMENT;
}

/* ---- OpenDocument and EPUB: the package says it ---- */

static enum reading write_by_mimetype(struct text_writer *writer, struct package *package,
                                      const char *mimetype)
{
    static const char odf[] = "application/vnd.oasis.opendocument.";
    static const struct {
        const char *word;
        enum odf_type type;
    } types[] = {{"text", ODF_TEXT},
                 {"spreadsheet", ODF_SPREADSHEET},
                 {"presentation", ODF_PRESENTATION}};

    if (strcmp(mimetype, "application/epub+zip") == 0)
        return epub_write(writer, package);
    if (strncmp(mimetype, odf, strlen(odf)) != 0)
        return READING_NO_DOCUMENT;
    for (size_t i = 0; i < COUNT_OF(types); i++) {
        const char *word = mimetype + strlen(odf);
        size_t length = strlen(types[i].word);

        /* A template is a document with "-template" behind it. */
        if (strncmp(word, types[i].word, length) == 0 && (!word[length] || word[length] == '-'))
            return odf_write(writer, package, types[i].type);
    }
    return READING_NO_DOCUMENT;
}

enum reading office_write(struct text_writer *writer, const char *bytes, size_t length)
{
    struct package package = {.bytes = bytes, .length = length};
    struct look look = {.package = &package};
    enum reading problem = package_walk(&package, visit, &look);
    const struct relation *main = relations_by_type(&look.relations, "officeDocument");

    if (!problem)
        problem = look.problem;
    if (!problem && main)
        problem = write_ooxml(writer, &package, main->part);
    else if (!problem)
        problem = write_by_mimetype(writer, &package, look.mimetype);
    relations_clear(&look.relations);
    return problem;
}
