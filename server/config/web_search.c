#include "server/config/web_search.h"

#include <stdlib.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "server/config/checks.h"

/* Keys come from the environment alone: files are copied and committed. */
static enum err_code find_key(const json_t *entry, const char **ret_key, struct err *err)
{
    const char *variable = json_get_string(entry, "api_key_env", NULL);

    *ret_key = variable ? getenv(variable) : NULL;
    if (variable && (!*ret_key || !**ret_key))
        return err_set(err, ERR_INVALID,
                       "api_key_env: the environment variable %.64s is not set", variable);
    return config_check_key("the key of api_key_env", *ret_key, err);
}

static enum err_code read_one(const json_t *entry, struct web_provider **ret_provider,
                              struct err *err)
{
    const char *key = NULL;
    enum err_code rc = find_key(entry, &key, err);

    return rc ? rc : web_provider_new(entry, key, ret_provider, err);
}

enum err_code config_web_search_read(const json_t *list, struct config_web_search *ret_search,
                                     struct err *err)
{
    size_t i;
    json_t *entry;

    *ret_search = (struct config_web_search){
        .providers = mem_new_array(struct web_provider *, json_array_size(list) + 1)};
    json_array_foreach (list, i, entry) {
        struct err why;

        if (read_one(entry, &ret_search->providers[i], &why))
            return err_set(err, ERR_INVALID, "web_search[%zu]: %s", i, why.text);
        ret_search->count++;
    }
    return ERR_OK;
}

void config_web_search_clear(struct config_web_search *search)
{
    for (size_t i = 0; i < search->count; i++)
        web_provider_free(search->providers[i]);
    free(search->providers);
    *search = (struct config_web_search){0};
}
