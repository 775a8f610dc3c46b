/*
 * tasks.c -- what runs in the child.
 *
 * PDF, RTF and the old DOC are not read by libraries. The good ones are under the GPL or the AGPL, and this program
 * would be, too. The child confines itself and then becomes a program of the system.
 */

#include "core/document/tasks.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/document/csv.h"
#include "core/document/html.h"
#include "core/document/office/office.h"
#include "core/document/office/xml_text.h"
#include "core/document/plain_text.h"
#include "core/document/reading.h"
#include "core/document/text_writer.h"
#include "core/document/xhtml.h"

/* The input is a file of a known size, so that it is mapped and not copied. */
const char *task_input(size_t *ret_length)
{
    struct stat file;
    void *bytes;

    if (fstat(STDIN_FILENO, &file) != 0)
        return NULL;
    *ret_length = (size_t)file.st_size;
    if (!file.st_size)
        return "";
    bytes = mmap(NULL, (size_t)file.st_size, PROT_READ, MAP_PRIVATE, STDIN_FILENO, 0);
    return bytes == MAP_FAILED ? NULL : bytes;
}

int task_output(const char *bytes, size_t length)
{
    while (length) {
        ssize_t written = write(STDOUT_FILENO, bytes, length);

        if (written < 0)
            return READING_DAMAGED;
        bytes += written;
        length -= (size_t)written;
    }
    return READING_DONE;
}

/* A task of this program: `read` writes the text of the bytes. */
static int run(enum reading (*read)(struct text_writer *, const char *, size_t))
{
    size_t length;
    const char *bytes = task_input(&length);
    struct buf text = {0};
    struct text_writer writer = {.text = &text};
    enum reading problem = bytes ? read(&writer, bytes, length) : READING_DAMAGED;

    return problem ? (int)problem : task_output(text.data ? text.data : "", text.length);
}

static enum reading read_html(struct text_writer *writer, const char *bytes, size_t length)
{
    struct buf decoded = {0}, html = {0};

    plain_text_add(&decoded, bytes, length);
    if (!decoded.length)
        return READING_DONE;
    if (strncmp(decoded.data, "<?xml", 5) == 0) {
        xhtml_to_html(&html, decoded.data, decoded.length);
        buf_clear(&decoded);
        decoded = html;
    }
    html_write(writer, decoded.data, decoded.length);
    return READING_DONE;
}

static enum reading read_csv(struct text_writer *writer, const char *bytes, size_t length)
{
    struct buf decoded = {0};

    plain_text_add(&decoded, bytes, length);
    return csv_write(writer, decoded.data ? decoded.data : "", decoded.length)
               ? READING_DONE
               : READING_DAMAGED;
}

int task_html(void)
{
    return run(read_html);
}

int task_csv(void)
{
    return run(read_csv);
}

int task_xml(void)
{
    return run(xml_text_write);
}

int task_office(void)
{
    return run(office_write);
}

/* ---- Programs ---- */

int task_become(const char *path, const char *const *arguments)
{
    /* Tesseract would make a thread for each core, which the child may not. */
    static char threads[] = "OMP_THREAD_LIMIT=1";
    static char *const environment[] = {threads, NULL};

    execve(path, (char *const *)(uintptr_t)arguments, environment);
    return errno == ENOENT ? READING_NO_READER : READING_DAMAGED;
}

int task_pdf(void)
{
    static const char *const arguments[] = {"pdftotext", "-q", "-enc", "UTF-8", "-", "-", NULL};

    return task_become(TASK_PDF_PROGRAM, arguments);
}

/* As HTML, in which nothing is lost: unrtf's text is ASCII. The server has it read as such. */
int task_rtf(void)
{
    static const char *const arguments[] = {"unrtf", "--html", "--nopict", "--quiet", NULL};

    return task_become(TASK_RTF_PROGRAM, arguments);
}

/* antiword wants a path that it can open: the input must be a file without a name, such as memfd_create() makes. From
 * descriptor 0 it would make a file to look around in. */
int task_doc(void)
{
    static const char *const arguments[] = {"antiword",        "-m", "UTF-8.txt", "-w", "0",
                                            "/proc/self/fd/0", NULL};

    return task_become(TASK_DOC_PROGRAM, arguments);
}

/* Fits the page into a square, and does not ask how large it calls itself. */
int task_pictures(void)
{
    static const char *const arguments[] = {"pdftoppm", "-q", "-png", "-scale-to", "1169", "-f",
                                            "1",        "-l", "20",   "-",         NULL};

    return task_become("/usr/bin/pdftoppm", arguments);
}
