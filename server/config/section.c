#include "server/config/section.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"

enum err_code section_number(const json_t *section, const char *name, const char *key, long low,
                             long high, long fallback, long *ret_number, struct err *err)
{
    const char *text = json_get_string(section, key, NULL);
    char *end;

    *ret_number = fallback;
    if (!text)
        return ERR_OK;
    errno = 0;
    *ret_number = strtol(text, &end, 10);
    if (errno || !*text || *end || *ret_number < low || *ret_number > high)
        return err_set(err, ERR_INVALID, "%s.%s: expected a number from %ld to %ld", name, key,
                       low, high);
    return ERR_OK;
}

enum err_code section_upstream(const json_t *section, const char *name,
                               const struct model_upstream *upstreams, size_t count,
                               const struct model_upstream **ret_upstream, struct err *err)
{
    const char *upstream = json_get_string(section, "upstream", "");

    for (size_t i = 0; i < count; i++) {
        if (strcmp(upstreams[i].name, upstream) == 0) {
            *ret_upstream = &upstreams[i];
            return ERR_OK;
        }
    }
    return err_set(err, ERR_INVALID, "%s.upstream: there is no upstream '%.64s'", name,
                   upstream);
}
