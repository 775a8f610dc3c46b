/*
 * bundle.c -- hands a zip to a child, and takes its files.
 */

#include "core/document/bundle/bundle.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/document/bundle/bundle_record.h"
#include "core/document/document.h"
#include "core/document/reading.h"
#include "core/sandbox/compute.h"
#include "core/sandbox/memory_file.h"

void bundle_clear(struct bundle *bundle)
{
    for (size_t i = 0; i < bundle->count; i++) {
        free(bundle->list[i].path);
        buf_clear(&bundle->list[i].bytes);
    }
    free(bundle->list);
    *bundle = (struct bundle){.count = 0};
}

void bundle_add(struct bundle *bundle, const char *path, const void *bytes, size_t length)
{
    struct bundle_file *file;

    bundle->list = mem_resize(bundle->list, bundle->count + 1, sizeof(*bundle->list));
    file = &bundle->list[bundle->count++];
    *file = (struct bundle_file){.path = mem_strdup(path)};
    buf_add(&file->bytes, bytes, length);
}

/* ---- Paths ---- */

const char *bundle_path_problem(const char *path)
{
    const char *name = path;
    size_t depth = 0;

    if (*path == '/')
        return "is absolute";
    if (strlen(path) > BUNDLE_PATH_LIMIT)
        return "is longer than 256 bytes";
    for (const char *byte = path; *byte; byte++)
        if ((unsigned char)*byte < ' ' || *byte == 0x7F || *byte == '\\')
            return "has a backslash or a control character";
    do {
        size_t length = strcspn(name, "/");

        if (!length)
            return "has an empty part";
        if (length <= 2 && strspn(name, ".") == length)
            return length == 2 ? "has a part '..'" : "has a part '.'";
        if (++depth > BUNDLE_DEPTH_LIMIT)
            return "is more than 16 folders deep";
        name += length + 1;
    } while (name[-1]);
    return NULL;
}

/* ---- The child ---- */

static enum err_code explain(const struct compute_end *end, struct err *err)
{
    if (end->why == COMPUTE_BUSY)
        return err_set(err, ERR_LIMIT, "Too many files are being read. Try again later.");
    if (end->why == COMPUTE_LATE || end->why == COMPUTE_KILLED)
        return err_set(err, ERR_TOO_LARGE, "unpacking it takes too much time or memory");
    if (end->why == COMPUTE_EXITED && end->status == READING_NO_READER)
        return err_set(err, ERR_INTERNAL, "This server has no library for zip files.");
    return err_set(err, ERR_INTERNAL, "the child that read a zip failed");
}

/* Adds what the task makes of the bytes. */
static enum err_code run(size_t task, const char *bytes, size_t length, struct buf *ret_output,
                         struct err *err)
{
    struct compute_plan plan = {.task = task,
                                .input = memory_file(bytes, length, err),
                                /* with heads and names */
                                .output_max = BUNDLE_BYTES_LIMIT + ((size_t)4 << 20),
                                .wall_ms = BUNDLE_WALL_MS};
    struct compute_end end;
    enum err_code rc;

    if (plan.input < 0)
        return ERR_INTERNAL;
    rc = compute_run(&plan, ret_output, &end, err);
    close(plan.input);
    if (!rc && (end.why != COMPUTE_EXITED || end.status != READING_DONE))
        rc = explain(&end, err);
    return rc;
}

/* ---- Out of a zip ---- */

