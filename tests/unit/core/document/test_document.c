/* Documents, read as the server reads them: with real children, and the real pdftotext. */

#include "core/document/document.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/base/mem.h"
#include "tests/support/readers_group.h"
#include "tests/support/test.h"

/* ---- Tools ---- */

static int file_of(const char *bytes, size_t length)
{
    int fd = memfd_create("document", MFD_CLOEXEC);

    assert_int_equal(write(fd, bytes, length), length);
    return fd;
}

static enum err_code read_bytes(const char *bytes, size_t length, const char *name,
                                struct document *ret_document, struct err *err)
{
    int fd = file_of(bytes, length);
    enum err_code rc = document_read(fd, name, NULL, ret_document, err);

    close(fd);
    return rc;
}

static void assert_text(const char *bytes, const char *name, const char *text, size_t pages)
{
    struct document document = {0};
    struct err err = {0};

    if (read_bytes(bytes, strlen(bytes), name, &document, &err))
        fail_msg("%s", err.text);
    assert_string_equal(document.text.data ? document.text.data : "", text);
    assert_int_equal(document.pages, pages);
    document_clear(&document);
}

static void assert_refused(const char *bytes, size_t length, const char *name,
                           enum err_reason reason, const char *sentence)
{
    struct document document = {0};
    struct err err = {0};

    assert_int_equal(read_bytes(bytes, length, name, &document, &err), ERR_INVALID);
    assert_int_equal(err.reason, reason);
    assert_string_equal(err.text, sentence);
    assert_null(document.text.data);
}

static void add_object(struct buf *pdf, size_t *offsets, size_t number, const char *body)
{
    offsets[number] = pdf->length;
    buf_addf(pdf, "%zu 0 obj\n%s\nendobj\n", number, body);
}

/* A PDF with a page for each text. `extra` goes into its trailer. */
static char *pdf_of(const char *const *texts, size_t count, const char *extra)
{
    struct buf pdf = {0};
    AUTO_BUF kids = {0};
    size_t offsets[64] = {0}, objects = 3 + 2 * count, table;

    buf_add_text(&pdf, "%PDF-1.4\n");
    for (size_t i = 0; i < count; i++)
        buf_addf(&kids, "%zu 0 R ", 4 + 2 * i);
    add_object(&pdf, offsets, 1, "<</Type/Catalog/Pages 2 0 R>>");
    {
        AUTO_FREE char *pages =
            mem_printf("<</Type/Pages/Count %zu/Kids[%s]>>", count, kids.data);

        add_object(&pdf, offsets, 2, pages);
    }
    add_object(&pdf, offsets, 3, "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>");
    for (size_t i = 0; i < count; i++) {
        AUTO_FREE char *drawn = mem_printf("BT /F1 24 Tf 72 700 Td (%s) Tj ET", texts[i]);
        AUTO_FREE char *stream =
            mem_printf("<</Length %zu>>\nstream\n%s\nendstream", strlen(drawn), drawn);
        AUTO_FREE char *page = mem_printf(
            "<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Resources<</Font<</F1 3 0 R>>>>"
            "/Contents %zu 0 R>>",
            5 + 2 * i);

        add_object(&pdf, offsets, 4 + 2 * i, page);
        add_object(&pdf, offsets, 5 + 2 * i, stream);
    }
    table = pdf.length;
    buf_addf(&pdf, "xref\n0 %zu\n0000000000 65535 f \n", objects + 1);
    for (size_t i = 1; i <= objects; i++)
        buf_addf(&pdf, "%010zu 00000 n \n", offsets[i]);
    buf_addf(&pdf, "trailer\n<</Size %zu/Root 1 0 R%s>>\nstartxref\n%zu\n%%%%EOF\n",
             objects + 1, extra, table);
    return buf_take(&pdf);
}

/* ---- Tests ---- */

TEST(text_stays_as_it_is)
{
    assert_text("# Head\n\na,b\r\n1,2\n", "notes.md", "# Head\n\na,b\n1,2\n", 0);
    assert_text("", "empty.txt", "", 0);
}

TEST(html_is_read_in_a_child)
{
    assert_text("<!doctype html><h1>Caf\xE9</h1><p>text", "a.html", "# Caf\xC3\xA9\n\ntext", 0);
}

TEST(a_pdf_becomes_text_with_its_pages)
{
    static const char *const pages[] = {"The first page", "The second page", "The third"};
    AUTO_FREE char *pdf = pdf_of(pages, 3, "");

    assert_text(pdf, "manual.pdf", "The first page\n\n\fThe second page\n\n\fThe third", 3);
}

TEST(a_pdf_without_text_is_refused)
{
    static const char *const pages[] = {""};
    AUTO_FREE char *pdf = pdf_of(pages, 1, "");

    assert_refused(pdf, strlen(pdf), "scan.pdf", REASON_SCANNED,
                   "No text was found; it looks scanned.");
}

TEST(a_damaged_pdf_is_refused)
{
    assert_refused("%PDF-1.7\nnothing of a PDF", 24, "a.pdf", REASON_BAD_VALUE,
                   "The file is damaged.");
}

