/*
 * page.c -- which kind of text is it, and what its child says of it.
 *
 * The child is taken as hostile: its JSON is read as that of a stranger is, and only known members are used.
 */

#include "core/document/page/page.h"

#include <errno.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/compiler.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/document/document.h"
#include "core/document/plain_text.h"
#include "core/document/reading.h"
#include "core/sandbox/compute.h"

/* ---- Kinds ---- */

enum kind { KIND_HTML, KIND_JSON, KIND_PDF, KIND_TEXT, KIND_UNSAID, KIND_BINARY };

/* The type without its parameters is the name, or ends with it. */
static bool type_is(const char *type, const char *name)
{
    size_t length = strcspn(type, "; \t");
    size_t wanted = strlen(name);

    return length >= wanted && strncasecmp(type + length - wanted, name, wanted) == 0 &&
           (length == wanted || *name == '+');
}

static enum kind kind_of_type(const char *type)
{
    static const struct {
        const char *name;
        enum kind kind;
    } rows[] = {{"text/html", KIND_HTML},
                {"application/xhtml+xml", KIND_HTML},
                {"application/json", KIND_JSON},
                {"+json", KIND_JSON},
                {"application/pdf", KIND_PDF},
                {"application/xml", KIND_TEXT},
                {"+xml", KIND_TEXT},
                {"application/javascript", KIND_TEXT},
                {"application/yaml", KIND_TEXT},
                {"application/x-ndjson", KIND_TEXT}};

    if (!*type)
        return KIND_UNSAID;
    if (strncasecmp(type, "image/", 6) == 0) /* SVG, too */
        return KIND_BINARY;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        if (type_is(type, rows[i].name))
            return rows[i].kind;
    }
    return strncasecmp(type, "text/", 5) == 0 ? KIND_TEXT : KIND_BINARY;
}

bool page_is_readable(const char *content_type)
{
    return kind_of_type(content_type) != KIND_BINARY;
}

static bool begins_with(const struct page_source *source, const char *sign)
{
    return source->length >= strlen(sign) && memcmp(source->bytes, sign, strlen(sign)) == 0;
}

/* A text has no zeros, unless it is UTF-16 and says so. */
static bool is_binary(const struct page_source *source)
{
    return memchr(source->bytes, 0, source->length) && !begins_with(source, "\xFF\xFE") &&
           !begins_with(source, "\xFE\xFF");
}

/* The type of a page is what its server says, as far as its bytes do not contradict. */
static enum kind kind_of(const struct page_source *source)
{
    enum kind kind = kind_of_type(source->content_type);
    AUTO_FREE char *begin =
        mem_strndup(source->bytes, source->length < 512 ? source->length : 512);

    if (kind == KIND_PDF || begins_with(source, "%PDF-"))
        return KIND_PDF;
    if (kind == KIND_BINARY || is_binary(source))
        return KIND_BINARY;
    if (kind == KIND_UNSAID)
        return strcasestr(begin, "<html") || strcasestr(begin, "<!doctype html") ? KIND_HTML
                                                                                 : KIND_TEXT;
    return kind;
}

/* ---- Without a child ---- */

static json_t *page_of(const struct buf *text)
{
    AUTO_FREE char *clean = json_clean_utf8(text->data ? text->data : "", text->length);

    return json_build("{s:s}", "text", clean);
}

static json_t *read_text(const struct page_source *source)
{
    AUTO_FREE char *charset = plain_text_charset(source->content_type);
    AUTO_BUF text = {0};

    plain_text_add_as(&text, charset, source->bytes, source->length);
    return page_of(&text);
}

/* This is not in a child, and several pages may be read at once. A tree takes up to a hundred bytes for each line, and
 * indenting adds blanks to it: counted before, as brackets and commas outside of strings. */
static bool may_be_indented(const char *text, size_t length)
{
    size_t depth = 0, lines = 0, blanks = 0;
    bool quoted = false;

    if (length > PAGE_JSON_MAX)
        return false;
    for (size_t i = 0; i < length && lines <= PAGE_JSON_LINES_MAX; i++) {
        if (quoted && text[i] == '\\') {
            i++;
            continue;
        }
        if (text[i] == '"')
            quoted = !quoted;
        if (quoted || !text[i] || !strchr("[{]},", text[i]))
            continue;
        if (text[i] == '[' || text[i] == '{')
            depth++;
        else if (text[i] != ',' && depth)
            depth--;
        lines++;
        blanks += 2 * depth;
    }
    return lines <= PAGE_JSON_LINES_MAX && blanks <= PAGE_JSON_BLANKS_MAX;
}

/* Indented, with its numbers as they were written; as it is, if it is no JSON or too much. */
static json_t *read_json(const struct page_source *source)
{
    json_auto_t *value = NULL;
    AUTO_FREE char *text = NULL;

    if (may_be_indented(source->bytes, source->length) &&
        !json_parse_exact(source->bytes, source->length, &value, NULL))
        text = json_text_indented(value, 2);
    if (!text || strlen(text) > PAGE_TEXT_MAX)
        return read_text(source);
    return json_build("{s:s}", "text", text);
}

/* ---- In a child ---- */

static int write_all(int fd, const char *bytes, size_t length)
{
    while (length) {
        ssize_t written = write(fd, bytes, length);

        if (written < 0 && errno != EINTR)
            return -1;
        bytes += written > 0 ? written : 0;
        length -= written > 0 ? (size_t)written : 0;
    }
    return 0;
}

