/* The text of scanned pages, drawn by the real pdftoppm and read by the real tesseract, each in a real child. Without
 * tesseract the program is skipped, but for what is said then. */

#include "core/document/scan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/document/pictures.h"
#include "tests/support/readers_group.h"
#include "tests/support/test.h"

#define ENGLISH                         \
    &(struct document_scans)            \
    {                                   \
        .languages = "eng", .pages = 20 \
    }

#define NEEDS_TESSERACT()                              \
    do {                                               \
        if (access("/usr/bin/tesseract", X_OK) != 0) { \
            printf("SKIPPED 1 (no tesseract)\n");      \
            skip();                                    \
        }                                              \
    } while (0)

/* ---- A PDF of pages with text, and of pages with a picture of a text ---- */

static int file_of(const struct buf *bytes)
{
    int fd = memfd_create("document", MFD_CLOEXEC);

    assert_int_equal(write(fd, bytes->data, bytes->length), bytes->length);
    return fd;
}

static void add_stream(struct buf *pdf, size_t number, const char *entries, const char *bytes,
                       size_t length)
{
    buf_addf(pdf, "%zu 0 obj\n<<%s/Length %zu>>stream\n", number, entries, length);
    buf_add(pdf, bytes, length);
    buf_add_text(pdf, "\nendstream\nendobj\n");
}

static unsigned number_at(const char *bytes)
{
    const unsigned char *at = (const unsigned char *)bytes;

    return (unsigned)at[0] << 24 | (unsigned)at[1] << 16 | (unsigned)at[2] << 8 | at[3];
}

/* The lines of a PNG are what PDF knows as a Flate stream with a predictor. */
static void add_picture(struct buf *pdf, size_t number, const char *png, size_t length)
{
    unsigned width = number_at(png + 16), height = number_at(png + 20);
    AUTO_BUF lines = {0};
    char entries[256];

    assert_int_equal(png[24], 8);
    for (size_t at = 8; at + 12 <= length; at += 12 + number_at(png + at))
        if (memcmp(png + at + 4, "IDAT", 4) == 0)
            buf_add(&lines, png + at + 8, number_at(png + at));
    (void)snprintf(entries, sizeof(entries),
                   "/Type/XObject/Subtype/Image/Width %u/Height %u/BitsPerComponent 8"
                   "/ColorSpace/%s/Filter/FlateDecode"
                   "/DecodeParms<</Predictor 15/Colors %d/BitsPerComponent 8/Columns %u>>",
                   width, height, png[25] == 2 ? "DeviceRGB" : "DeviceGray",
                   png[25] == 2 ? 3 : 1, width);
    add_stream(pdf, number, entries, lines.data, lines.length);
}

struct page {
    const char *text;
    bool scanned;
};

static void add_pages(struct buf *pdf, const struct page *pages, size_t count);

/* A picture of the text: PNG. */
static void draw(const char *text, struct document_pictures *ret_pictures)
{
    AUTO_BUF pdf = {0};
    struct err err = {0};
    int fd;

    add_pages(&pdf, &(struct page){text, false}, 1);
    fd = file_of(&pdf);
    if (document_pictures(fd, ret_pictures, &err))
        fail_msg("%s", err.text);
    close(fd);
}

static void add_page(struct buf *pdf, size_t first, const struct page *page)
{
    char content[512];

    buf_addf(pdf,
             "%zu 0 obj\n<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Contents %zu 0 R"
             "/Resources<</Font<</F 3 0 R>>/XObject<</I %zu 0 R>>>>>>\nendobj\n",
             first, first + 1, first + 2);
    (void)snprintf(content, sizeof(content),
                   page->scanned ? "q 595 0 0 842 0 0 cm /I Do Q"
                                 : "BT /F 24 Tf 40 700 Td (%s) Tj ET",
                   page->text);
    add_stream(pdf, first + 1, "", content, strlen(content));
    if (page->scanned) {
        struct document_pictures pictures = {0};

        draw(page->text, &pictures);
        add_picture(pdf, first + 2, pictures.bytes.data, pictures.bytes.length);
        document_pictures_clear(&pictures);
    }
}

static void add_pages(struct buf *pdf, const struct page *pages, size_t count)
{
    buf_addf(pdf,
             "%%PDF-1.4\n1 0 obj\n<</Type/Catalog/Pages 2 0 R>>\nendobj\n"
             "2 0 obj\n<</Type/Pages/Count %zu/Kids[",
             count);
    for (size_t i = 0; i < count; i++)
        buf_addf(pdf, "%zu 0 R ", 4 + 3 * i);
    buf_add_text(pdf, "]>>\nendobj\n3 0 obj\n<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>\n"
                      "endobj\n");
    for (size_t i = 0; i < count; i++)
        add_page(pdf, 4 + 3 * i, &pages[i]);
    buf_add_text(pdf, "trailer<</Root 1 0 R>>\n%%EOF\n");
}

static enum err_code read_scan(const struct page *pages, size_t count,
                               const struct document_scans *scans,
                               struct document *ret_document, struct err *err)
{
    AUTO_BUF pdf = {0};
    enum err_code rc;
    int fd;

    add_pages(&pdf, pages, count);
    fd = file_of(&pdf);
    rc = document_read(fd, "scan.pdf", scans, ret_document, err);
    close(fd);
    return rc;
}

