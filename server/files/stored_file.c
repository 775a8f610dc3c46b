#include "server/files/stored_file.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/base/base64.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/base/utf8.h"
#include "core/document/document.h"
#include "core/document/document_type.h"
#include "core/document/pictures.h"
#include "core/store/tables/files/file_pictures.h"
#include "core/store/tables/files/file_texts.h"
#include "core/store/tables/files/files.h"
#include "server/scan_model.h"
#include "server/server.h"

#define PIECE ((size_t)3 << 16) /* read at once; base64 writes three bytes as four */

static enum err_code open_once(const struct server *server, const struct tenant *tenant,
                               const char *id, struct stored_file *ret_file, struct err *err)
{
    struct stored_file file = {
        .server = server,
        .store = server->store,
        .blobs = server->blobs,
        .tenant = tenant_kept(tenant),
    };
    enum err_code rc = store_file_get(file.store, tenant, id, &file.row, err);

    if (rc)
        return rc;
    rc = blob_read_open(server->blobs, tenant, file.row.blob_id, &file.read, err);
    if (rc) {
        stored_file_close(&file);
        return rc;
    }
    *ret_file = file;
    return ERR_OK;
}

/* Again, because the file may get other bytes between its row and them, and the old ones be removed. Two changes within
 * that moment are no accident. */
enum err_code stored_file_open(const struct server *server, const struct tenant *tenant,
                               const char *id, struct stored_file *ret_file, struct err *err)
{
    enum err_code rc = open_once(server, tenant, id, ret_file, err);

    return rc == ERR_NOT_FOUND ? open_once(server, tenant, id, ret_file, err) : rc;
}

void stored_file_close(struct stored_file *file)
{
    blob_read_free(file->read);
    file_row_clear(&file->row);
    *file = (struct stored_file){0};
}

static enum err_code too_large(uint64_t bytes, struct err *err)
{
    return err_set(err, ERR_TOO_LARGE, "The file has %llu bytes, and the limit is %zu.",
                   (unsigned long long)bytes, MODEL_FILE_LIMIT);
}

/* ---- Pictures ---- */

const char *file_picture_type(const void *bytes, size_t size)
{
    if (size >= 8 && memcmp(bytes, "\x89PNG\r\n\x1a\n", 8) == 0)
        return "image/png";
    if (size >= 3 && memcmp(bytes, "\xff\xd8\xff", 3) == 0)
        return "image/jpeg";
    if (size >= 6 && (memcmp(bytes, "GIF87a", 6) == 0 || memcmp(bytes, "GIF89a", 6) == 0))
        return "image/gif";
    if (size >= FILE_PICTURE_BYTES && memcmp(bytes, "RIFF", 4) == 0 &&
        memcmp((const char *)bytes + 8, "WEBP", 4) == 0)
        return "image/webp";
    return NULL;
}

enum err_code stored_file_picture(const struct stored_file *file, const char **ret_type,
                                  struct err *err)
{
    char bytes[FILE_PICTURE_BYTES];
    const char *type;
    size_t got = 0;
    enum err_code rc = blob_read_at(file->read, 0, bytes, sizeof(bytes), &got, err);

    if (rc)
        return rc;
    type = file_picture_type(bytes, got);
    if (!type)
        return err_set(err, ERR_INVALID,
                       "The file is no picture of a supported type: PNG, JPEG, WebP or GIF.");
    if (file->row.bytes > MODEL_FILE_LIMIT) {
        (void)too_large(file->row.bytes, err);
        return ERR_INVALID;
    }
    *ret_type = type;
    return ERR_OK;
}

enum err_code stored_file_bytes(const struct stored_file *file, char *ret_bytes,
                                struct err *err)
{
    uint64_t at = 0;

    while (at < file->row.bytes) {
        size_t got = 0;
        enum err_code rc = blob_read_at(file->read, at, ret_bytes + at,
                                        (size_t)(file->row.bytes - at), &got, err);

        if (!rc && !got)
            rc = err_set(err, ERR_INTERNAL, "Bytes of %s are missing.", file->row.id);
        if (rc)
            return rc;
        at += got;
    }
    return ERR_OK;
}

