/*
 * document.c -- finds the type, runs the reader, and does not believe what comes back.
 *
 * The child is taken as hostile: its output is made valid text, its size is bounded by compute_run(), and its
 * exit status only chooses a sentence.
 */

#include "core/document/document.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/mem.h"
#include "core/document/bundle/bundle.h"
#include "core/document/page/page_task.h"
#include "core/document/plain_text.h"
#include "core/document/reading.h"
#include "core/document/scan.h"
#include "core/document/tasks.h"
#include "core/sandbox/confine.h"
#include "core/sandbox/memory_file.h"

const struct compute_task document_tasks[DOCUMENT_TASKS] = {
    [DOCUMENT_TASK_HTML] = {"html", CONFINE_COMPUTE, task_html},
    [DOCUMENT_TASK_PDF] = {"pdf", CONFINE_PROGRAM, task_pdf},
    [DOCUMENT_TASK_CSV] = {"csv", CONFINE_COMPUTE, task_csv},
    [DOCUMENT_TASK_XML] = {"xml", CONFINE_COMPUTE, task_xml},
    [DOCUMENT_TASK_OFFICE] = {"office", CONFINE_COMPUTE, task_office},
    [DOCUMENT_TASK_RTF] = {"rtf", CONFINE_PROGRAM, task_rtf},
    [DOCUMENT_TASK_DOC] = {"doc", CONFINE_PROGRAM, task_doc},
    [DOCUMENT_TASK_PICTURES] = {"pictures", CONFINE_PROGRAM, task_pictures},
    [DOCUMENT_TASK_PAGE] = {"page", CONFINE_COMPUTE, task_page},
    [DOCUMENT_TASK_UNPACK] = {"unpack", CONFINE_COMPUTE, task_bundle_unpack},
    [DOCUMENT_TASK_PACK] = {"pack", CONFINE_COMPUTE, task_bundle_pack},
    [DOCUMENT_TASK_DRAW_PAGE] = {"draw_page", CONFINE_PROGRAM, task_draw_page},
    [DOCUMENT_TASK_READ_PICTURE] = {"read_picture", CONFINE_PROGRAM, task_read_picture},
};

/* The types that children read. */
static const struct reader {
    size_t task;
    const char *name;
    const char *package; /* that has its reader */
    bool is_text_too;    /* what its reader does not take is read as it is */
    const char *type;    /* its short name, and the program that reads it, or NULL */
    const char *program;
} readers[DOCUMENT_TYPES] = {
    [DOCUMENT_CSV] = {DOCUMENT_TASK_CSV, "a table", "", true, "csv", NULL},
    [DOCUMENT_HTML] = {DOCUMENT_TASK_HTML, "an HTML page", "", false, "html", NULL},
    [DOCUMENT_XML] = {DOCUMENT_TASK_XML, "XML", "libxml2", true, "xml", NULL},
    [DOCUMENT_PDF] = {DOCUMENT_TASK_PDF, "a PDF file", "poppler-utils", false, "pdf",
                      TASK_PDF_PROGRAM},
    [DOCUMENT_RTF] = {DOCUMENT_TASK_RTF, "an RTF file", "unrtf", false, "rtf",
                      TASK_RTF_PROGRAM},
    [DOCUMENT_OFFICE] = {DOCUMENT_TASK_OFFICE, "an Office file or a book",
                         "libarchive13 and libxml2", false, "office", NULL},
    [DOCUMENT_DOC] = {DOCUMENT_TASK_DOC, "an old Word document", "antiword", false, "doc",
                      TASK_DOC_PROGRAM},
};

size_t document_readers(const struct document_scans *scans,
                        struct document_reader ret_readers[DOCUMENT_READERS])
{
    bool confined = confine_landlock_version() && confine_has_seccomp();
    size_t count = 0;

    ret_readers[count++] = (struct document_reader){"text", "", true};
    for (size_t i = 0; i < DOCUMENT_TYPES; i++) {
        const struct reader *reader = &readers[i];

        if (reader->type)
            ret_readers[count++] = (struct document_reader){
                .type = reader->type,
                .package = reader->program ? reader->package : "",
                .is_there =
                    confined && (!reader->program || access(reader->program, X_OK) == 0)};
    }
    ret_readers[count++] =
        (struct document_reader){"scan", scans && scans->read ? "" : "tesseract-ocr",
                                 confined && scans && scan_is_possible(scans)};
    return count;
}

