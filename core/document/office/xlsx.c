/*
 * xlsx.c -- each sheet as a heading and a table.
 *
 * A cell has a number, or the index of a shared string; what a program shows is made of the number and a format. Here
 * formats matter only as far as they make a date or a time of a number.
 */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/mem.h"
#include "core/document/office/ooxml.h"

/* Columns that the format has. A cell that says more is no cell. */
#define COLUMNS_MAX ((size_t)16384)

static bool is(const char *name, const char *other)
{
    return strcmp(name, other) == 0;
}

/* ---- Formats ---- */

enum shown { SHOWN_NUMBER = 0, SHOWN_DATE = 1, SHOWN_TIME = 2 /* or both: 3 */ };

/* Formats that a file does not define. */
static unsigned shown_by_number(unsigned format)
{
    if ((format >= 14 && format <= 17) || (format >= 27 && format <= 31) ||
        (format >= 50 && format <= 58))
        return SHOWN_DATE;
    if ((format >= 18 && format <= 21) || (format >= 32 && format <= 35) ||
        (format >= 45 && format <= 47))
        return SHOWN_TIME;
    return format == 22 ? SHOWN_DATE | SHOWN_TIME : SHOWN_NUMBER;
}

/* "yyyy-mm-dd" is a date, "h:mm" a time; text in quotes and colours in brackets are neither. */
static unsigned shown_by_code(const char *code)
{
    unsigned shown = SHOWN_NUMBER;

    for (; *code && *code != ';'; code++) {
        if (*code == '"')
            code += strcspn(code + 1, "\"") + 1;
        else if (*code == '[' && !strchr("hHmMsS", code[1]))
            code += strcspn(code, "]");
        else if (*code == '\\' || *code == '_' || *code == '*')
            code++;
        else if (strchr("yYdD", *code))
            shown |= SHOWN_DATE;
        else if (strchr("hHsS", *code))
            shown |= SHOWN_TIME;
        if (!*code)
            break;
    }
    return shown;
}

/* ---- The workbook ---- */

struct format {
    unsigned number;
    unsigned shown;
};

struct xlsx {
    struct package *package;
    struct relations relations;
    bool from_1904;
    struct package_parts sheets; /* in their order */
    char **titles;               /* of the sheets */
    size_t title_count;

    struct format *formats; /* that the file defines */
    size_t format_count;
    unsigned *styles; /* what each shows */
    size_t style_count;
    bool in_cell_styles;

    struct buf strings; /* each ends with a NUL */
    size_t *starts;
    size_t string_count;

    size_t bytes; /* of text */
    enum reading problem;
};

static void begin_in_workbook(void *arg, struct xml *xml, const char *name)
{
    struct xlsx *xlsx = arg;
    const struct relation *sheet;
    const char *value;

    if (is(name, "workbookPr")) {
        value = xml_attribute(xml, "date1904");
        xlsx->from_1904 = value && (is(value, "1") || is(value, "true"));
    }
    if (!is(name, "sheet"))
        return;
    sheet = relations_by_id(&xlsx->relations, xml_attribute_in(xml, "relationships", "id"));
    if (!sheet || !is(sheet->type, "worksheet"))
        return;
    if (!package_parts_add(&xlsx->sheets, mem_strdup(sheet->part))) {
        xlsx->problem = READING_TOO_LARGE;
        return;
    }
    value = xml_attribute(xml, "name");
    xlsx->titles = package_room(xlsx->titles, xlsx->title_count, sizeof(*xlsx->titles));
    xlsx->titles[xlsx->title_count++] = mem_strdup(value ? value : "");
}

/* ---- Styles ---- */

static unsigned shown_by(const struct xlsx *xlsx, unsigned number)
{
    for (size_t i = 0; i < xlsx->format_count; i++) {
        if (xlsx->formats[i].number == number)
            return xlsx->formats[i].shown;
    }
    return shown_by_number(number);
}

static unsigned number_in(struct xml *xml, const char *name)
{
    const char *value = xml_attribute(xml, name);

    return value ? (unsigned)strtoul(value, NULL, 10) : 0;
}

/* Excel knows no more formats and styles than these. */
#define FORMATS_MAX 1000
#define STYLES_MAX  65536

static void begin_in_styles(void *arg, struct xml *xml, const char *name)
{
    struct xlsx *xlsx = arg;

    if (is(name, "numFmt") && xlsx->format_count < FORMATS_MAX) {
        struct format format = {.number = number_in(xml, "numFmtId")};
        const char *code = xml_attribute(xml, "formatCode");

        format.shown = code ? shown_by_code(code) : SHOWN_NUMBER;
        xlsx->formats = package_room(xlsx->formats, xlsx->format_count, sizeof(*xlsx->formats));
        xlsx->formats[xlsx->format_count++] = format;
    } else if (is(name, "cellXfs")) {
        xlsx->in_cell_styles = true;
    } else if (is(name, "xf") && xlsx->in_cell_styles && xlsx->style_count < STYLES_MAX) {
        xlsx->styles = package_room(xlsx->styles, xlsx->style_count, sizeof(*xlsx->styles));
        xlsx->styles[xlsx->style_count++] = shown_by(xlsx, number_in(xml, "numFmtId"));
    }
}

