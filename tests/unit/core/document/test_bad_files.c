/*
 * Files that are made to break a reader, or just broken. Each is read as the server reads it, with its expected end;
 * and once more in a child of the test's own, which is confined like any other, for the memory that it takes.
 */

#include "core/document/document.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/mem.h"
#include "core/document/office/package.h"
#include "core/sandbox/confine.h"
#include "tests/support/readers_group.h"
#include "tests/support/sanitized.h"
#include "tests/support/test.h"
#include "tests/support/zip_maker.h"

#define ODT_TYPE   "application/vnd.oasis.opendocument.text"
#define ODS_TYPE   "application/vnd.oasis.opendocument.spreadsheet"
#define RELS(list) "<Relationships>" list "</Relationships>"
#define REL(id, type, target) \
    "<Relationship Id='" id "' Type='http://x/" type "' Target='" target "'/>"
#define R_NS "xmlns:r='http://x/relationships'"

/* ---- Zip files ---- */

static void begin_odf(struct zip_maker *zip, struct buf *bytes, const char *type)
{
    zip_begin(zip, bytes, NULL);
    zip_add(zip, "mimetype", type);
}

static void begin_office(struct zip_maker *zip, struct buf *bytes, const char *options)
{
    zip_begin(zip, bytes, options);
    zip_add(zip, "_rels/.rels", RELS(REL("a", "officeDocument", "d.xml")));
}

static void zip_bomb(struct buf *bytes)
{
    struct zip_maker zip;

    begin_odf(&zip, bytes, ODT_TYPE);
    zip_add_repeated(&zip, "content.xml", "<a>", "<b><c/></b>", (size_t)3 << 20, "</a>");
    zip_end(&zip);
}

/* One text as long as the whole. */
static void bomb_of_blanks(struct buf *bytes)
{
    struct zip_maker zip;

    begin_odf(&zip, bytes, ODT_TYPE);
    zip_add_letters(&zip, "content.xml", ' ', (size_t)100 << 20);
    zip_end(&zip);
}

static void chapter_bomb(struct buf *bytes)
{
    struct zip_maker zip;

    begin_odf(&zip, bytes, "application/epub+zip");
    zip_add(&zip, "META-INF/container.xml", "<c><rootfile full-path='b.opf'/></c>");
    zip_add(&zip, "b.opf", "<p><item id='a' href='1.html'/><itemref idref='a'/></p>");
    zip_add_repeated(&zip, "1.html", "<p>", "<i>", (size_t)20 << 20, "");
    zip_end(&zip);
}

static void nested_zip(struct buf *bytes)
{
    AUTO_BUF inner = {0};

    zip_bomb(&inner);
    for (int depth = 0; depth < 5; depth++) {
        AUTO_BUF outer = {0};
        AUTO_FREE char *name = mem_printf("%d.zip", depth);
        struct zip_maker zip;

        zip_begin(&zip, &outer, "zip:compression=store");
        zip_add_bytes(&zip, name, inner.data, inner.length);
        zip_end(&zip);
        buf_reset(&inner);
        buf_add(&inner, outer.data, outer.length);
    }
    buf_add(bytes, inner.data, inner.length);
}

static void document_is_a_zip(struct buf *bytes)
{
    AUTO_BUF inner = {0};
    struct zip_maker zip;

    begin_office(&zip, &inner, NULL);
    zip_end(&zip);
    begin_office(&zip, bytes, NULL);
    zip_add_bytes(&zip, "d.xml", inner.data, inner.length);
    zip_end(&zip);
}

static void many_entries(struct buf *bytes)
{
    struct zip_maker zip;

    begin_odf(&zip, bytes, ODT_TYPE);
    for (size_t i = 0; i < PACKAGE_ENTRIES_MAX; i++) {
        AUTO_FREE char *name = mem_printf("%zu", i);

        zip_add(&zip, name, "");
    }
    zip_end(&zip);
}

static void put_number(char *at, size_t size, uint64_t number)
{
    for (size_t i = 0; i < size; i++)
        at[i] = (char)(number >> (8 * i));
}