static enum err_code stored_file_add_base64(const struct stored_file *file, struct buf *text,
                                            struct err *err)
{
    AUTO_FREE char *piece = mem_new_array(char, PIECE);
    size_t got = PIECE;

    if (file->row.bytes > MODEL_FILE_LIMIT)
        return too_large(file->row.bytes, err);
    (void)buf_reserve(text, (size_t)file->row.bytes / 3 * 4 + 8);
    for (uint64_t at = 0; got == PIECE; at += got) {
        enum err_code rc = blob_read_at(file->read, at, piece, PIECE, &got, err);

        if (rc)
            return rc;
        base64_add(text, piece, got);
    }
    return ERR_OK;
}

const char *stored_file_media_type(const struct stored_file *file)
{
    static const char *const types[] = {
        [DOCUMENT_TEXT] = "text/plain",     [DOCUMENT_CSV] = "text/csv",
        [DOCUMENT_HTML] = "text/html",      [DOCUMENT_XML] = "application/xml",
        [DOCUMENT_PDF] = "application/pdf", [DOCUMENT_RTF] = "application/rtf",
    };
    AUTO_FREE char *bytes = mem_new_array(char, DOCUMENT_TYPE_BYTES);
    enum document_type type;
    size_t got = 0;

    if (blob_read_at(file->read, 0, bytes, DOCUMENT_TYPE_BYTES, &got, NULL))
        return "application/octet-stream";
    if (file_picture_type(bytes, got))
        return file_picture_type(bytes, got);
    type = document_type_of(bytes, got, file->row.filename);
    return type < COUNT_OF(types) && types[type] ? types[type] : "application/octet-stream";
}

enum err_code stored_file_url(const struct stored_file *file, const char *type,
                              json_t **ret_url, struct err *err)
{
    AUTO_BUF url = {0};
    enum err_code rc;

    buf_addf(&url, "data:%s;base64,", type);
    rc = stored_file_add_base64(file, &url, err);
    if (!rc)
        *ret_url = json_stringn_nocheck(url.data, url.length);
    return rc;
}

/* ---- Text ---- */

/* The text as the model gets it: each page behind a line that names it. Cut at the limit. */
static json_t *shown_text(const struct document *document, const char *name)
{
    AUTO_BUF text = {0};
    const char *page = document->text.data ? document->text.data : "";
    size_t number = 1;

    if (!document->pages)
        buf_addf(&text, "[file %s]\n", name);
    for (;;) {
        size_t length = strcspn(page, "\f");

        if (document->pages)
            buf_addf(&text, "%s[file %s, page %zu of %zu]\n", number > 1 ? "\n\n" : "", name,
                     number, document->pages);
        if (text.length + length > MODEL_FILE_TEXT_LIMIT) {
            size_t room =
                text.length < MODEL_FILE_TEXT_LIMIT ? MODEL_FILE_TEXT_LIMIT - text.length : 0;

            buf_add(&text, page, utf8_fit(page, room));
            buf_addf(&text, "\n[The rest of %s was left out: it has %zu bytes of text.]", name,
                     document->text.length);
            break;
        }
        buf_add(&text, page, length);
        page += length;
        if (!*page++)
            break;
        number++;
    }
    return json_stringn(text.data, text.length);
}

/* A file in memory, for document_read(). */
static enum err_code memory_file(int *ret_fd, struct err *err)
{
    int fd = memfd_create("input_file", MFD_CLOEXEC);

    if (fd < 0)
        return err_set(err, ERR_INTERNAL, "cannot keep a file in memory: %s", strerror(errno));
    *ret_fd = fd;
    return ERR_OK;
}

static enum err_code write_all(int fd, const char *bytes, size_t size, struct err *err)
{
    while (size) {
        ssize_t count = write(fd, bytes, size);

        if (count < 0 && errno != EINTR)
            return err_set(err, ERR_INTERNAL, "cannot keep a file in memory: %s",
                           strerror(errno));
        bytes += count > 0 ? count : 0;
        size -= count > 0 ? (size_t)count : 0;
    }
    return ERR_OK;
}

static bool is_pdf(int fd)
{
    char head[1024];
    ssize_t got = pread(fd, head, sizeof(head), 0);

    return got > 0 && document_type_of(head, (size_t)got, NULL) == DOCUMENT_PDF;
}