TEST(an_encrypted_pdf_is_refused_as_such)
{
    static const char *const pages[] = {"secret"};
    AUTO_FREE char *pdf = pdf_of(pages, 1,
                                 "/ID[<00><00>]/Encrypt<</Filter/Standard/V 1/R 2/P -4"
                                 "/O(0123456789abcdef0123456789abcdef)"
                                 "/U(0123456789abcdef0123456789abcdef)>>");

    assert_refused(pdf, strlen(pdf), "a.pdf", REASON_BAD_VALUE, "The file is encrypted.");
}

TEST(what_is_no_document_is_refused)
{
    assert_refused("PK\x03\x04\0\0", 6, "a.txt", REASON_BAD_VALUE, "The file is damaged.");
    assert_refused("\x89PNG\r\n\x1A\n\0\0\0\rIHDR", 16, "a.txt", REASON_UNSUPPORTED,
                   "It is a PNG picture.");
}

TEST(a_table_of_values_is_read_in_a_child)
{
    assert_text("a;b\n1;\"2\"\n", "a.csv", "| a | b |\n| --- | --- |\n| 1 | 2 |", 0);
    assert_text("", "empty.csv", "", 0);
}

TEST(xml_is_read_in_a_child)
{
    assert_text("<?xml version='1.0'?><a><b>1</b><c/></a>", "a.txt",
                "<a>\n<b>1</b>\n<c/>\n</a>", 0);
}

/* What calls itself XML or a table and is none is text nevertheless. */
TEST(what_its_reader_does_not_take_is_text)
{
    AUTO_BUF bytes = {0};

    assert_text("<?xml version='1.0'?><a><b>", "a.xml", "<?xml version='1.0'?><a><b>", 0);
    buf_add_text(&bytes, "\"");
    memset(buf_reserve(&bytes, (size_t)2 << 20), 'x', (size_t)2 << 20);
    buf_added(&bytes, (size_t)2 << 20);
    assert_text(bytes.data, "a.csv", bytes.data, 0);
}

TEST(rtf_is_read_where_unrtf_is_installed)
{
    static const char rtf[] = "{\\rtf1\\ansi {\\b Title}\\par Caf\\'e9 \\u20013?\\par}";

    if (access("/usr/bin/unrtf", X_OK) == 0)
        assert_text(rtf, "a.txt", "Title\nCaf\xC3\xA9 \xE4\xB8\xAD", 0);
    else
        assert_refused(rtf, strlen(rtf), "a.txt", REASON_UNSUPPORTED,
                       "It is an RTF file, and this server has no reader for it: unrtf is not "
                       "installed.");
}

/* A document of Word 2: a head with the place and the length of the text. */
TEST(doc_is_read_where_antiword_is_installed)
{
    static const char text[] = "A heading\rThe text of an old document.\r";
    char bytes[2048] = "\xDB\xA5\x2D";
    struct document document = {0};
    struct err err = {0};

    bytes[0x19] = bytes[0x1D] = 4; /* the text begins at 1024, and ends */
    bytes[0x1C] = bytes[0x34] = sizeof(text) - 1;
    memcpy(bytes + 1024, text, sizeof(text));
    if (access("/usr/bin/antiword", X_OK) != 0) {
        assert_refused(bytes, sizeof(bytes), "a.doc", REASON_UNSUPPORTED,
                       "It is an old Word document, and this server has no reader for it: "
                       "antiword is not installed.");
        return;
    }
    assert_int_equal(read_bytes(bytes, sizeof(bytes), "a.doc", &document, &err), ERR_OK);
    assert_string_equal(document.text.data, "\nA heading\nThe text of an old document.");
    document_clear(&document);
}

TEST(without_a_spawner_only_text_is_read)
{
    struct document document = {0};
    struct err err = {0};

    compute_stop();
    assert_text("plain", NULL, "plain", 0);
    assert_int_equal(read_bytes("<html>x", 7, NULL, &document, &err), ERR_INTERNAL);
    assert_int_equal(compute_start(document_tasks, DOCUMENT_TASKS, &err), ERR_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_stays_as_it_is),
        cmocka_unit_test(html_is_read_in_a_child),
        cmocka_unit_test(a_pdf_becomes_text_with_its_pages),
        cmocka_unit_test(a_pdf_without_text_is_refused),
        cmocka_unit_test(a_damaged_pdf_is_refused),
        cmocka_unit_test(an_encrypted_pdf_is_refused_as_such),
        cmocka_unit_test(what_is_no_document_is_refused),
        cmocka_unit_test(a_table_of_values_is_read_in_a_child),
        cmocka_unit_test(xml_is_read_in_a_child),
        cmocka_unit_test(what_its_reader_does_not_take_is_text),
        cmocka_unit_test(rtf_is_read_where_unrtf_is_installed),
        cmocka_unit_test(doc_is_read_where_antiword_is_installed),
        cmocka_unit_test(without_a_spawner_only_text_is_read),
    };

    return cmocka_run_group_tests(tests, readers_start, readers_stop);
}
