#include "server/http/parse/form.h"

#include "core/base/mem.h"
#include "server/http/parse/form_boundary.h"
#include "server/http/parse/multipart.h"

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

static enum err_code begin_part(void *arg, struct part_head *head, struct err *err)
{
    struct form *form = arg;

    (void)err;
    form->parts = mem_resize(form->parts, form->count + 1, sizeof(*form->parts));
    form->parts[form->count++] = (struct form_part){
        .name = TAKE(head->name), .filename = TAKE(head->filename), .type = TAKE(head->type)};
    return ERR_OK;
}

static enum err_code take_data(void *arg, const char *bytes, size_t size, struct err *err)
{
    struct form *form = arg;

    (void)err;
    buf_add(&form->parts[form->count - 1].data, bytes, size);
    return ERR_OK;
}

enum err_code form_parse(const char *type, const char *body, size_t length,
                         struct form **ret_form, struct err *err)
{
    static const struct multipart_taker taker = {.begin = begin_part, .data = take_data};
    AUTO_FREE char *boundary = form_boundary(type);
    struct form *form = mem_new(struct form);
    struct multipart *reader = multipart_new(boundary ? boundary : "", &taker, form);
    enum err_code rc = boundary ? multipart_take(reader, body, length, err) : ERR_OK;

    if (!rc)
        rc = multipart_end(reader, err);
    multipart_free(reader);
    if (rc)
        form_free(form);
    else
        *ret_form = form;
    return rc;
}