/* Entries without bytes: a head of 36 bytes each, then the directory. */
static void million_entries(struct buf *bytes)
{
    const size_t count = 1000000;
    char head[30] = "PK\x03\x04", record[46] = "PK\x01\x02", end[22] = "PK\x05\x06", name[8];

    put_number(head + 26, 2, 6);
    put_number(record + 28, 2, 6);
    buf_reserve(bytes, count * (sizeof(head) + sizeof(record) + 12));
    for (size_t i = 0; i < count; i++) {
        (void)snprintf(name, sizeof(name), "%06zu", i);
        buf_add(bytes, head, sizeof(head));
        buf_add(bytes, name, 6);
    }
    put_number(end + 16, 4, bytes->length);
    for (size_t i = 0; i < count; i++) {
        (void)snprintf(name, sizeof(name), "%06zu", i);
        put_number(record + 42, 4, i * 36);
        buf_add(bytes, record, sizeof(record));
        buf_add(bytes, name, 6);
    }
    put_number(end + 8, 2, 0xFFFE);
    put_number(end + 10, 2, 0xFFFE);
    put_number(end + 12, 4, count * 52);
    buf_add(bytes, end, sizeof(end));
}

static void strange_names(struct buf *bytes)
{
    struct zip_maker zip;
    AUTO_BUF emoji = {0};

    for (int i = 0; i < 63; i++)
        buf_add_text(&emoji, "\xF0\x9F\x98\x80");
    begin_odf(&zip, bytes, ODT_TYPE);
    zip_add(&zip, "../../../../etc/passwd", "root");
    zip_add(&zip, "/etc/shadow", "root");
    zip_add(&zip,
            "\xE2\x80\xAE"
            "fdp.exe",
            "right to left");
    zip_add(&zip, emoji.data, "");
    zip_add(&zip, "a\nb\tc\x01", "");
    zip_add(&zip, "content.xml", "<d><p>text</p></d>");
    zip_end(&zip);
}

/* The name in the directory has a NUL in it. */
static void name_with_nul(struct buf *bytes)
{
    struct zip_maker zip;

    begin_odf(&zip, bytes, ODT_TYPE);
    zip_add(&zip, "content.xml#.png", "<d><p>text</p></d>");
    zip_end(&zip);
    for (char *at = bytes->data;
         (at = memchr(at, '#', bytes->length - (size_t)(at - bytes->data)));)
        *at = '\0';
}

static void truncated(struct buf *bytes)
{
    strange_names(bytes);
    bytes->length = bytes->length * 2 / 3;
}

static void without_its_middle(struct buf *bytes)
{
    strange_names(bytes);
    memset(bytes->data + 40, 0xFF, 400);
}

static void encrypted_zip(struct buf *bytes)
{
    struct zip_maker zip;

    begin_office(&zip, bytes, "zip:encryption=traditional");
    zip_add(&zip, "d.xml", "<document/>");
    zip_end(&zip);
}

static void encrypted_office(struct buf *bytes)
{
    static const char name[] = "E\0n\0c\0r\0y\0p\0t\0e\0d\0P\0a\0c\0k\0a\0g\0e\0";

    buf_add(bytes, "\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1", 8);
    buf_add(bytes, name, sizeof(name));
}

/* ---- What is in them ---- */

static void add_laughs(struct buf *xml)
{
    buf_add_text(xml, "<!DOCTYPE d [<!ENTITY l0 'lol'><!ENTITY e SYSTEM 'file:///etc/passwd'>"
                      "<!ENTITY % p SYSTEM 'http://127.0.0.1:1/p.dtd'>");
    for (int i = 1; i < 10; i++) {
        buf_addf(xml, "<!ENTITY l%d '", i);
        for (int j = 0; j < 10; j++)
            buf_addf(xml, "&l%d;", i - 1);
        buf_add_text(xml, "'>");
    }
    buf_add_text(xml, "]>");
}

static void laughs(struct buf *bytes)
{
    AUTO_BUF xml = {0};
    struct zip_maker zip;

    add_laughs(&xml);
    buf_add_text(&xml, "<d><p>&l9;&e;</p></d>");
    begin_odf(&zip, bytes, ODT_TYPE);
    zip_add(&zip, "content.xml", xml.data);
    zip_end(&zip);
}

static void laughs_of_attributes(struct buf *bytes)
{
    AUTO_BUF xml = {0};
    struct zip_maker zip;

    add_laughs(&xml);
    buf_add_text(&xml, "<d><h outline-level='&l9;'>x</h></d>");
    begin_odf(&zip, bytes, ODT_TYPE);
    zip_add(&zip, "content.xml", xml.data);
    zip_end(&zip);
}