static void end_in_styles(void *arg, struct xml *xml, const char *name)
{
    struct xlsx *xlsx = arg;

    (void)xml;
    if (is(name, "cellXfs"))
        xlsx->in_cell_styles = false;
}

/* ---- Shared strings ---- */

struct string_reader {
    struct xlsx *xlsx;
    bool text;
};

static void begin_in_strings(void *arg, struct xml *xml, const char *name)
{
    struct string_reader *reader = arg;
    struct xlsx *xlsx = reader->xlsx;

    if (is(name, "rPh")) { /* how signs are pronounced */
        xml_skip(xml);
    } else if (is(name, "t")) {
        reader->text = true;
    } else if (is(name, "si")) {
        if (xlsx->string_count)
            buf_add_char(&xlsx->strings, '\0');
        xlsx->starts = package_room(xlsx->starts, xlsx->string_count, sizeof(*xlsx->starts));
        xlsx->starts[xlsx->string_count++] = xlsx->strings.length;
    }
    if (xlsx->strings.length > TEXT_WRITER_MAX) {
        xlsx->problem = READING_TOO_LARGE;
        xml_stop(xml);
    }
}

static void end_in_strings(void *arg, struct xml *xml, const char *name)
{
    struct string_reader *reader = arg;

    (void)xml;
    if (is(name, "t"))
        reader->text = false;
}

static void text_in_strings(void *arg, const char *text, size_t length)
{
    struct string_reader *reader = arg;

    if (reader->text)
        buf_add(&reader->xlsx->strings, text, length);
}

/* ---- Sheets ---- */

struct sheet {
    struct xlsx *xlsx;
    struct text_writer writer;
    size_t column; /* cells of the row until now */
    size_t next;   /* the column of the cell, from 1 */
    unsigned shown;
    char type; /* 's': a shared string, 'b': true or false, 'n': a number, 't': text as it is */
    bool text;
    struct buf value;
};

/* "BC12" is column 55; 0 of anything else. */
static size_t column_of(const char *reference)
{
    size_t column = 0;

    for (; reference && *reference >= 'A' && *reference <= 'Z'; reference++) {
        column = column * 26 + (size_t)(*reference - 'A') + 1;
        if (column > COLUMNS_MAX)
            return 0;
    }
    return column;
}

static void begin_cell(struct sheet *sheet, struct xml *xml)
{
    const char *type;
    unsigned style = number_in(xml, "s");
    size_t column = column_of(xml_attribute(xml, "r"));

    sheet->next = column > sheet->column ? column : sheet->column + 1;
    sheet->shown = style < sheet->xlsx->style_count ? sheet->xlsx->styles[style] : SHOWN_NUMBER;
    type = xml_attribute(xml, "t");
    sheet->type = !type || is(type, "n") ? 'n' : is(type, "s") || is(type, "b") ? *type : 't';
    buf_reset(&sheet->value);
}

static void begin_in_sheet(void *arg, struct xml *xml, const char *name)
{
    struct sheet *sheet = arg;

    if (text_writer_is_full(&sheet->writer)) {
        xml_stop(xml);
    } else if (is(name, "c")) {
        begin_cell(sheet, xml);
    } else if (is(name, "v") || is(name, "t")) {
        sheet->text = true;
    } else if (is(name, "row")) {
        text_writer_row(&sheet->writer);
        sheet->column = 0;
    } else if (is(name, "rPh")) {
        xml_skip(xml);
    }
}

/* Days since the end of 1899, with the 29th of February 1900 that never was. */
static void write_date(struct sheet *sheet, double days)
{
    double first = sheet->xlsx->from_1904 ? -24107 : days < 60 ? -25568 : -25569;
    double seconds = floor((days + first) * 86400 + 0.5);
    unsigned shown = sheet->shown;
    time_t at = (time_t)seconds;
    struct tm when;
    char shown_text[64];
    size_t length;

    /* A date with a fraction has a time, also when its format shows none. */
    if (shown == SHOWN_DATE && at % 86400)
        shown |= SHOWN_TIME;
    if (!gmtime_r(&at, &when))
        return;
    length = strftime(shown_text, sizeof(shown_text),
                      shown == SHOWN_DATE   ? "%Y-%m-%d"
                      : shown == SHOWN_TIME ? "%H:%M:%S"
                                            : "%Y-%m-%d %H:%M:%S",
                      &when);
    text_writer_add(&sheet->writer, shown_text, length);
}

/* The shortest text of the number: files have 0.1 as 0.10000000000000001. */
static void write_number(struct sheet *sheet)
{
    char *rest, shown[64];
    double number = strtod(sheet->value.data, &rest);

    if (*rest || !isfinite(number))
        text_writer_add(&sheet->writer, sheet->value.data, sheet->value.length);
    else if (sheet->shown && number >= 0 && number < 2958466) /* the year 10000 */
        write_date(sheet, number);
    else
        text_writer_add(&sheet->writer, shown,
                        (size_t)snprintf(shown, sizeof(shown), "%.15g", number));
}

