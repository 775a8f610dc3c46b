/*
 * Forms: multipart/form-data (RFC 7578), in the way in which OpenAI's SDKs upload files.
 *
 * The parts are taken apart by libmicrohttpd's post processor, which is made for pieces as they
 * arrive. Here it gets the whole body at once: a form is limited by max_body like any other body, and
 * an endpoint wants to see all its parts before it stores one. Uploads larger than memory will need
 * the pieces.
 *
 * The post processor reads the Content-Type of the connection by itself, and reads it badly. So the
 * boundary is parsed in form_boundary.c, and the processor gets a header that it understands.
 */

#include "server/http/parse/form.h"

#include <microhttpd.h>
#include <stdint.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "server/http/mhd_overrides.h"
#include "server/http/parse/form_boundary.h"

void form_free(struct form *form)
{
    if (!form)
        return;
    for (size_t i = 0; i < form->count; i++) {
        free(form->parts[i].name);
        free(form->parts[i].filename);
        free(form->parts[i].type);
        buf_clear(&form->parts[i].data);
    }
    free(form->parts);
    free(form);
}

static char *clean(const char *text)
{
    return text ? json_clean_utf8(text, strlen(text)) : NULL;
}

static bool is_same(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

/* The library may report the beginning of a part twice, the first time without data. */
static bool begins_again(const struct form *form, const char *name, const char *filename)
{
    const struct form_part *last = form->count ? &form->parts[form->count - 1] : NULL;
    AUTO_FREE char *clean_name = clean(name);
    AUTO_FREE char *clean_filename = clean(filename);

    return last && !last->data.length && is_same(last->name, clean_name) &&
           is_same(last->filename, clean_filename);
}

/* The library's callback: a piece of a part, or the beginning of one. */
static enum MHD_Result take(void *arg, enum MHD_ValueKind kind, const char *name,
                            const char *filename, const char *type, const char *encoding,
                            const char *data, uint64_t offset, size_t size)
{
    struct form *form = arg;

    (void)kind;
    (void)encoding;
    if (!offset && !begins_again(form, name, filename)) {
        if (form->count++ == FORM_PARTS_LIMIT)
            return MHD_NO;
        form->parts = mem_resize(form->parts, form->count, sizeof(*form->parts));
        form->parts[form->count - 1] = (struct form_part){
            .name = clean(name ? name : ""), .filename = clean(filename), .type = clean(type)};
    }
    if (size)
        buf_add(&form->parts[form->count - 1].data, data, size);
    return MHD_YES;
}

/* The library takes everything behind the first "boundary=" for the boundary, needs two
 * characters, and knows no quotes with text behind them. */
static bool process(struct MHD_Connection *connection, const char *boundary, const char *body,
                    size_t length, struct form *form)
{
    AUTO_FREE char *type = mem_printf("multipart/form-data; boundary=\"%s\"", boundary);
    struct MHD_PostProcessor *processor;
    bool well;

    mhd_set_content_type(connection, type);
    processor = MHD_create_post_processor(connection, FORM_HEAD_LIMIT, take, form);
    well = processor && MHD_post_process(processor, body, length) == MHD_YES;
    if (processor)
        well = MHD_destroy_post_processor(processor) == MHD_YES && well;
    mhd_set_content_type(connection, NULL);
    return well;
}

enum err_code form_parse(struct MHD_Connection *connection, const char *type, const char *body,
                         size_t length, struct form **ret_form, struct err *err)
{
    struct form *form = mem_new(struct form);
    AUTO_FREE char *boundary = form_boundary(type);

    if (boundary && process(connection, boundary, body, length, form)) {
        *ret_form = form;
        return ERR_OK;
    }
    if (form->count > FORM_PARTS_LIMIT) {
        form->count = FORM_PARTS_LIMIT;
        err_set(err, ERR_INVALID, "The form of your request has more than %zu parts.",
                FORM_PARTS_LIMIT);
    } else {
        err_set(err, ERR_INVALID,
                "We could not parse the form of your request: expected multipart/form-data "
                "that ends with its boundary.");
    }
    form_free(form);
    return ERR_INVALID;
}
