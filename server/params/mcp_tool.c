#include "server/params/mcp_tool.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "core/base/json.h"
#include "core/mcp/mcp_session.h"
#include "core/mcp/mcp_tools.h"
#include "server/complaint.h"
#include "server/params/params.h"
#include "server/params/permission_params.h"

#define HEADER_LIMIT  ((size_t)32)
#define SECRET_LIMIT  ((size_t)8192)
#define ALLOWED_LIMIT ((size_t)1024)

/*
 * An entry of type "mcp" opens connections with the client's secrets, so its form is checked more
 * strictly than that of other tools.
 *
 * Unknown members are refused whatever unknown_parameters says. `allowed_tools` and `require_approval`
 * are limits, and a misspelt limit that is ignored is no limit: {"allowed_tols": ["search"]} would
 * offer every tool of the server.
 *
 * `headers` and `authorization` become lines of an HTTP request. A control character in them could end
 * the line and begin another header, hence check_line(). Names of headers that the transport sets
 * itself are refused by the list in core/mcp.
 *
 * The same function checks entries of both APIs and servers in the configuration file, so that an
 * operator cannot name a server that no request could have named.
 */

static enum err_code check_names(const json_t *names, const char *path, struct err *err)
{
    size_t i;
    json_t *name;

    if (json_array_size(names) > ALLOWED_LIMIT)
        return err_invalid(err, "array_above_max_length", path,
                           "Invalid '%s': array too long. Expected an array with maximum "
                           "length %zu.",
                           path, ALLOWED_LIMIT);
    json_array_foreach (names, i, name) {
        if (!json_is_string(name))
            return param_wrong_type(err, param_index(path, i).text, "a string", name);
    }
    return ERR_OK;
}

static enum err_code check_filter(const json_t *filter, const char *path, struct err *err)
{
    static const char *const known[] = {"tool_names", "read_only", NULL};
    struct param_path names = param_key(path, "tool_names");
    json_t *list = NULL;
    bool read_only = false;
    enum err_code rc;

    if (!json_is_object(filter))
        return param_wrong_type(err, path, "an object", filter);
    rc = param_unknown_strict(filter, path, known, err);
    if (!rc)
        rc = param_bool(filter, path, "read_only", &read_only, err);
    if (!rc)
        rc = param_array(filter, path, "tool_names", PARAM_OPTIONAL, ALLOWED_LIMIT, &list, err);
    return rc ? rc : check_names(list, names.text, err);
}

static enum err_code check_allowed(const json_t *tool, const char *path, struct err *err)
{
    const json_t *allowed = json_object_get(tool, "allowed_tools");
    struct param_path at = param_key(path, "allowed_tools");

    if (json_absent(allowed))
        return ERR_OK;
    if (json_is_array(allowed))
        return check_names(allowed, at.text, err);
    if (!json_is_object(allowed))
        return param_wrong_type(err, at.text, "one of an array of strings or an object",
                                allowed);
    return check_filter(allowed, at.text, err);
}

static enum err_code check_approval(const json_t *tool, const char *path, struct err *err)
{
    static const char *const words[] = {"always", "never", NULL};
    const json_t *approval = json_object_get(tool, "require_approval");
    struct param_path at = param_key(path, "require_approval");
    const char *word = NULL;
    enum err_code rc;

    if (json_absent(approval))
        return ERR_OK;
    if (json_is_string(approval))
        return param_enum(tool, path, "require_approval", PARAM_OPTIONAL, words, &word, err);
    if (!json_is_object(approval))
        return param_wrong_type(err, at.text, "one of a string or an object", approval);
    rc = param_unknown_strict(approval, at.text, words, err);
    for (size_t i = 0; !rc && words[i]; i++) {
        const json_t *filter = json_object_get(approval, words[i]);

        if (!json_absent(filter))
            rc = check_filter(filter, param_key(at.text, words[i]).text, err);
    }
    return rc ? rc : permission_require_check(approval, at.text, err);
}

/* A tab is allowed in a value of a header (RFC 9110, 5.5). */
static bool is_line(const char *text)
{
    for (; *text; text++) {
        if (((unsigned char)*text < 0x20 && *text != '\t') || *text == 0x7F)
            return false;
    }
    return true;
}