/* The document is its own styles, its own notes, and related to what is related to it. */
static void circle_of_relations(struct buf *bytes)
{
    struct zip_maker zip;

    begin_office(&zip, bytes, NULL);
    zip_add(&zip, "_rels/d.xml.rels",
            RELS(REL("a", "styles", "d.xml") REL("b", "footnotes", "_rels/../d.xml")
                     REL("c", "endnotes", "_rels/d.xml.rels") REL("d", "styles", "..")));
    zip_add(&zip, "d.xml",
            "<document><p><pPr><pStyle val='a'/></pPr><t>text</t></p><style styleId='a'>"
            "<basedOn val='a'/></style></document>");
    zip_end(&zip);
}

static void begin_slides(struct zip_maker *zip, struct buf *bytes, size_t count)
{
    begin_office(zip, bytes, NULL);
    zip_add_repeated(zip, "d.xml", "<presentation " R_NS "><sldIdLst>", "<sldId r:id='s'/>",
                     count, "</sldIdLst></presentation>");
    zip_add(zip, "_rels/d.xml.rels", RELS(REL("s", "slide", "s.xml")));
    zip_add(zip, "s.xml", "<sld><sp><p><t>text</t></p></sp></sld>");
}

static void one_slide_thousand_times(struct buf *bytes)
{
    struct zip_maker zip;

    begin_slides(&zip, bytes, 1000);
    zip_end(&zip);
}

static void million_slides(struct buf *bytes)
{
    struct zip_maker zip;

    begin_slides(&zip, bytes, 1000000);
    zip_end(&zip);
}

static void cells_that_repeat(struct buf *bytes)
{
    struct zip_maker zip;

    begin_odf(&zip, bytes, ODS_TYPE);
    zip_add(&zip, "content.xml",
            "<d><table><table-row number-rows-repeated='1048576'><table-cell "
            "number-columns-repeated='16384'><p>text</p></table-cell></table-row></table></d>");
    zip_end(&zip);
}

static void begin_sheet(struct zip_maker *zip, struct buf *bytes)
{
    begin_office(zip, bytes, NULL);
    zip_add(zip, "d.xml", "<workbook " R_NS "><sheet name='S' r:id='s'/></workbook>");
    zip_add(zip, "_rels/d.xml.rels",
            RELS(REL("s", "worksheet", "s.xml") REL("t", "sharedStrings", "t.xml")));
}

static void far_cells(struct buf *bytes)
{
    struct zip_maker zip;

    begin_sheet(&zip, bytes);
    zip_add_repeated(&zip, "s.xml", "<worksheet>", "<row><c r='XFD1'><v>1</v></c></row>",
                     100000, "</worksheet>");
    zip_end(&zip);
}

/* A long string that many cells name. */
static void shared_bomb(struct buf *bytes)
{
    struct zip_maker zip;

    begin_sheet(&zip, bytes);
    zip_add_repeated(&zip, "t.xml", "<sst><si><t>", "x", (size_t)1 << 20, "</t></si></sst>");
    zip_add_repeated(&zip, "s.xml", "<worksheet><row>", "<c t='s'><v>0</v></c>", 100000,
                     "</row></worksheet>");
    zip_end(&zip);
}

/* ---- Without a zip ---- */

static void deep_html(struct buf *bytes)
{
    buf_add_text(bytes, "<html>");
    for (int i = 0; i < 20000; i++)
        buf_add_text(bytes, "<div>");
    buf_add_text(bytes, "deep");
}

/* Formatting elements that are not closed: HTML's rules open each again in every paragraph. */
static void html_that_is_adopted(struct buf *bytes)
{
    buf_add_text(bytes, "<html>");
    for (int i = 0; i < 600; i++)
        buf_addf(bytes, "<b id=%d><p>", i);
}

static void deep_xml(struct buf *bytes)
{
    buf_add_text(bytes, "<?xml version='1.0'?>");
    for (int i = 0; i < 1000000; i++)
        buf_add_text(bytes, "<a>");
}

static void xml_with_laughs(struct buf *bytes)
{
    buf_add_text(bytes, "<?xml version='1.0'?>");
    add_laughs(bytes);
    buf_add_text(bytes, "<d>&l9;&e;</d>");
}

