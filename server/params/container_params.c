#include "server/params/container_params.h"

#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/net/proxy/domain.h"
#include "server/complaint.h"
#include "server/params/container_skill_params.h"
#include "server/params/params.h"

/* Skills of a local shell. */
#define SKILLS_LIMIT ((size_t)200)

static const char *const memory_words[] = {"1g", "4g", "16g", "64g", NULL};
static const int memory_gib[] = {1, 4, 16, 64};

int container_memory_gib(const json_t *object)
{
    const char *given = json_get_string(object, "memory_limit", "");

    for (size_t i = 0; memory_words[i]; i++) {
        if (strcmp(memory_words[i], given) == 0)
            return memory_gib[i];
    }
    return 0;
}

enum err_code container_memory_check(const json_t *object, const char *path, uint64_t most,
                                     struct err *err)
{
    const char *largest = memory_words[0];

    if ((uint64_t)container_memory_gib(object) << 30 <= most)
        return ERR_OK;
    for (size_t i = 0; memory_words[i] && (uint64_t)memory_gib[i] << 30 <= most; i++)
        largest = memory_words[i];
    return err_invalid(err, "invalid_value", param_key(path, "memory_limit").text,
                       "Invalid value: '%s'. The largest memory_limit of this server is '%s'.",
                       json_get_string(object, "memory_limit", ""), largest);
}

static enum err_code check_files(const json_t *object, const char *path, struct err *err)
{
    struct param_path at = param_key(path, "file_ids");
    json_t *files = NULL;
    size_t i;
    json_t *id;
    enum err_code rc = param_array(object, path, "file_ids", PARAM_OPTIONAL,
                                   CONTAINER_FILES_LIMIT, &files, err);

    if (rc)
        return rc;
    json_array_foreach (files, i, id) {
        struct param_path inner = param_index(at.text, i);

        if (!json_is_string(id))
            return param_wrong_type(err, inner.text, "a string", id);
        rc = param_id(json_string_value(id), "file-", inner.text, err);
        if (rc)
            return rc;
    }
    return ERR_OK;
}

/* ---- The network ---- */

static enum err_code check_domain(const json_t *domain, const char *path, struct err *err)
{
    if (!json_is_string(domain))
        return param_wrong_type(err, path, "a string", domain);
    if (domain_is_pattern(json_string_value(domain)))
        return ERR_OK;
    return err_invalid(
        err, "invalid_value", path,
        "Invalid value: '%.128s'. Expected a host name such as 'example.com', or "
        "'*.example.com' for all names below it.",
        json_string_value(domain));
}

static enum err_code check_allowlist(const json_t *policy, const char *path, struct err *err)
{
    struct param_path at = param_key(path, "allowed_domains");
    json_t *domains = NULL, *secrets = NULL;
    size_t i;
    json_t *domain;
    enum err_code rc = param_array(policy, path, "allowed_domains", PARAM_REQUIRED,
                                   CONTAINER_DOMAINS_LIMIT, &domains, err);

    if (!rc)
        rc = param_array(policy, path, "domain_secrets", PARAM_OPTIONAL, 0, &secrets, err);
    if (rc)
        return rc;
    if (!json_array_size(domains))
        return err_invalid(err, "invalid_value", at.text,
                           "Invalid '%s': expected at least one domain.", at.text);
    if (json_array_size(secrets))
        return err_invalid(err, "unsupported_value", param_key(path, "domain_secrets").text,
                           "Unsupported value: this server cannot put secrets into requests of "
                           "a container, because most of them are encrypted.");
    json_array_foreach (domains, i, domain) {
        rc = check_domain(domain, param_index(at.text, i).text, err);
        if (rc)
            return rc;
    }
    return ERR_OK;
}

static enum err_code check_network(const json_t *object, const char *path, struct err *err)
{
    static const char *const types[] = {"disabled", "allowlist", NULL};
    struct param_path at = param_key(path, "network_policy");
    json_t *policy = NULL;
    const char *type = NULL;
    enum err_code rc =
        param_object(object, path, "network_policy", PARAM_OPTIONAL, &policy, err);

    if (rc || !policy)
        return rc;
    rc = param_enum(policy, at.text, "type", PARAM_REQUIRED, types, &type, err);
    if (rc || strcmp(type, "disabled") == 0)
        return rc;
    return check_allowlist(policy, at.text, err);
}

static const json_t *domains_of(const json_t *object)
{
    return json_object_get(json_object_get(object, "network_policy"), "allowed_domains");
}

static bool is_within(const char *domain, const json_t *most)
{
    size_t i;
    json_t *pattern;

    json_array_foreach (most, i, pattern) {
        if (domain_covers(json_string_value(pattern), domain))
            return true;
    }
    return false;
}

/* "a.example, b.example": as many as a sentence bears. The caller frees. */
static char *list_domains(const json_t *most)
{
    AUTO_BUF text = {0};
    size_t i;
    json_t *pattern;

    json_array_foreach (most, i, pattern) {
        if (i == 10) {
            buf_add_text(&text, ", ...");
            break;
        }
        buf_addf(&text, "%s%s", i ? ", " : "", json_string_value(pattern));
    }
    return buf_take(&text);
}

