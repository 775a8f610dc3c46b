#ifndef RUNNEL_SERVER_CONFIG_WEB_SEARCH_H
#define RUNNEL_SERVER_CONFIG_WEB_SEARCH_H

#include <jansson.h>
#include <stddef.h>

#include "core/base/err.h"
#include "core/web/provider.h"

/*
 * config/web_search.h -- the section `web_search` of the configuration file: who is asked to search the web, in this
 * order.
 *
 * Used at start, on one thread.
 */

struct config_web_search {
    struct web_provider **providers;
    size_t count; /* 0: the web is not searched */
};

/* `list` is the section, or NULL. ERR_INVALID with one sentence. The caller clears, also after an error. */
enum err_code config_web_search_read(const json_t *list, struct config_web_search *ret_search,
                                     struct err *err) MUST_CHECK;
void config_web_search_clear(struct config_web_search *search);

#endif
