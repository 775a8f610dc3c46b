#include "server/api/files/file_form.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/domain/file_name.h"
#include "core/run/engine/engine.h"
#include "server/complaint.h"
#include "server/http/parse/multipart.h"
#include "server/params/params.h"
#include "server/server.h"

#define FIELD_LIMIT   ((size_t)1024)        /* bytes of a field's value */
#define FORM_OVERHEAD ((uint64_t)256 << 10) /* heads and fields of a form, beside its file */

static const char *file_part(const struct file_form_kind *kind)
{
    size_t last = 0;

    while (kind->names[last + 1])
        last++;
    return kind->names[last];
}

/* ---- Parts ---- */

static enum err_code begin_file(struct file_form *form, struct part_head *head, struct err *err)
{
    const char *name = file_part(form->kind);

    if (strcmp(head->name, name) != 0)
        return err_invalid(err, "unknown_parameter", head->name, "Unknown parameter: '%.64s'.",
                           head->name);
    if (form->filename)
        return err_invalid(err, "invalid_value", name,
                           "Invalid '%s': expected one file, but got more.", name);
    form->filename = file_name_kept(head->filename);
    form->in_file = true;
    return blob_write_begin(form->server->blobs, &form->tenant, &form->write, err);
}

/* The file's name without a filename is no field, and the file is missing. */
static enum err_code begin_field(struct file_form *form, const struct part_head *head,
                                 struct err *err)
{
    const char *const *names = form->kind->names;
    enum err_code rc = param_unknown_name(head->name, names, err);

    if (rc)
        return rc;
    form->field = FILE_FORM_FIELDS;
    for (size_t i = 0; names[i] && names[i + 1]; i++)
        if (strcmp(head->name, names[i]) == 0)
            form->field = i;
    if (form->field == FILE_FORM_FIELDS)
        return ERR_OK;
    form->given[form->field] = true;
    buf_reset(&form->fields[form->field]);
    return ERR_OK;
}

static enum err_code begin_part(void *arg, struct part_head *head, struct err *err)
{
    struct file_form *form = arg;

    form->in_file = false;
    return head->filename ? begin_file(form, head, err) : begin_field(form, head, err);
}

static enum err_code take_data(void *arg, const char *bytes, size_t size, struct err *err)
{
    struct file_form *form = arg;
    struct buf *field;

    if (form->in_file) {
        form->bytes += size;
        if (form->bytes > form->limit)
            return form->kind->too_large(form, err);
        return blob_write_add(form->write, bytes, size, err);
    }
    if (form->field == FILE_FORM_FIELDS)
        return ERR_OK;
    field = &form->fields[form->field];
    if (field->length + size > FIELD_LIMIT)
        return err_invalid(err, "string_above_max_length", form->kind->names[form->field],
                           "Invalid '%s': string too long. Expected a string with maximum "
                           "length %zu.",
                           form->kind->names[form->field], FIELD_LIMIT);
    buf_add(field, bytes, size);
    return ERR_OK;
}

static const struct multipart_taker parts = {.begin = begin_part, .data = take_data};

/* ---- The whole form ---- */

static enum err_code take(struct request *request, void *arg, const char *bytes, size_t size,
                          struct err *err)
{
    struct file_form *form = arg;

    (void)request;
    return multipart_take(form->reader, bytes, size, err);
}

static enum err_code end(struct request *request, void *arg, struct err *err)
{
    struct file_form *form = arg;
    enum err_code rc = multipart_end(form->reader, err);

    if (!rc && !form->filename)
        rc = param_missing(err, file_part(form->kind));
    return rc ? rc : form->kind->end(request, form, err);
}

static void drop(void *arg)
{
    struct file_form *form = arg;

    multipart_free(form->reader);
    blob_write_free(form->write);
    for (size_t i = 0; i < FILE_FORM_FIELDS; i++)
        buf_clear(&form->fields[i]);
    free(form->boundary);
    free(form->filename);
    free(form);
}

char *file_form_field(const struct file_form *form, size_t field)
{
    const struct buf *value = &form->fields[field];

    return form->given[field] ? mem_strndup(value->length ? value->data : "", value->length)
                              : NULL;
}

/* By the head alone; 0: it does not say. */
static uint64_t announced(const struct request *request)
{
    const char *length = request_header(request, "content-length");

    return length ? strtoull(length, NULL, 10) : 0;
}

enum err_code file_form_take(struct request *request, const struct file_form_kind *kind,
                             uint64_t limit, uint64_t total, struct err *err)
{
    struct server *server = request_server(request);
    struct body_taker taker = {.limit = limit + FORM_OVERHEAD,
                               .take = take,
                               .end = end,
                               .drop = drop,
                               .workers = server->file_workers,
                               .loop = engine_any_loop(server->engine)};
    struct file_form *form = mem_new(struct file_form);
    enum err_code rc = request_boundary(request, &form->boundary, err);

    *form = (struct file_form){.kind = kind,
                               .server = server,
                               .tenant = tenant_kept(request_tenant(request)),
                               .boundary = form->boundary,
                               .limit = limit,
                               .total = total};
    if (!rc && announced(request) > taker.limit)
        rc = kind->too_large(form, err);
    if (!rc)
        rc = blobs_have_room(server->blobs, announced(request), err);
    if (rc) {
        drop(form);
        return rc;
    }
    form->reader = multipart_new(form->boundary, &parts, form);
    taker.arg = form;
    request_take_streamed(request, &taker);
    return ERR_OK;
}
