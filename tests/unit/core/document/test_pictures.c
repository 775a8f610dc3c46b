/* Pages as pictures, drawn by the real pdftoppm in a real child. */

#include "core/document/pictures.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/document/document.h"
#include "tests/support/readers_group.h"
#include "tests/support/test.h"

/* A PDF of so many pages, with a box for each. */
static int pdf_of(size_t pages, const char *box)
{
    int fd = memfd_create("pdf", MFD_CLOEXEC);
    AUTO_BUF pdf = {0};

    buf_addf(&pdf,
             "%%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n"
             "2 0 obj<</Type/Pages/Count %zu/Kids[",
             pages);
    for (size_t i = 0; i < pages; i++)
        buf_addf(&pdf, "%zu 0 R ", 4 + i);
    buf_addf(&pdf, "]>>endobj\n3 0 obj<</Length 24>>stream\n0 0 1 rg 0 0 50 50 re f\nendstream "
                   "endobj\n");
    for (size_t i = 0; i < pages; i++)
        buf_addf(&pdf,
                 "%zu 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 %s]/Contents 3 0 R>>endobj\n",
                 4 + i, box);
    buf_add_text(&pdf, "trailer<</Root 1 0 R>>\n%%EOF\n");
    assert_int_equal(write(fd, pdf.data, pdf.length), pdf.length);
    return fd;
}

/* Width and height of a PNG file. */
static unsigned number_at(const char *bytes)
{
    const unsigned char *at = (const unsigned char *)bytes;

    return (unsigned)at[2] << 8 | at[3];
}

TEST(each_page_is_a_picture)
{
    int fd = pdf_of(3, "595 842");
    struct document_pictures pictures = {0};
    struct err err = {0};

    if (document_pictures(fd, &pictures, &err))
        fail_msg("%s", err.text);
    assert_int_equal(pictures.count, 3);
    assert_int_equal(pictures.ends[2], pictures.bytes.length);
    for (size_t i = 0; i < 3; i++) {
        const char *png = pictures.bytes.data + (i ? pictures.ends[i - 1] : 0);

        assert_memory_equal(png, "\x89PNG", 4);
        assert_int_equal(number_at(png + 20), 1169);
        assert_in_range(number_at(png + 16), 825, 828);
    }
    document_pictures_clear(&pictures);
    close(fd);
}

TEST(no_more_than_twenty_pages_are_drawn)
{
    int fd = pdf_of(30, "100 100");
    struct document_pictures pictures = {0};
    struct err err = {0};

    assert_int_equal(document_pictures(fd, &pictures, &err), ERR_OK);
    assert_int_equal(pictures.count, DOCUMENT_PICTURES_MAX);
    document_pictures_clear(&pictures);
    close(fd);
}

TEST(a_page_as_large_as_a_field_is_a_picture_like_any_other)
{
    int fd = pdf_of(1, "1000000 1000000");
    struct document_pictures pictures = {0};
    struct err err = {0};

    assert_int_equal(document_pictures(fd, &pictures, &err), ERR_OK);
    assert_in_range(number_at(pictures.bytes.data + 16), 1169, 1170);
    document_pictures_clear(&pictures);
    close(fd);
}

static void assert_refused(const char *bytes, enum err_reason reason, const char *sentence)
{
    int fd = memfd_create("bad", MFD_CLOEXEC);
    struct document_pictures pictures = {0};
    struct err err = {0};

    assert_int_equal(write(fd, bytes, strlen(bytes)), strlen(bytes));
    assert_int_equal(document_pictures(fd, &pictures, &err), ERR_INVALID);
    assert_int_equal(err.reason, reason);
    assert_string_equal(err.text, sentence);
    assert_null(pictures.bytes.data);
    close(fd);
}

TEST(what_cannot_be_drawn_is_refused)
{
    assert_refused("text", REASON_UNSUPPORTED, "It is no PDF file.");
    assert_refused("%PDF-1.7\nnothing of a PDF", REASON_BAD_VALUE,
                   "The pages of the file cannot be drawn.");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_page_is_a_picture),
        cmocka_unit_test(no_more_than_twenty_pages_are_drawn),
        cmocka_unit_test(a_page_as_large_as_a_field_is_a_picture_like_any_other),
        cmocka_unit_test(what_cannot_be_drawn_is_refused),
    };

    return cmocka_run_group_tests(tests, readers_start, readers_stop);
}