static void write_string(struct sheet *sheet)
{
    const struct xlsx *xlsx = sheet->xlsx;
    size_t index = strtoul(sheet->value.data, NULL, 10);
    const char *string;

    if (index >= xlsx->string_count || !xlsx->strings.data)
        return;
    string = xlsx->strings.data + xlsx->starts[index];
    text_writer_add(&sheet->writer, string, strlen(string));
}

static void end_cell(struct sheet *sheet)
{
    if (!sheet->value.length)
        return;
    text_writer_cells(&sheet->writer, sheet->next - sheet->column);
    sheet->column = sheet->next;
    if (sheet->type == 's')
        write_string(sheet);
    else if (sheet->type == 'n')
        write_number(sheet);
    else if (sheet->type == 'b')
        text_writer_add(&sheet->writer, is(sheet->value.data, "1") ? "TRUE" : "FALSE",
                        is(sheet->value.data, "1") ? 4 : 5);
    else
        text_writer_add(&sheet->writer, sheet->value.data, sheet->value.length);
}

static void end_in_sheet(void *arg, struct xml *xml, const char *name)
{
    struct sheet *sheet = arg;

    (void)xml;
    if (is(name, "v") || is(name, "t"))
        sheet->text = false;
    else if (is(name, "c"))
        end_cell(sheet);
}

static void text_in_sheet(void *arg, const char *text, size_t length)
{
    struct sheet *sheet = arg;

    if (sheet->text)
        buf_add(&sheet->value, text, length);
}

static bool visit_sheet(void *arg, struct package_entry *entry)
{
    static const struct xml_handler handler = {begin_in_sheet, end_in_sheet, text_in_sheet};
    struct xlsx *xlsx = arg;
    struct package_part *part = package_parts_find(&xlsx->sheets, package_entry_name(entry));
    struct sheet sheet = {.xlsx = xlsx};

    if (!part || part->text.length)
        return true;
    sheet.writer.text = &part->text;
    text_writer_table(&sheet.writer);
    xlsx->problem = ooxml_read_entry(xlsx->package, entry, &handler, &sheet);
    text_writer_table_end(&sheet.writer);
    buf_clear(&sheet.value);
    xlsx->bytes += part->text.length;
    return !xlsx->problem && xlsx->bytes <= TEXT_WRITER_MAX;
}

/* ---- All of it ---- */

/* A part that a workbook may have. */
static enum reading read_optional(struct xlsx *xlsx, const char *type,
                                  const struct xml_handler *handler, void *arg)
{
    const struct relation *part = relations_by_type(&xlsx->relations, type);
    enum reading problem =
        part ? ooxml_read(xlsx->package, part->part, handler, arg) : READING_DONE;

    if (problem == READING_INCOMPLETE)
        problem = READING_DONE;
    return problem ? problem : xlsx->problem;
}

static enum reading read_workbook(struct xlsx *xlsx, const char *main)
{
    static const struct xml_handler workbook = {begin_in_workbook, xml_ignore_end,
                                                xml_ignore_text};
    static const struct xml_handler styles = {begin_in_styles, end_in_styles, xml_ignore_text};
    static const struct xml_handler strings = {begin_in_strings, end_in_strings,
                                               text_in_strings};
    struct string_reader reader = {.xlsx = xlsx};
    enum reading problem = relations_find(xlsx->package, main, &xlsx->relations);

    if (!problem)
        problem = ooxml_read(xlsx->package, main, &workbook, xlsx);
    if (!problem)
        problem = read_optional(xlsx, "styles", &styles, xlsx);
    if (!problem)
        problem = read_optional(xlsx, "sharedStrings", &strings, &reader);
    package_parts_sort(&xlsx->sheets);
    if (!problem)
        problem = package_walk(xlsx->package, visit_sheet, xlsx);
    return problem ? problem : xlsx->problem;
}

enum reading xlsx_write(struct text_writer *writer, struct package *package, const char *main)
{
    struct xlsx xlsx = {.package = package};
    enum reading problem = read_workbook(&xlsx, main);

    for (size_t i = 0; !problem && i < xlsx.sheets.count; i++) {
        const struct buf *text = &xlsx.sheets.list[i].text;

        if (!text->length)
            continue;
        text_writer_heading(writer, 1);
        text_writer_add(writer, xlsx.titles[i], strlen(xlsx.titles[i]));
        text_writer_break(writer, 2);
        text_writer_mark(writer, text->data);
        text_writer_break(writer, 2);
    }
    for (size_t i = 0; i < xlsx.title_count; i++)
        free(xlsx.titles[i]);
    free(xlsx.titles);
    free(xlsx.formats);
    free(xlsx.styles);
    free(xlsx.starts);
    buf_clear(&xlsx.strings);
    package_parts_clear(&xlsx.sheets);
    relations_clear(&xlsx.relations);
    return problem;
}