static void row_without_end(struct buf *bytes)
{
    for (size_t i = 0; i < (size_t)10 << 20; i++)
        buf_add_char(bytes, ',');
}

static void deep_rtf(struct buf *bytes)
{
    buf_add_text(bytes, "{\\rtf1 ");
    for (int i = 0; i < 1000000; i++)
        buf_add_char(bytes, '{');
}

static void add_pdf(struct buf *bytes, const char *pages, const char *rest)
{
    buf_addf(bytes,
             "%%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj%s endobj\n"
             "3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents 4 0 R>>endobj\n%s"
             "trailer<</Root 1 0 R>>\n%%%%EOF\n",
             pages, rest);
}

static void pdf_in_circles(struct buf *bytes)
{
    add_pdf(bytes, "<</Type/Pages/Count 2/Kids[2 0 R 2 0 R]/Parent 2 0 R>>",
            "4 0 obj 4 0 R endobj\n");
}

static void pdf_of_one_page_a_million_times(struct buf *bytes)
{
    AUTO_BUF pages = {0};

    buf_add_text(&pages, "<</Type/Pages/Count 1000000/Kids[");
    for (int i = 0; i < 1000000; i++)
        buf_add_text(&pages, "3 0 R ");
    buf_add_text(&pages, "]>>");
    add_pdf(bytes, pages.data, "");
}

static void pdf_of_many_pages(struct buf *bytes)
{
    AUTO_BUF pages = {0}, rest = {0};

    buf_add_text(&pages, "<</Type/Pages/Count 20000/Kids[");
    for (int i = 10; i < 20010; i++) {
        buf_addf(&pages, "%d 0 R ", i);
        buf_addf(&rest, "%d 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]>>endobj\n", i);
    }
    buf_add_text(&pages, "]>>");
    add_pdf(bytes, pages.data, rest.data);
}

static void pdf_that_is_cut(struct buf *bytes)
{
    pdf_in_circles(bytes);
    bytes->length = 60;
}

static void text_with_nuls(struct buf *bytes)
{
    buf_add_text(bytes, "some text");
    for (int i = 0; i < 10; i++)
        buf_add_text(bytes, " some more text of which most is text");
    buf_add(bytes, "\0\0", 2);
}

static void picture(struct buf *bytes)
{
    buf_add(bytes, "\x89PNG\r\n\x1A\n\0\0\0\rIHDR", 16);
}

static void simple_text(struct buf *bytes)
{
    buf_add_text(bytes, "just text");
}

/* ---- The corpus ---- */

#define EMOJI16  "\xF0\x9F\x98\x80\xF0\x9F\x98\x80\xF0\x9F\x98\x80\xF0\x9F\x98\x80"
#define EMOJI64  EMOJI16 EMOJI16 EMOJI16 EMOJI16
#define EMOJI255 EMOJI64 EMOJI64 EMOJI64 EMOJI16 EMOJI16 EMOJI16 "\xF0\x9F\x98\x80.csv"

#define DAMAGED     "The file is damaged."
#define ENCRYPTED   "The file is encrypted."
#define LARGE(what) "The file could not be parsed because it is too large: " what "."
#define PARTS       LARGE("it has more than 10,000 parts, or too much when it is unpacked")
#define TEXT        LARGE("its text has more than 64 MiB")
#define NO_TASK     DOCUMENT_TASKS

