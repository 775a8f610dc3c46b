/*
 * document.c -- finds the type, runs the reader, and does not believe what comes back.
 *
 * The child is taken as hostile: its output is made valid text, its size is bounded by compute_run(), and its
 * exit status only chooses a sentence.
 *
 * PDF is not read by a library. The good ones are under the GPL or the AGPL, and this program would be,
 * too. pdftotext is a program of its own. The child confines itself and then becomes pdftotext.
 */

#include "core/document/document.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/mem.h"
#include "core/document/html.h"
#include "core/document/plain_text.h"
#include "core/document/text_writer.h"

/* ---- In the child ---- */

/* Exit statuses of the tasks. */
enum { READ_ALL = 0, CANNOT_READ = 1, NO_PROGRAM = 127 };

/* The input is a file of a known size, so that it is mapped and not copied. */
static const char *map_input(int fd, size_t *ret_length)
{
    struct stat file;
    void *bytes;

    if (fstat(fd, &file) != 0)
        return NULL;
    *ret_length = (size_t)file.st_size;
    if (!file.st_size)
        return "";
    bytes = mmap(NULL, (size_t)file.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    return bytes == MAP_FAILED ? NULL : bytes;
}

static bool write_all(const char *bytes, size_t length)
{
    while (length) {
        ssize_t written = write(STDOUT_FILENO, bytes, length);

        if (written < 0)
            return false;
        bytes += written;
        length -= (size_t)written;
    }
    return true;
}

static int read_html(void)
{
    size_t length;
    const char *bytes = map_input(STDIN_FILENO, &length);
    struct buf decoded = {0}, text = {0};
    struct text_writer writer = {.text = &text};

    if (!bytes)
        return CANNOT_READ;
    plain_text_add(&decoded, bytes, length);
    html_write(&writer, decoded.data ? decoded.data : "", decoded.length);
    return write_all(text.data, text.length) ? READ_ALL : CANNOT_READ;
}

static int read_pdf(void)
{
    static const char *const arguments[] = {"pdftotext", "-q", "-enc", "UTF-8", "-", "-", NULL};
    static char *const environment[] = {NULL};

    execve("/usr/bin/pdftotext", (char *const *)(uintptr_t)arguments, environment);
    return errno == ENOENT ? NO_PROGRAM : CANNOT_READ;
}

const struct compute_task document_tasks[DOCUMENT_TASKS] = {
    [DOCUMENT_TASK_HTML] = {"html", CONFINE_COMPUTE, read_html},
    [DOCUMENT_TASK_PDF] = {"pdf", CONFINE_PROGRAM, read_pdf},
};

/* ---- In the server ---- */

void document_clear(struct document *document)
{
    buf_clear(&document->text);
    document->pages = 0;
}

static enum err_code unsupported(struct err *err, const char *sentence)
{
    return err_refuse(err, ERR_INVALID, REASON_UNSUPPORTED, NULL, "%s", sentence);
}

static enum err_code broken(struct err *err, const char *sentence)
{
    return err_refuse(err, ERR_INVALID, REASON_BAD_VALUE, NULL, "%s", sentence);
}

/* Why a child did not read the document. */
static enum err_code unread(enum document_type type, const struct compute_end *end,
                            const char *bytes, size_t length, struct err *err)
{
    if (end->why == COMPUTE_LATE || (end->why == COMPUTE_KILLED && end->status == SIGXCPU))
        return broken(err, "Reading the file takes too long.");
    if (end->why == COMPUTE_BUSY)
        return err_set(err, ERR_LIMIT, "Too many files are being read. Try again later.");
    if (end->why == COMPUTE_LOST)
        return err_set(err, ERR_INTERNAL, "the child that read a file was lost");
    if (end->why == COMPUTE_EXITED && end->status == COMPUTE_NOT_CONFINED)
        return unsupported(err,
                           "The file type you uploaded is not supported: this machine cannot "
                           "confine its reader.");
    if (end->why == COMPUTE_EXITED && end->status == NO_PROGRAM)
        return unsupported(err,
                           "The file type you uploaded is not supported: this server has no "
                           "reader for PDF files.");
    if (type == DOCUMENT_PDF && memmem(bytes, length, "/Encrypt", 8))
        return broken(err, "The file is encrypted.");
    return broken(err, "The file is damaged.");
}

/* Each page ends with a form feed; one between pages is enough. */
static void count_pages(struct document *document)
{
    struct buf *text = &document->text;

    for (size_t i = 0; i < text->length; i++)
        document->pages += text->data[i] == '\f';
    while (text->length && strchr("\f\n", text->data[text->length - 1]))
        text->data[--text->length] = '\0';
}

static enum err_code read_in_child(int fd, enum document_type type, const char *bytes,
                                   size_t length, struct document *document, struct err *err)
{
    struct compute_plan plan = {
        .task = type == DOCUMENT_PDF ? DOCUMENT_TASK_PDF : DOCUMENT_TASK_HTML,
        .input = fd,
        .output_max = DOCUMENT_TEXT_MAX,
        .wall_ms = DOCUMENT_WALL_MS,
    };
    AUTO_BUF output = {0};
    struct compute_end end;
    enum err_code rc = compute_run(&plan, &output, &end, err);

    if (rc == ERR_TOO_LARGE)
        return err_set(err, rc, "The text of the file has more than %zu MiB.",
                       DOCUMENT_TEXT_MAX >> 20);
    if (rc)
        return rc;
    if (end.why != COMPUTE_EXITED || end.status != READ_ALL)
        return unread(type, &end, bytes, length, err);
    plain_text_add_pages(&document->text, output.data ? output.data : "", output.length);
    if (type == DOCUMENT_PDF)
        count_pages(document);
    return document->pages > DOCUMENT_PAGES_MAX ? broken(err, "The file has too many pages.")
                                                : ERR_OK;
}

static enum err_code read_bytes(int fd, const char *bytes, size_t length, const char *filename,
                                struct document *document, struct err *err)
{
    enum document_type type = document_type_of(bytes, length, filename);
    enum err_code rc = ERR_OK;

    if (type == DOCUMENT_UNKNOWN)
        return unsupported(err, "The file type you uploaded is not supported.");
    if (type != DOCUMENT_TEXT)
        rc = read_in_child(fd, type, bytes, length, document, err);
    else if (length > DOCUMENT_TEXT_MAX)
        rc = err_set(err, ERR_TOO_LARGE, "The text of the file has more than %zu MiB.",
                     DOCUMENT_TEXT_MAX >> 20);
    else
        plain_text_add(&document->text, bytes, length);
    if (!rc && !document->text.length && type == DOCUMENT_PDF)
        rc = broken(err, "No text was found in the file; it looks scanned.");
    return rc;
}

enum err_code document_read(int fd, const char *filename, struct document *ret_document,
                            struct err *err)
{
    struct document document = {0};
    size_t length = 0;
    const char *bytes = lseek(fd, 0, SEEK_SET) == 0 ? map_input(fd, &length) : NULL;
    enum err_code rc;

    if (!bytes)
        return err_set(err, ERR_INTERNAL, "cannot read a file: %s", strerror(errno));
    rc = read_bytes(fd, bytes, length, filename, &document, err);
    if (length)
        munmap((void *)(uintptr_t)bytes, length);
    if (rc)
        document_clear(&document);
    else
        *ret_document = document;
    return rc;
}