static enum err_code check_line(const char *text, const char *param, struct err *err)
{
    if (is_line(text))
        return ERR_OK;
    return err_invalid(err, "invalid_value", param,
                       "Invalid '%s': control characters are not allowed.", param);
}

static enum err_code check_headers(const json_t *tool, const char *path, struct err *err)
{
    struct param_path at = param_key(path, "headers");
    json_t *headers = NULL;
    const char *name;
    json_t *value;
    enum err_code rc = param_object(tool, path, "headers", PARAM_OPTIONAL, &headers, err);

    if (!rc && json_object_size(headers) > HEADER_LIMIT)
        return err_invalid(err, "object_above_max_properties", at.text,
                           "Invalid '%s': at most %zu headers may be given.", at.text,
                           HEADER_LIMIT);
    json_object_foreach (headers, name, value) {
        const char *text = NULL;

        if (rc)
            break;
        if (!mcp_header_name_is_free(name))
            return err_invalid(err, "invalid_value", at.text,
                               "Invalid '%s': '%.64s' is not a header that may be set.",
                               at.text, name);
        rc = param_string(headers, at.text, name, PARAM_OPTIONAL, SECRET_LIMIT, &text, err);
        if (!rc && text)
            rc = check_line(text, at.text, err);
    }
    return rc;
}

static enum err_code check_authorization(const json_t *tool, const char *path, struct err *err)
{
    const char *token = NULL;
    enum err_code rc =
        param_string(tool, path, "authorization", PARAM_OPTIONAL, SECRET_LIMIT, &token, err);

    if (rc || !token)
        return rc;
    return check_line(token, param_key(path, "authorization").text, err);
}

/* What a remote server has beside its tools, and whether the model gets a text about them. */
static enum err_code check_extras(const json_t *tool, const char *path, struct err *err)
{
    static const char *const known[] = {"resources", "prompts", "rules", NULL};
    struct param_path at = param_key(path, "runnel");
    json_t *extras = NULL;
    bool wanted = false;
    enum err_code rc = param_object(tool, path, "runnel", PARAM_OPTIONAL, &extras, err);

    if (!rc)
        rc = param_unknown_strict(extras, at.text, known, err);
    for (size_t i = 0; !rc && known[i]; i++)
        rc = param_bool(extras, at.text, known[i], &wanted, err);
    return rc;
}

/* This server has no tunnels. Null is allowed: the SDKs send it for members that have no value. */
static enum err_code check_tunnel(const json_t *tool, const char *path, struct err *err)
{
    struct param_path at = param_key(path, "tunnel_id");

    if (json_absent(json_object_get(tool, "tunnel_id")))
        return ERR_OK;
    return err_invalid(err, "unsupported_parameter", at.text,
                       "Unsupported parameter: '%s' is not available on this server.", at.text);
}

/* OpenAI's members, and `runnel`. */
static const char *const known_keys[] = {"allowed_callers",
                                         "allowed_tools",
                                         "authorization",
                                         "connector_id",
                                         "defer_loading",
                                         "headers",
                                         "require_approval",
                                         "runnel",
                                         "server_label",
                                         "server_description",
                                         "server_url",
                                         "tunnel_id",
                                         "type",
                                         NULL};

enum err_code mcp_tool_check(const json_t *tool, const char *path, struct err *err)
{
    const char *text = NULL;
    enum err_code rc = param_unknown_strict(tool, path, known_keys, err);

    if (!rc)
        rc = param_name(tool, path, "server_label", MCP_LABEL_LIMIT, &text, err);
    if (!rc)
        rc = param_string(tool, path, "server_url", PARAM_OPTIONAL, 0, &text, err);
    if (!rc)
        rc = param_string(tool, path, "connector_id", PARAM_OPTIONAL, 0, &text, err);
    if (!rc)
        rc = param_string(tool, path, "server_description", PARAM_OPTIONAL,
                          MCP_DESCRIPTION_LIMIT, &text, err);
    if (!rc)
        rc = check_authorization(tool, path, err);
    if (!rc)
        rc = check_headers(tool, path, err);
    if (!rc)
        rc = check_tunnel(tool, path, err);
    if (!rc)
        rc = check_extras(tool, path, err);
    if (!rc)
        rc = check_allowed(tool, path, err);
    return rc ? rc : check_approval(tool, path, err);
}
