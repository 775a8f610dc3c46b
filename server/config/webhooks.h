#ifndef RUNNEL_SERVER_CONFIG_WEBHOOKS_H
#define RUNNEL_SERVER_CONFIG_WEBHOOKS_H

#include <jansson.h>
#include <stddef.h>

#include "core/base/err.h"
#include "core/run/approval/approval_webhook.h"
#include "core/store/store.h"

/*
 * config/webhooks.h -- the section `approval_webhooks` of the configuration file: where approval requests are
 * posted (core/run/approval/approval_webhook.h).
 *
 * Used at start, on one thread.
 */

struct config_webhooks {
    struct approval_webhook *webhooks; /* they point into the list */
    const char **names;                /* of their projects, in the same order */
    size_t count;
};

/* `list` is the section, or NULL. List and rules must outlive *ret_webhooks. ERR_INVALID with one sentence. The
 * caller clears, also after an error. */
enum err_code config_webhooks_read(const json_t *list, const struct egress_rules *egress,
                                   struct config_webhooks *ret_webhooks,
                                   struct err *err) MUST_CHECK;
void config_webhooks_clear(struct config_webhooks *webhooks);

/* Finds the ids of the projects in the store. An unknown project is ERR_INVALID: its name may be misspelt. Blocks
 * on the store. */
enum err_code config_webhooks_find(const struct config_webhooks *webhooks, struct store *store,
                                   struct err *err) MUST_CHECK;

#endif
