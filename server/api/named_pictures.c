#include "server/api/named_pictures.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/ids.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "server/api/aside.h"
#include "server/api/input_files.h"
#include "server/complaint.h"
#include "server/files/stored_file.h"
#include "server/params/params.h"
#include "server/server.h"

enum err_code named_picture_check(const struct server *server, const struct tenant *tenant,
                                  const char *id, const char *place, const char **ret_type,
                                  struct err *err)
{
    CLEANUP(stored_file_close) struct stored_file file = {0};
    struct err why = {0};
    enum err_code rc = stored_file_open(server, tenant, id, &file, err);

    if (rc == ERR_NOT_FOUND)
        return err_refuse(err, rc, REASON_UNSET, place, "No such File object: %.64s", id);
    if (rc)
        return rc;
    rc = stored_file_picture(&file, ret_type, &why);
    if (rc == ERR_INVALID)
        return err_invalid(err, "invalid_image_format", place, "%s", why.text);
    if (rc)
        *err = why;
    return rc;
}

/* ---- Which pictures ---- */

struct picture {
    char id[ID_LIMIT + 1];
    struct param_path place;
};

struct looking {
    struct aside aside;
    const struct server *server;
    struct tenant tenant;
    endpoint_fn *endpoint;
    json_t *body; /* of the request, meanwhile */
    struct picture *pictures;
    size_t count; /* beyond INPUT_PICTURES_LIMIT only counted */
};

static void add_part(struct looking *looking, const json_t *part, const char *path)
{
    struct param_path at = param_key(path, "image_file");
    struct picture picture = {.place = param_key(at.text, "file_id")};
    const json_t *image = json_object_get(part, "image_file");
    const char *id = json_get_string(image, "file_id", "");

    if (strcmp(json_get_string(part, "type", ""), "image_file") != 0 ||
        param_id(id, "file-", picture.place.text, NULL))
        return;
    if (looking->count++ >= INPUT_PICTURES_LIMIT)
        return;
    memcpy(picture.id, id, strlen(id) + 1);
    looking->pictures = mem_resize(looking->pictures, looking->count, sizeof(picture));
    looking->pictures[looking->count - 1] = picture;
}

static void add_message(struct looking *looking, const json_t *message, const char *path)
{
    struct param_path list = param_key(path, "content");
    size_t i;
    json_t *part;

    json_array_foreach (json_object_get(message, "content"), i, part)
        add_part(looking, part, param_index(list.text, i).text);
}

/* ---- Beside the request ---- */

static void looking_free(struct aside *aside)
{
    struct looking *looking = CONTAINER_OF(aside, struct looking, aside);

    json_decref(looking->body);
    free(looking->pictures);
    free(looking);
}

static enum err_code resume(struct request *request, struct aside *aside, struct err *err)
{
    struct looking *looking = CONTAINER_OF(aside, struct looking, aside);

    request_put_json(request, TAKE(looking->body));
    return looking->endpoint(request, err);
}

static const struct aside_ops looking_ops = {.resume = resume, .free = looking_free};

/* On a reader. */
static void look(struct work *work)
{
    struct looking *looking = CONTAINER_OF(work, struct looking, aside.work);
    enum err_code rc = ERR_OK;

    for (size_t i = 0; !rc && i < looking->count; i++) {
        const struct picture *picture = &looking->pictures[i];
        const char *type;

        rc = named_picture_check(looking->server, &looking->tenant, picture->id,
                                 picture->place.text, &type, &looking->aside.err);
    }
    aside_done(&looking->aside, rc);
}

static struct looking *looking_new(const json_t *object, const char *path, const char *key)
{
    struct looking *looking = mem_new(struct looking);
    struct param_path list = {0};
    size_t i;
    json_t *message;

    if (!key) {
        add_message(looking, object, path);
        return looking;
    }
    list = param_key(path, key);
    json_array_foreach (json_object_get(object, key), i, message)
        add_message(looking, message, param_index(list.text, i).text);
    return looking;
}

bool named_pictures_wait(struct request *request, const json_t *object, const char *path,
                         const char *key, endpoint_fn *endpoint)
{
    struct looking *looking;

    if (request_came_back(request))
        return false;
    looking = looking_new(object, path, key);
    if (!looking->count || looking->count > INPUT_PICTURES_LIMIT) {
        looking_free(&looking->aside);
        return false;
    }
    looking->aside.work.run = look;
    looking->server = request_server(request);
    looking->tenant = tenant_kept(request_tenant(request));
    looking->endpoint = endpoint;
    looking->body = request_take_json(request);
    aside_begin(request, &looking->aside, &looking_ops);
    workers_put(request_server(request)->readers, &looking->aside.work);
    return true;
}