void document_clear(struct document *document)
{
    buf_clear(&document->text);
    document->pages = 0;
}

static enum err_code broken(struct err *err, const char *sentence)
{
    return err_refuse(err, ERR_INVALID, REASON_BAD_VALUE, NULL, "%s", sentence);
}

static enum err_code too_large(struct err *err, const char *what)
{
    return err_refuse(err, ERR_TOO_LARGE, REASON_BAD_VALUE, NULL,
                      "The file could not be parsed because it is too large: %s.", what);
}

/* The reader has looked at the file and ended by itself. */
static enum err_code refused(const struct reader *reader, int status, const char *bytes,
                             size_t length, struct err *err)
{
    switch (status) {
    case COMPUTE_NOT_CONFINED:
        return err_refuse(err, ERR_INVALID, REASON_UNSUPPORTED, NULL,
                          "It is %s, and this machine cannot confine its reader.",
                          reader->name);
    case READING_NO_READER:
        return err_refuse(
            err, ERR_INVALID, REASON_UNSUPPORTED, NULL,
            "It is %s, and this server has no reader for it: %s is not installed.",
            reader->name, reader->package);
    case READING_NO_DOCUMENT:
        return err_refuse(err, ERR_INVALID, REASON_UNSUPPORTED, NULL, "It is %s.",
                          document_type_guess(bytes, length));
    case READING_INCOMPLETE:
        return broken(err, "The file is damaged: a part that it needs is missing.");
    case READING_ENCRYPTED: return broken(err, "The file is encrypted.");
    case READING_TOO_LARGE:
        return too_large(err, "it has more than 10,000 parts, or too much when it is unpacked");
    default:
        if (reader == &readers[DOCUMENT_PDF] && memmem(bytes, length, "/Encrypt", 8))
            return broken(err, "The file is encrypted.");
        return broken(err, "The file is damaged.");
    }
}

