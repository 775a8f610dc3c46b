#include "server/params/assistants/assistant_body.h"

#include "core/base/json.h"
#include "core/run/catalog/tool_secrets.h"
#include "core/tool/files_view.h"
#include "server/params/assistants/run_params.h"
#include "server/params/params.h"
#include "server/params/runnel_params.h"

#define NAME_LIMIT        ((size_t)256)
#define DESCRIPTION_LIMIT ((size_t)512)

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

/* Only the model cannot be cleared. */
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