/* What is wrong with the entry of this name. */
static enum err_code refuse(enum bundle_kind kind, const char *name, struct err *err)
{
    switch (kind) {
    case BUNDLE_LINK: return err_set(err, ERR_INVALID, "the entry '%.256s' is a link", name);
    case BUNDLE_DEVICE:
        return err_set(err, ERR_INVALID, "the entry '%.256s' is neither file nor folder", name);
    case BUNDLE_ENCRYPTED:
        return err_set(err, ERR_INVALID, "the entry '%.256s' has a password", name);
    case BUNDLE_TOO_MANY:
        return err_set(err, ERR_TOO_LARGE, "it has more than %zu entries",
                       BUNDLE_ENTRIES_LIMIT);
    case BUNDLE_TOO_LARGE:
        return err_set(err, ERR_TOO_LARGE,
                       "with the entry '%.256s' its files have more than %zu MiB", name,
                       BUNDLE_BYTES_LIMIT >> 20);
    case BUNDLE_TOO_DENSE:
        return err_set(err, ERR_TOO_LARGE,
                       "the entry '%.256s' unpacks to more than %zu times the size of the zip",
                       name, BUNDLE_RATIO_LIMIT);
    default:
        return *name ? err_set(err, ERR_INVALID, "the entry '%.256s' cannot be read", name)
                     : err_set(err, ERR_INVALID, "it is no whole zip");
    }
}

static enum err_code take(struct bundle *bundle, const struct bundle_head *head,
                          const char *record_name, const char *bytes, struct err *err)
{
    AUTO_FREE char *name = json_clean_utf8(record_name, head->name_length);
    AUTO_FREE char *shown = mem_strdup(name);
    size_t length = strlen(name);
    const char *problem;

    for (char *byte = shown; *byte; byte++)
        if ((unsigned char)*byte < ' ')
            *byte = '?';
    if (head->kind != BUNDLE_FILE && head->kind != BUNDLE_FOLDER)
        return refuse(head->kind < BUNDLE_KINDS ? head->kind : BUNDLE_UNREADABLE, shown, err);
    if (head->kind == BUNDLE_FOLDER && length && name[length - 1] == '/')
        name[length - 1] = '\0';
    problem = memchr(record_name, '\0', head->name_length) ? "has a control character"
                                                           : bundle_path_problem(name);
    if (problem)
        return err_set(err, ERR_INVALID, "the path of the entry '%.256s' %s", shown, problem);
    if (head->kind == BUNDLE_FOLDER)
        return ERR_OK;
    if (bundle->count == BUNDLE_FILES_LIMIT)
        return err_set(err, ERR_TOO_LARGE, "it has more than %zu files", BUNDLE_FILES_LIMIT);
    bundle_add(bundle, name, bytes, head->length);
    return ERR_OK;
}

enum err_code bundle_unpack(const void *zip, size_t length, struct bundle *ret_bundle,
                            struct err *err)
{
    CLEANUP(bundle_clear) struct bundle bundle = {.count = 0};
    AUTO_BUF output = {0};
    struct bundle_head head;
    const char *name, *bytes, *at, *end;
    enum err_code rc = run(DOCUMENT_TASK_UNPACK, zip, length, &output, err);

    at = output.data ? output.data : "";
    end = at + output.length;
    while (!rc && at < end) {
        if (!bundle_record_take(&at, end, &head, &name, &bytes))
            return err_set(err, ERR_INTERNAL, "the child that read a zip wrote no records");
        rc = take(&bundle, &head, name, bytes, err);
    }
    if (rc)
        return rc;
    *ret_bundle = bundle;
    bundle = (struct bundle){.count = 0};
    return ERR_OK;
}

/* ---- Into a zip ---- */

enum err_code bundle_pack(const struct bundle *bundle, const char *top, struct buf *ret_zip,
                          struct err *err)
{
    AUTO_BUF records = {0};

    for (size_t i = 0; i < bundle->count; i++) {
        const struct bundle_file *file = &bundle->list[i];
        AUTO_FREE char *name = mem_printf("%s/%s", top, file->path);
        const struct bundle_head head = {.kind = BUNDLE_FILE,
                                         .name_length = (uint32_t)strlen(name),
                                         .length = file->bytes.length};

        buf_add(&records, &head, sizeof(head));
        buf_add(&records, name, head.name_length);
        buf_add(&records, file->bytes.data, file->bytes.length);
    }
    return run(DOCUMENT_TASK_PACK, records.data ? records.data : "", records.length, ret_zip,
               err);
}
