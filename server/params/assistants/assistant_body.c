#include "server/params/assistants/assistant_body.h"

#include "core/base/json.h"
#include "core/run/catalog/tool_secrets.h"
#include "core/tool/files_view.h"
#include "server/params/assistants/run_params.h"
#include "server/params/params.h"
#include "server/params/runnel_params.h"

#define NAME_LIMIT        ((size_t)256)
#define DESCRIPTION_LIMIT ((size_t)512)

/*
 * An assistant is stored as the JSON object that its client sent, not as columns. Nothing in the
 * database looks into it: the only readers are the encoder and run_request.c, which copies members
 * into the snapshot of a run. A column for each parameter would be a migration for each parameter.
 *
 * The list of names is therefore the whole definition of the object. It decides what is accepted, what
 * is stored and what an update may replace. Everything else in an assistant (id, object, created_at)
 * is made by the server and has columns.
 *
 * Two members never reach the row as they came. Tools lose their secrets (tool_secrets.h): a key for a
 * remote server belongs to one run and not to an object that the whole project can read. A model that
 * is null is dropped, because a run cannot do without one; every other null is kept, since in an update
 * it clears the member.
 */

const char *const assistant_member_names[] = {
    "model",           "name",           "description", "instructions", "reasoning_effort",
    "tools",           "tool_resources", "metadata",    "temperature",  "top_p",
    "response_format", "runnel",         NULL,
};

enum err_code assistant_check(const json_t *body, struct err *err)
{
    const json_t *resources = json_object_get(body, "tool_resources");
    const char *text;
    enum err_code rc;

    rc = param_unknown(body, "", assistant_member_names, err);
    if (!rc)
        rc = param_string(body, "", "name", PARAM_OPTIONAL, NAME_LIMIT, &text, err);
    if (!rc)
        rc = param_string(body, "", "description", PARAM_OPTIONAL, DESCRIPTION_LIMIT, &text,
                          err);
    if (!rc)
        rc = run_params_check(body, err);
    if (!rc && !json_absent(resources))
        rc = files_view_check_resources(resources, "tool_resources", err);
    return rc ? rc : runnel_defaults_check(body, "", err);
}

/* The first name of the list is the model, the only member that cannot be cleared. */
json_t *assistant_members(const json_t *body)
{
    json_t *picked = json_object();

    for (size_t i = 0; assistant_member_names[i]; i++) {
        json_t *value = json_object_get(body, assistant_member_names[i]);

        if (value && !(i == 0 && json_is_null(value)))
            json_set(picked, assistant_member_names[i], json_incref(value));
    }
    if (json_is_array(json_object_get(picked, "tools")))
        json_set(picked, "tools", tool_secrets_strip(json_object_get(picked, "tools")));
    return picked;
}