/* clang-format off */
static const struct {
    void (*make)(struct buf *bytes);
    const char *name;
    size_t task;
    enum err_code code;
    const char *text; /* of the error, or the beginning of the document's; NULL: any */
    long memory;      /* MiB that the child may take */
} corpus[] = {
    {zip_bomb,                 "a.odt",   DOCUMENT_TASK_OFFICE, ERR_TOO_LARGE, PARTS, 40},
    {bomb_of_blanks,           "a.odt",   DOCUMENT_TASK_OFFICE, ERR_TOO_LARGE, PARTS, 64},
    {chapter_bomb,             "a.epub",  DOCUMENT_TASK_OFFICE, ERR_TOO_LARGE, PARTS, 200},
    {nested_zip,               "a.docx",  DOCUMENT_TASK_OFFICE, ERR_INVALID, "It is a ZIP archive that is no document.", 40},
    {document_is_a_zip,        "a.docx",  DOCUMENT_TASK_OFFICE, ERR_INVALID, DAMAGED, 40},
    {many_entries,             "a.odt",   DOCUMENT_TASK_OFFICE, ERR_TOO_LARGE, PARTS, 40},
    {million_entries,          "a.odt",   DOCUMENT_TASK_OFFICE, ERR_TOO_LARGE, PARTS, 512},
    {strange_names,            "../a.odt", DOCUMENT_TASK_OFFICE, ERR_OK, "text", 40},
    {name_with_nul,            "a.odt",   DOCUMENT_TASK_OFFICE, ERR_OK, "text", 40},
    {truncated,                "a.odt",   DOCUMENT_TASK_OFFICE, ERR_INVALID, DAMAGED, 40},
    {without_its_middle,       "a.odt",   DOCUMENT_TASK_OFFICE, ERR_INVALID, NULL, 40},
    {encrypted_zip,            "a.docx",  DOCUMENT_TASK_OFFICE, ERR_INVALID, ENCRYPTED, 40},
    {encrypted_office,         "a.docx",  NO_TASK,              ERR_INVALID, ENCRYPTED, 0},
    {laughs,                   "a.odt",   DOCUMENT_TASK_OFFICE, ERR_INVALID, DAMAGED, 40},
    {laughs_of_attributes,     "a.odt",   DOCUMENT_TASK_OFFICE, ERR_INVALID, DAMAGED, 64},
    {circle_of_relations,      "a.docx",  DOCUMENT_TASK_OFFICE, ERR_OK, "text", 40},
    {one_slide_thousand_times, "a.pptx",  DOCUMENT_TASK_OFFICE, ERR_OK, "text", 40},
    {million_slides,           "a.pptx",  DOCUMENT_TASK_OFFICE, ERR_TOO_LARGE, PARTS, 64},
    {cells_that_repeat,        "a.ods",   DOCUMENT_TASK_OFFICE, ERR_TOO_LARGE, TEXT, 200},
    {far_cells,                "a.xlsx",  DOCUMENT_TASK_OFFICE, ERR_TOO_LARGE, TEXT, 300},
    {shared_bomb,              "a.xlsx",  DOCUMENT_TASK_OFFICE, ERR_TOO_LARGE, TEXT, 300},
    {deep_html,                "a.html",  DOCUMENT_TASK_HTML, ERR_OK, "deep", 300},
    {html_that_is_adopted,     "a.html",  DOCUMENT_TASK_HTML, ERR_INVALID, "No text was found.", 200},
    {deep_xml,                 "a.xml",   DOCUMENT_TASK_XML, ERR_OK, "<?xml version='1.0'?><a><a>", 100},
    {xml_with_laughs,          "a.xml",   DOCUMENT_TASK_XML, ERR_OK, "<?xml version='1.0'?><!DOCTYPE d [<!ENTITY l0", 40},
    {row_without_end,          "a.csv",   DOCUMENT_TASK_CSV, ERR_OK, ",,,,", 100},
    {deep_rtf,                 "a.rtf",   DOCUMENT_TASK_RTF, ERR_INVALID, NULL, 1100},
    {pdf_in_circles,           "a.pdf",   DOCUMENT_TASK_PDF, ERR_INVALID, NULL, 100},
    {pdf_of_one_page_a_million_times, "a.pdf", DOCUMENT_TASK_PDF, ERR_INVALID, DAMAGED, 100},
    {pdf_of_many_pages,        "a.pdf",   DOCUMENT_TASK_PDF, ERR_TOO_LARGE, LARGE("it has more than 10,000 pages"), 100},
    {pdf_that_is_cut,          "a.pdf",   DOCUMENT_TASK_PDF, ERR_INVALID, DAMAGED, 100},
    {text_with_nuls,           "a.txt",   NO_TASK, ERR_OK, "some text some more", 0},
    {picture,                  "a.docx",  NO_TASK, ERR_INVALID, "It is a PNG picture.", 0},
    {simple_text,              "a.pdf",   NO_TASK, ERR_OK, "just text", 0},
    {simple_text,              EMOJI255,  DOCUMENT_TASK_CSV, ERR_OK, "| just text |\n| --- |", 40},
    {simple_text,              "\xE2\x80\xAE" "vsc.a", NO_TASK, ERR_OK, "just text", 0},
};
/* clang-format on */