/* Why a child did not read the document. */
static enum err_code unread(const struct reader *reader, const struct compute_end *end,
                            const char *bytes, size_t length, struct err *err)
{
    switch (end->why) {
    case COMPUTE_LATE: return broken(err, "Reading the file takes too long.");
    case COMPUTE_BUSY:
        return err_set(err, ERR_LIMIT, "Too many files are being read. Try again later.");
    case COMPUTE_LOST: return err_set(err, ERR_INTERNAL, "the child that read a file was lost");
    case COMPUTE_KILLED:
        if (end->status == SIGXCPU || end->status == SIGKILL)
            return broken(err, "Reading the file takes too long.");
        /* mem.h ends a process that gets no memory. */
        return end->status == SIGABRT ? too_large(err, "reading it takes too much memory")
                                      : broken(err, "The file is damaged.");
    default: return refused(reader, end->status, bytes, length, err);
    }
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

static enum err_code run_task(int fd, size_t task, struct buf *output, struct compute_end *end,
                              struct err *err)
{
    struct compute_plan plan = {
        .task = task,
        .input = fd,
        .output_max = DOCUMENT_TEXT_MAX,
        .wall_ms = DOCUMENT_WALL_MS,
    };
    enum err_code rc = compute_run(&plan, output, end, err);

    return rc == ERR_TOO_LARGE ? too_large(err, "its text has more than 64 MiB") : rc;
}

static bool is_read(const struct compute_end *end)
{
    return end->why == COMPUTE_EXITED && end->status == READING_DONE;
}

/* The same, on a copy of the bytes. */
static enum err_code run_on_copy(const char *bytes, size_t length, size_t task,
                                 struct buf *output, struct compute_end *end, struct err *err)
{
    int fd = memory_file(bytes, length, err);
    enum err_code rc;

    if (fd < 0)
        return ERR_INTERNAL;
    rc = run_task(fd, task, output, end, err);
    close(fd);
    return rc;
}

/* unrtf makes HTML of RTF, and that is read like any other. */
static enum err_code read_rtf(int fd, struct buf *output, struct compute_end *end,
                              struct err *err)
{
    AUTO_BUF html = {0};
    enum err_code rc = run_task(fd, DOCUMENT_TASK_RTF, &html, end, err);

    if (rc || !is_read(end))
        return rc;
    return run_on_copy(html.data ? html.data : "", html.length, DOCUMENT_TASK_HTML, output, end,
                       err);
}

static enum err_code read_in_child(int fd, enum document_type type, const char *bytes,
                                   size_t length, struct document *document, struct err *err)
{
    const struct reader *reader = &readers[type];
    AUTO_BUF output = {0};
    struct compute_end end;
    enum err_code rc;

    if (type == DOCUMENT_RTF)
        rc = read_rtf(fd, &output, &end, err);
    else if (type == DOCUMENT_DOC)
        rc = run_on_copy(bytes, length, reader->task, &output, &end, err);
    else
        rc = run_task(fd, reader->task, &output, &end, err);
    if (rc)
        return rc;
    if (is_read(&end))
        plain_text_add_pages(&document->text, output.data ? output.data : "", output.length);
    else if (reader->is_text_too && end.why == COMPUTE_EXITED)
        plain_text_add(&document->text, bytes, length);
    else
        return unread(reader, &end, bytes, length, err);
    count_pages(document);
    return document->pages > DOCUMENT_PAGES_MAX
               ? too_large(err, "it has more than 10,000 pages")
               : ERR_OK;
}

/* A document that its author has filled with something must not pass for an empty one. */
static enum err_code check_text(const struct document *document, enum document_type type,
                                struct err *err)
{
    if (document->text.length || type == DOCUMENT_TEXT || readers[type].is_text_too)
        return ERR_OK;
    if (type == DOCUMENT_PDF)
        return err_refuse(err, ERR_INVALID, REASON_SCANNED, NULL,
                          "No text was found; it looks scanned.");
    return broken(err, "No text was found.");
}

static enum err_code read_picture(int fd, const char *bytes, size_t length,
                                  const struct document_scans *scans, struct document *document,
                                  struct err *err)
{
    enum err_code rc = scan_read_picture(fd, bytes, length, scans, &document->text, err);

    if (!rc && !document->text.length)
        rc = broken(err, "No text was found in the picture.");
    return rc;
}

static enum err_code read_bytes(int fd, const char *bytes, size_t length, const char *filename,
                                const struct document_scans *scans, struct document *document,
                                struct err *err)
{
    enum document_type type = document_type_of(bytes, length, filename);
    enum err_code rc = ERR_OK;

    if (type == DOCUMENT_UNKNOWN && scans && scan_is_picture(bytes, length))
        return read_picture(fd, bytes, length, scans, document, err);
    if (type == DOCUMENT_UNKNOWN)
        return err_refuse(err, ERR_INVALID, REASON_UNSUPPORTED, NULL, "It is %s.",
                          document_type_guess(bytes, length));
    if (type == DOCUMENT_LOCKED)
        return broken(err, "The file is encrypted.");
    if (type != DOCUMENT_TEXT)
        rc = read_in_child(fd, type, bytes, length, document, err);
    else if (length > DOCUMENT_TEXT_MAX)
        rc = too_large(err, "its text has more than 64 MiB");
    else
        plain_text_add(&document->text, bytes, length);
    if (!rc && type == DOCUMENT_PDF && scans && scan_count(document))
        rc = scan_read_pages(fd, scans, document, err);
    return rc ? rc : check_text(document, type, err);
}

/* ---- All of it ---- */

/* The file is mapped and not copied. */
static const char *map_file(int fd, size_t *ret_length)
{
    struct stat file;
    void *bytes;

    if (lseek(fd, 0, SEEK_SET) != 0 || fstat(fd, &file) != 0)
        return NULL;
    *ret_length = (size_t)file.st_size;
    if (!file.st_size)
        return "";
    bytes = mmap(NULL, (size_t)file.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    return bytes == MAP_FAILED ? NULL : bytes;
}

enum err_code document_read(int fd, const char *filename, const struct document_scans *scans,
                            struct document *ret_document, struct err *err)
{
    struct document document = {0};
    size_t length = 0;
    const char *bytes = map_file(fd, &length);
    enum err_code rc;

    if (!bytes)
        return err_set(err, ERR_INTERNAL, "cannot read a file: %s", strerror(errno));
    rc = read_bytes(fd, bytes, length, filename, scans, &document, err);
    if (length)
        munmap((void *)(uintptr_t)bytes, length);
    if (rc)
        document_clear(&document);
    else
        *ret_document = document;
    return rc;
}