enum err_code container_network_check(const json_t *object, const char *path,
                                      const json_t *most, struct err *err)
{
    struct param_path at = param_key(path, "network_policy");
    struct param_path list = param_key(at.text, "allowed_domains");
    AUTO_FREE char *allowed = NULL;
    size_t i;
    json_t *domain;

    if (!domains_of(object))
        return ERR_OK;
    if (!json_array_size(most))
        return err_invalid(err, "unsupported_value", param_key(at.text, "type").text,
                           "Unsupported value: containers of this server have no network.");
    allowed = list_domains(most);
    json_array_foreach (domains_of(object), i, domain) {
        if (!is_within(json_string_value(domain), most))
            return err_invalid(err, "invalid_value", param_index(list.text, i).text,
                               "Invalid value: '%.128s'. Containers of this server may reach: "
                               "%.600s.",
                               json_string_value(domain), allowed);
    }
    return ERR_OK;
}

char *container_domains(const json_t *object)
{
    const json_t *domains = domains_of(object);

    if (json_absent(json_object_get(object, "network_policy")))
        return NULL;
    return domains ? json_text(domains) : mem_strdup("[]");
}

json_t *container_domains_within(const char *domains, const json_t *most)
{
    json_auto_t *list = json_parse_own(domains ? domains : "[]");
    json_t *within = json_array();
    size_t i;
    json_t *domain;

    json_array_foreach (list, i, domain) {
        if (is_within(json_string_value(domain), most))
            json_array_append(within, domain);
    }
    return within;
}

/* ---- All of it ---- */

enum err_code container_params_check(const json_t *object, const char *path,
                                     int *ret_memory_gib, struct err *err)
{
    const char *memory = NULL;
    enum err_code rc = check_files(object, path, err);

    if (!rc)
        rc = param_enum(object, path, "memory_limit", PARAM_OPTIONAL, memory_words, &memory,
                        err);
    if (!rc)
        rc = check_network(object, path, err);
    if (!rc && memory && ret_memory_gib)
        *ret_memory_gib = container_memory_gib(object);
    return rc;
}

enum err_code container_choice_check(const json_t *tool, const char *path, struct err *err)
{
    static const char *const types[] = {"auto", NULL};
    struct param_path at = param_key(path, "container");
    const json_t *container = json_object_get(tool, "container");
    const char *type = NULL;
    enum err_code rc;

    if (json_absent(container))
        return param_missing(err, at.text);
    if (json_is_string(container))
        return param_id(json_string_value(container), "cntr_", at.text, err);
    if (!json_is_object(container))
        return param_wrong_type(err, at.text, "one of a string or an object", container);
    rc = param_enum(container, at.text, "type", PARAM_REQUIRED, types, &type, err);
    return rc ? rc : container_params_check(container, at.text, NULL, err);
}

/* A local shell has them on the client's machine: the model is sent three texts, and nothing is read here. */
static enum err_code check_local_skills(const json_t *environment, const char *path,
                                        struct err *err)
{
    static const struct {
        const char *key;
        size_t limit;
    } texts[] = {{"name", 64}, {"description", 1024}, {"path", 1024}};
    struct param_path at = param_key(path, "skills");
    json_t *skills = NULL;
    size_t i;
    json_t *skill;
    enum err_code rc =
        param_array(environment, path, "skills", PARAM_OPTIONAL, SKILLS_LIMIT, &skills, err);

    json_array_foreach (skills, i, skill) {
        struct param_path inner = param_index(at.text, i);
        const char *text = NULL;

        if (!rc && !json_is_object(skill))
            rc = param_wrong_type(err, inner.text, "an object", skill);
        if (!rc && !json_absent(json_object_get(skill, "type")))
            rc =
                err_invalid(err, "unsupported_value", inner.text,
                            "Unsupported value: a skill of a local shell has name, description "
                            "and path.");
        for (size_t n = 0; !rc && n < COUNT_OF(texts); n++)
            rc = param_string(skill, inner.text, texts[n].key, PARAM_REQUIRED, texts[n].limit,
                              &text, err);
        if (rc)
            return rc;
    }
    return rc;
}

/* The server notes there which container it has found. */
static enum err_code check_unassigned(const json_t *environment, const char *path,
                                      struct err *err)
{
    struct param_path at = param_key(path, "container_id");

    return json_object_get(environment, "container_id")
               ? err_invalid(err, "unknown_parameter", at.text, "Unknown parameter: '%s'.",
                             at.text)
               : ERR_OK;
}

enum err_code container_environment_check(const json_t *tool, const char *path, struct err *err)
{
    static const char *const types[] = {"container_auto", "local", "container_reference", NULL};
    struct param_path at = param_key(path, "environment");
    json_t *environment = NULL;
    const char *type = NULL, *id = NULL;
    enum err_code rc =
        param_object(tool, path, "environment", PARAM_OPTIONAL, &environment, err);

    if (rc || !environment)
        return rc;
    rc = param_enum(environment, at.text, "type", PARAM_REQUIRED, types, &type, err);
    if (rc)
        return rc;
    if (strcmp(type, "local") == 0)
        return check_local_skills(environment, at.text, err);
    if (strcmp(type, "container_auto") == 0) {
        rc = container_params_check(environment, at.text, NULL, err);
        rc = rc ? rc : container_skills_check(environment, at.text, err);
        return rc ? rc : check_unassigned(environment, at.text, err);
    }
    rc = param_string(environment, at.text, "container_id", PARAM_REQUIRED, 0, &id, err);
    return rc ? rc : param_id(id, "cntr_", param_key(at.text, "container_id").text, err);
}