/* ---- Tests ---- */

static const struct page mixed[] = {
    {"The first page is text", false},
    {"The battery warranty", true},
    {"The third page is text", false},
    {"Return the device", true},
};

TEST(pages_that_are_pictures_get_a_text_at_their_place)
{
    struct document document = {0};
    struct err err = {0};

    NEEDS_TESSERACT();
    if (read_scan(mixed, COUNT_OF(mixed), ENGLISH, &document, &err))
        fail_msg("%s", err.text);
    assert_int_equal(document.pages, 4);
    assert_string_equal(document.text.data, "The first page is text\n\n\fThe battery warranty\f"
                                            "The third page is text\fReturn the device");
    document_clear(&document);
}

TEST(without_a_reader_of_pictures_the_text_of_the_others_is_there)
{
    struct document document = {0};
    struct err err = {0};

    assert_int_equal(read_scan(mixed, COUNT_OF(mixed), NULL, &document, &err), ERR_OK);
    assert_int_equal(scan_count(&document), 2);
    assert_non_null(strstr(document.text.data, "third page"));
    assert_null(strstr(document.text.data, "battery"));
    document_clear(&document);
}

TEST(no_more_pages_are_read_than_the_caller_allows)
{
    struct document document = {0};
    const struct document_scans one = {.languages = "eng", .pages = 1};

    NEEDS_TESSERACT();
    assert_int_equal(read_scan(mixed, COUNT_OF(mixed), &one, &document, NULL), ERR_OK);
    assert_non_null(strstr(document.text.data, "battery"));
    assert_null(strstr(document.text.data, "device"));
    document_clear(&document);
}

static bool stop_at_the_second(void *arg, size_t pages)
{
    assert_int_equal(pages, 4);
    return ++*(int *)arg == 2;
}

TEST(a_caller_that_has_to_end_waits_for_a_page)
{
    struct document document = {0};
    int asked = 0;
    const struct document_scans scans = {
        .languages = "eng", .pages = 20, .stop = stop_at_the_second, .arg = &asked};

    NEEDS_TESSERACT();
    assert_int_equal(read_scan(mixed, COUNT_OF(mixed), &scans, &document, NULL), ERR_CANCELLED);
    assert_int_equal(asked, 2);
    assert_null(document.text.data);
}

TEST(a_picture_is_a_document)
{
    struct document_pictures pictures = {0};
    struct document document = {0};
    struct err err = {0};
    int fd;

    NEEDS_TESSERACT();
    draw("The battery warranty", &pictures);
    fd = file_of(&pictures.bytes);
    if (document_read(fd, "photo.png", ENGLISH, &document, &err))
        fail_msg("%s", err.text);
    assert_string_equal(document.text.data, "The battery warranty");
    assert_int_equal(document.pages, 0);
    document_clear(&document);
    assert_int_equal(document_read(fd, "photo.png", NULL, &document, &err), ERR_INVALID);
    assert_string_equal(err.text, "It is a PNG picture.");
    close(fd);
    document_pictures_clear(&pictures);
}

static void assert_refused(const char *text, const struct document_scans *scans,
                           enum err_reason reason, const char *sentence)
{
    struct document document = {0};
    struct err err = {0};

    assert_int_equal(read_scan(&(struct page){text, true}, 1, scans, &document, &err),
                     ERR_INVALID);
    assert_int_equal(err.reason, reason);
    assert_string_equal(err.text, sentence);
    assert_null(document.text.data);
}

TEST(a_scan_that_cannot_be_read_says_why)
{
    assert_refused("text", NULL, REASON_SCANNED, "No text was found; it looks scanned.");
    assert_refused("text", &(struct document_scans){.languages = "eng+xyz", .pages = 1},
                   REASON_UNSUPPORTED,
                   "It looks scanned, and this server cannot read it: tesseract-ocr with the "
                   "languages 'eng+xyz' is not installed.");
    NEEDS_TESSERACT();
    assert_refused("", ENGLISH, REASON_SCANNED, "No text was found; it looks scanned.");
}

TEST(a_damaged_picture_is_refused)
{
    AUTO_BUF png = {0};
    struct document document = {0};
    struct err err = {0};
    int fd;

    NEEDS_TESSERACT();
    buf_add(&png, "\x89PNG\r\n\x1A\nnothing of a picture", 28);
    fd = file_of(&png);
    assert_int_equal(document_read(fd, NULL, ENGLISH, &document, &err), ERR_INVALID);
    assert_string_equal(err.text, "The picture cannot be read: it is damaged, or too large.");
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages_that_are_pictures_get_a_text_at_their_place),
        cmocka_unit_test(without_a_reader_of_pictures_the_text_of_the_others_is_there),
        cmocka_unit_test(no_more_pages_are_read_than_the_caller_allows),
        cmocka_unit_test(a_caller_that_has_to_end_waits_for_a_page),
        cmocka_unit_test(a_picture_is_a_document),
        cmocka_unit_test(a_scan_that_cannot_be_read_says_why),
        cmocka_unit_test(a_damaged_picture_is_refused),
    };

    return cmocka_run_group_tests(tests, readers_start, readers_stop);
}