static int file_of(void (*make)(struct buf *bytes))
{
    int fd = memfd_create("bad", MFD_CLOEXEC);
    AUTO_BUF bytes = {0};

    make(&bytes);
    for (size_t done = 0; done < bytes.length;) {
        ssize_t written = write(fd, bytes.data + done, bytes.length - done);

        assert_true(written > 0);
        done += (size_t)written;
    }
    return fd;
}

static bool has_its_end(size_t row, int fd)
{
    struct document document = {0};
    struct err err = {0};
    enum err_code rc = document_read(fd, corpus[row].name, NULL, &document, &err);
    const char *text = rc ? err.text : document.text.data ? document.text.data : "";
    const char *wanted = corpus[row].text;
    bool fits =
        rc == corpus[row].code && (!wanted || strncmp(text, wanted, strlen(wanted)) == 0);

    if (!fits)
        print_error("row %zu, %s: %d, '%.200s'\n", row, corpus[row].name, (int)rc, text);
    document_clear(&document);
    return fits;
}

/* In KiB. */
static long memory_of(const struct compute_task *task, int fd)
{
    struct rusage usage;
    struct err err;
    pid_t pid = fork();
    int status = 0;

    if (pid == 0) {
        int null = open("/dev/null", O_RDWR);

        if (dup2(fd, 0) < 0 || dup2(null, 1) < 0 || dup2(null, 2) < 0 ||
            confine_self(task->purpose, &err) != ERR_OK)
            _exit(COMPUTE_NOT_CONFINED);
        _exit(task->run());
    }
    assert_true(pid > 0 && wait4(pid, &status, 0, &usage) == pid);
    assert_false(WIFEXITED(status) && WEXITSTATUS(status) == COMPUTE_NOT_CONFINED);
    return usage.ru_maxrss;
}

TEST(each_bad_file_has_its_end)
{
    size_t wrong = 0;

    for (size_t i = 0; i < COUNT_OF(corpus); i++) {
        int fd = file_of(corpus[i].make);

        wrong += !has_its_end(i, fd);
        close(fd);
    }
    assert_int_equal(wrong, 0);
}

/* A sanitizer's memory is larger than any limit. */
TEST(no_bad_file_takes_more_memory_than_expected)
{
    size_t wrong = 0;

    for (size_t i = 0; !UNDER_ASAN && i < COUNT_OF(corpus); i++) {
        int fd;
        long mib;

        if (corpus[i].task == NO_TASK)
            continue;
        fd = file_of(corpus[i].make);
        mib = memory_of(&document_tasks[corpus[i].task], fd) >> 10;
        if (mib > corpus[i].memory)
            print_error("row %zu, %s: %ld MiB\n", i, corpus[i].name, mib);
        wrong += mib > corpus[i].memory;
        close(fd);
    }
    assert_int_equal(wrong, 0);
}

/* The limit of a gigabyte, without a gigabyte. */
static bool read_one(void *arg, struct package_entry *entry)
{
    char byte;

    *(long *)arg = package_entry_read(entry, &byte, 1);
    return false;
}

TEST(what_is_unpacked_has_a_limit)
{
    AUTO_BUF bytes = {0};
    struct package package = {.unpacked = PACKAGE_UNPACKED_MAX - 1};
    struct zip_maker zip;
    long got = 0;

    /* As large as it takes for the ratio, which is another limit. */
    zip_begin(&zip, &bytes, "zip:compression=store");
    zip_add(&zip, "a", "text");
    zip_add_letters(&zip, "b", 'x', PACKAGE_UNPACKED_MAX / PACKAGE_RATIO_MAX + 1);
    zip_end(&zip);
    package.bytes = bytes.data;
    package.length = bytes.length;
    assert_int_equal(package_visit_one(&package, "a", read_one, &got), READING_DONE);
    assert_int_equal(got, 1);
    assert_int_equal(package_visit_one(&package, "a", read_one, &got), READING_TOO_LARGE);
    assert_int_equal(got, -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_bad_file_has_its_end),
        cmocka_unit_test(no_bad_file_takes_more_memory_than_expected),
        cmocka_unit_test(what_is_unpacked_has_a_limit),
    };

    return cmocka_run_group_tests(tests, readers_start, readers_stop);
}