/* Twenty pages may take minutes. */
static bool is_ending(void *server, size_t pages)
{
    (void)pages;
    return atomic_load(&((struct server *)server)->ending);
}

/* A person waits for it. */
static enum err_code read_with_scans(int fd, const char *name, const struct server *server,
                                     struct document *ret_document, struct err *err)
{
    struct document_scans scans;
    bool reads = scan_model_scans(server, &scans);

    scans.pages = SCANNED_PAGES_READ;
    scans.seconds = SCANNED_SECONDS;
    scans.stop = is_ending;
    scans.arg = (void *)(uintptr_t)server;
    return document_read(fd, name, reads ? &scans : NULL, ret_document, err);
}

static enum err_code read_shown(int fd, const char *name, const struct server *server,
                                struct shown_file *ret_shown, struct err *err)
{
    struct document document = {0};
    enum err_code rc = read_with_scans(fd, name, server, &document, err);

    if (rc)
        return rc;
    ret_shown->text = shown_text(&document, name ? name : "without a name");
    ret_shown->pages = 0;
    if (is_pdf(fd))
        ret_shown->pages =
            document.pages < DOCUMENT_PICTURES_MAX ? document.pages : DOCUMENT_PICTURES_MAX;
    document_clear(&document);
    return ERR_OK;
}

enum err_code file_copy(const void *bytes, size_t size, int *ret_fd, struct err *err)
{
    int fd = -1;
    enum err_code rc = memory_file(&fd, err);

    if (rc)
        return rc;
    rc = write_all(fd, bytes, size, err);
    if (rc)
        close(fd);
    else
        *ret_fd = fd;
    return rc;
}

enum err_code file_shown(const struct server *server, const void *bytes, size_t size,
                         const char *name, struct shown_file *ret_shown, struct err *err)
{
    int fd = -1;
    enum err_code rc = file_copy(bytes, size, &fd, err);

    if (rc)
        return rc;
    rc = read_shown(fd, name, server, ret_shown, err);
    close(fd);
    return rc;
}

static enum err_code copy_to(const struct stored_file *file, int fd, struct err *err)
{
    AUTO_FREE char *piece = mem_new_array(char, PIECE);
    size_t got = PIECE;

    for (uint64_t at = 0; got == PIECE; at += got) {
        enum err_code rc = blob_read_at(file->read, at, piece, PIECE, &got, err);

        if (!rc)
            rc = write_all(fd, piece, got, err);
        if (rc)
            return rc;
    }
    return ERR_OK;
}

enum err_code stored_file_copy(const struct stored_file *file, int *ret_fd, struct err *err)
{
    int fd = -1;
    enum err_code rc;

    if (file->row.bytes > MODEL_FILE_LIMIT)
        return too_large(file->row.bytes, err);
    rc = memory_file(&fd, err);
    if (rc)
        return rc;
    rc = copy_to(file, fd, err);
    if (rc)
        close(fd);
    else
        *ret_fd = fd;
    return rc;
}

enum err_code stored_file_document(const struct stored_file *file,
                                   struct document *ret_document, struct err *err)
{
    int fd = -1;
    enum err_code rc = stored_file_copy(file, &fd, err);

    if (rc)
        return rc;
    rc = read_with_scans(fd, file->row.filename, file->server, ret_document, err);
    close(fd);
    return rc;
}

/* ---- Text that was read before ---- */

/* Another text for the same file, also by another reader, needs another number. */
static int text_version(const struct stored_file *file)
{
    static const int versions[] = {[OCR_OFF] = 1, [OCR_TESSERACT] = 2, [OCR_UPSTREAM] = 3};

    return versions[file->server->config->ocr];
}

static enum err_code find_shown(const struct stored_file *file, struct shown_file *ret_shown,
                                struct err *err)
{
    CLEANUP(file_text_row_clear) struct file_text_row row = {0};
    enum err_code rc = store_file_text_get(file->store, &file->tenant, &file->row,
                                           text_version(file), &row, err);

    if (!rc)
        *ret_shown = (struct shown_file){json_string(row.text), row.pages};
    return rc;
}