/* A file without a name; `line` may be NULL. -1: errno says why. */
static int file_of(const char *line, const struct page_source *source)
{
    int fd = memfd_create("page", MFD_CLOEXEC);

    if (fd >= 0 && ((line && (write_all(fd, line, strlen(line)) || write_all(fd, "\n", 1))) ||
                    write_all(fd, source->bytes, source->length))) {
        close(fd);
        return -1;
    }
    return fd;
}

static enum err_code no_file(struct err *err)
{
    return err_set(err, ERR_INTERNAL, "cannot copy a page: %s", strerror(errno));
}

static enum err_code read_pdf(const struct page_source *source, json_t **ret_page,
                              struct err *err)
{
    struct document document = {0};
    int fd = file_of(NULL, source);
    enum err_code rc;

    if (fd < 0)
        return no_file(err);
    rc = document_read(fd, "page.pdf", NULL, &document, err);
    close(fd);
    if (rc)
        return rc;
    for (char *at = document.text.data; at && (at = strchr(at, '\f'));)
        *at = '\n';
    *ret_page = page_of(&document.text);
    document_clear(&document);
    return ERR_OK;
}

/* How the child ended, if it has made nothing. */
static enum err_code unread(const struct compute_end *end, struct err *err)
{
    switch (end->why) {
    case COMPUTE_BUSY:
        return err_set(err, ERR_LIMIT, "Too many pages are being read. Try again later.");
    case COMPUTE_LATE:
        return err_refuse(err, ERR_TOO_LARGE, REASON_BAD_VALUE, NULL,
                          "Reading the page takes too long.");
    case COMPUTE_KILLED:
        return err_refuse(err, ERR_TOO_LARGE, REASON_BAD_VALUE, NULL,
                          "Reading the page takes too much time or memory.");
    case COMPUTE_LOST: return err_set(err, ERR_INTERNAL, "the child that read a page was lost");
    default:
        return end->status == COMPUTE_NOT_CONFINED
                   ? err_refuse(err, ERR_INTERNAL, REASON_UNSUPPORTED, NULL,
                                "This machine cannot confine the reader of pages.")
                   : err_set(err, ERR_INTERNAL, "the child that read a page failed");
    }
}

/* Only what page.h names, and only of the right type. */
static enum err_code check(const char *bytes, size_t length, json_t **ret_page, struct err *err)
{
    static const char *const texts[] = {"title",     "author", "description",
                                        "published", "site",   "language"};
    json_auto_t *made = json_loadb(bytes, length, 0, NULL);
    const char *problem = json_get_string(made, "problem", NULL);
    const char *text = json_get_string(made, "text", NULL);
    json_t *page;

    if (problem)
        return err_refuse(err, ERR_INVALID, REASON_BAD_VALUE, NULL, "%s", problem);
    if (!text)
        return err_set(err, ERR_INTERNAL, "the child that read a page wrote no page");
    page = json_build("{s:s}", "text", text);
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        if (json_get_string(made, texts[i], NULL))
            json_set(page, texts[i], json_string(json_get_string(made, texts[i], "")));
    }
    if (json_is_integer(json_object_get(made, "count")))
        json_set(page, "count", json_incref(json_object_get(made, "count")));
    if (json_is_true(json_object_get(made, "cut")))
        json_set(page, "cut", json_true());
    *ret_page = page;
    return ERR_OK;
}

static enum err_code read_html(const struct page_source *source, const struct page_want *want,
                               json_t **ret_page, struct err *err)
{
    json_auto_t *line =
        json_build("{s:s, s:s, s:i, s:b, s:b, s:s*, s:I, s:i, s:b}", "url", source->url,
                   "content_type", source->content_type, "view", want->view, "links",
                   want->links, "images", want->images, "selector", want->selector, "limit",
                   (json_int_t)want->limit, "depth", (int)want->depth, "text", want->text);
    AUTO_FREE char *dumped = json_dumps(line, JSON_COMPACT);
    struct compute_plan plan = {.task = DOCUMENT_TASK_PAGE,
                                .input = file_of(dumped, source),
                                .output_max = PAGE_TEXT_MAX,
                                .wall_ms = PAGE_WALL_MS};
    struct compute_end end;
    AUTO_BUF output = {0};
    enum err_code rc;

    if (plan.input < 0)
        return no_file(err);
    rc = compute_run(&plan, &output, &end, err);
    close(plan.input);
    if (rc == ERR_TOO_LARGE)
        return err_refuse(err, rc, REASON_BAD_VALUE, NULL, "The text of the page is too long.");
    if (rc)
        return rc;
    if (end.why != COMPUTE_EXITED || end.status != READING_DONE)
        return unread(&end, err);
    return check(output.data ? output.data : "", output.length, ret_page, err);
}

enum err_code web_page_read(const struct page_source *source, const struct page_want *want,
                            json_t **ret_page, struct err *err)
{
    enum kind kind = kind_of(source);

    if (kind == KIND_BINARY)
        return err_refuse(err, ERR_INVALID, REASON_UNSUPPORTED, NULL,
                          "It is binary, of the type %.100s.",
                          *source->content_type ? source->content_type : "unknown");
    if (kind == KIND_HTML)
        return read_html(source, want, ret_page, err);
    if (want->view != PAGE_MARKDOWN)
        return err_refuse(err, ERR_INVALID, REASON_BAD_TYPE, NULL, "It is not HTML.");
    if (kind == KIND_PDF)
        return read_pdf(source, ret_page, err);
    *ret_page = kind == KIND_JSON ? read_json(source) : read_text(source);
    return ERR_OK;
}
