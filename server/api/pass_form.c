/*
 * Forms that are passed through: sound to be written down, pictures to be changed.
 *
 * The field `model` may come behind the file, so the upstream is known when the form is complete. Until then it is
 * in a file. The upstream gets that file, byte for byte: with the same boundary, in the same order, and
 * with the fields that this server does not know. A form is read while it arrives only to find `model`, and to refuse
 * what is no form: the upstream might read it otherwise than this server.
 *
 * Masks are for texts, and a form is not built again. So with masks a form whose prompt has text is refused.
 */

#include <string.h>

#include "core/base/buf.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/spool.h"
#include "server/api/api.h"
#include "server/api/pass.h"
#include "server/complaint.h"
#include "server/config/config.h"
#include "server/http/parse/multipart.h"
#include "server/masking.h"
#include "server/server.h"

/* Bytes of the name of a model that are kept. Longer ones are refused by their characters. */
#define MODEL_ROOM ((size_t)2048)

enum part {
    PART_OTHER,
    PART_MODEL,
    PART_PROMPT,
};

struct form_pass {
    struct multipart *reader;
    struct spool *spool;
    enum part part; /* that is being read */
    bool has_model;
    bool has_prompt; /* with text in it */
    struct buf model;
};

static void form_pass_free(void *arg)
{
    struct form_pass *form = arg;

    if (!form)
        return;
    multipart_free(form->reader);
    spool_close(form->spool);
    buf_clear(&form->model);
    free(form);
}

/* ---- The form, as it arrives ---- */

static enum part part_of(const struct part_head *head)
{
    if (head->filename)
        return PART_OTHER;
    if (strcmp(head->name, "model") == 0)
        return PART_MODEL;
    return strcmp(head->name, "prompt") == 0 ? PART_PROMPT : PART_OTHER;
}

static enum err_code begin_part(void *arg, struct part_head *head, struct err *err)
{
    struct form_pass *form = arg;

    form->part = part_of(head);
    if (form->part != PART_MODEL)
        return ERR_OK;
    if (form->has_model)
        return err_invalid(err, "invalid_value", "model",
                           "Invalid 'model': it is given twice.");
    form->has_model = true;
    return ERR_OK;
}

static enum err_code take_data(void *arg, const char *bytes, size_t size, struct err *err)
{
    struct form_pass *form = arg;
    size_t room = MODEL_ROOM - form->model.length;

    (void)err;
    if (form->part == PART_MODEL)
        buf_add(&form->model, bytes, size < room ? size : room);
    form->has_prompt |= form->part == PART_PROMPT;
    return ERR_OK;
}

static const struct multipart_taker parts = {.begin = begin_part, .data = take_data};

static enum err_code take_bytes(struct request *request, void *arg, const char *bytes,
                                size_t size, struct err *err)
{
    struct form_pass *form = arg;
    enum err_code rc = multipart_take(form->reader, bytes, size, err);

    (void)request;
    return rc ? rc : spool_write(form->spool, bytes, size, err);
}

/* ---- The form, complete ---- */

static enum err_code check_masks(const struct request *request, const struct form_pass *form,
                                 struct err *err)
{
    if (!form->has_prompt || !masking_hook(request_server(request)->masking))
        return ERR_OK;
    return err_invalid(err, "unsupported_value", "prompt",
                       "The texts of requests go through masks here, and 'prompt' of a form "
                       "cannot.");
}

static enum err_code complete(struct request *request, void *arg, struct err *err)
{
    struct form_pass *form = arg;
    const struct model_upstream *upstream = NULL;
    AUTO_FREE char *model =
        form->has_model
            ? json_clean_utf8(form->model.data ? form->model.data : "", form->model.length)
            : NULL;
    json_auto_t *body = json_build("{ss*}", "model", model);
    enum err_code rc = multipart_end(form->reader, err);

    if (!rc)
        rc = pass_find_upstream(request, body, &upstream, err);
    if (!rc)
        rc = check_masks(request, form, err);
    if (!rc)
        pass_form(request, upstream, TAKE(form->spool));
    return rc;
}

enum err_code api_pass_form(struct request *request, struct err *err)
{
    const struct config *config = request_server(request)->config;
    AUTO_FREE char *boundary = NULL;
    struct body_taker taker = {
        .limit = config->max_form, .take = take_bytes, .end = complete, .drop = form_pass_free};
    struct form_pass *form;
    struct spool *spool = NULL;
    enum err_code rc = request_boundary(request, &boundary, err);

    if (!rc)
        rc = spool_open(config->data_dir, &spool, err);
    if (rc)
        return rc;
    form = mem_new(struct form_pass);
    form->spool = spool;
    form->reader = multipart_new(boundary, &parts, form);
    taker.arg = form;
    request_take_streamed(request, &taker);
    return ERR_OK;
}