/* A failure costs the next request some time, and nothing else. */
static void keep_shown(const struct stored_file *file, const struct shown_file *shown)
{
    struct err err;

    if (store_file_text_put(file->store, &file->tenant, &file->row, text_version(file),
                            json_string_value(shown->text), shown->pages, &err))
        log_warn("the text of %s is not kept: %s", file->row.id, err.text);
}

enum err_code stored_file_shown(const struct stored_file *file, struct shown_file *ret_shown,
                                struct err *err)
{
    int fd = -1;
    enum err_code rc = find_shown(file, ret_shown, err);

    if (rc != ERR_NOT_FOUND)
        return rc;
    rc = stored_file_copy(file, &fd, err);
    if (rc)
        return rc;
    rc = read_shown(fd, file->row.filename, file->server, ret_shown, err);
    close(fd);
    if (!rc)
        keep_shown(file, ret_shown);
    return rc;
}

enum err_code stored_file_text(const struct stored_file *file, json_t **ret_text,
                               struct err *err)
{
    struct shown_file shown;
    enum err_code rc = stored_file_shown(file, &shown, err);

    if (!rc)
        *ret_text = shown.text;
    return rc;
}

/* ---- Pictures that were drawn before ---- */

/* Other pictures for the same file need another number. */
#define PICTURES_VERSION 1

/* ERR_NOT_FOUND: they are not kept. */
static enum err_code find_pictures(const struct stored_file *file,
                                   struct document_pictures *ret_pictures, struct err *err)
{
    struct document_pictures pictures = {0};
    struct blob_read *read = NULL;
    char id[ID_SIZE];
    size_t got = 0;
    enum err_code rc = store_file_pictures_get(file->store, &file->tenant, &file->row,
                                               PICTURES_VERSION, id, err);

    if (!rc)
        rc = blob_read_open(file->blobs, &file->tenant, id, &read, err);
    if (rc)
        return rc;
    rc = blob_read_at(read, 0, buf_reserve(&pictures.bytes, (size_t)blob_read_row(read)->bytes),
                      (size_t)blob_read_row(read)->bytes, &got, err);
    blob_read_free(read);
    buf_added(&pictures.bytes, rc ? 0 : got);
    if (!rc && !document_pictures_divide(&pictures))
        rc = err_set(err, ERR_INTERNAL, "the pictures of %s are damaged", file->row.id);
    if (rc)
        document_pictures_clear(&pictures);
    else
        *ret_pictures = pictures;
    return rc;
}

static enum err_code write_pictures(const struct stored_file *file,
                                    const struct document_pictures *pictures,
                                    struct blob_row *ret_blob, struct err *err)
{
    struct blob_write *write = NULL;
    enum err_code rc = blob_write_begin(file->blobs, &file->tenant, &write, err);

    if (rc)
        return rc;
    rc = blob_write_add(write, pictures->bytes.data, pictures->bytes.length, err);
    if (!rc)
        rc = blob_write_finish(write, ret_blob, err);
    blob_write_free(write);
    return rc;
}

/* As keep_shown(). */
static void keep_pictures(const struct stored_file *file,
                          const struct document_pictures *pictures)
{
    struct blob_row blob;
    struct err err;
    bool kept = false;
    enum err_code rc = write_pictures(file, pictures, &blob, &err);

    if (!rc) {
        rc = store_file_pictures_put(file->store, &file->tenant, &file->row, PICTURES_VERSION,
                                     &blob, &kept, &err);
        if (!kept)
            blob_remove_unheld(file->blobs, &file->tenant, blob.id);
    }
    if (rc && err.reason != REASON_STORAGE_QUOTA)
        log_warn("the pictures of %s are not kept: %s", file->row.id, err.text);
}

enum err_code stored_file_pictures(const struct stored_file *file,
                                   struct document_pictures *ret_pictures, struct err *err)
{
    int fd = -1;
    struct err unfound;
    enum err_code rc = find_pictures(file, ret_pictures, &unfound);

    if (!rc)
        return ERR_OK;
    if (rc != ERR_NOT_FOUND)
        log_warn("the pictures of %s are drawn again: %s", file->row.id, unfound.text);
    rc = stored_file_copy(file, &fd, err);
    if (rc)
        return rc;
    rc = document_pictures(fd, ret_pictures, err);
    close(fd);
    if (!rc)
        keep_pictures(file, ret_pictures);
    return rc;
}
