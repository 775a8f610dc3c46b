#ifndef RUNNEL_SERVER_CONFIG_WEBHOOKS_H
#define RUNNEL_SERVER_CONFIG_WEBHOOKS_H

#include <jansson.h>
#include <stddef.h>

#include "core/base/err.h"
#include "core/run/approval/approval_webhook.h"
#include "core/store/store.h"

/*
 * config/webhooks.h -- the section `approval_webhooks` of the configuration file: where the operator
 * wants to be told that somebody is asked.
 */

struct config_webhooks {
    struct approval_webhook *webhooks; /* point into the list */
    const char **names;                /* of their projects */
    size_t count;
};

/* `list` is the section, or NULL. ERR_INVALID with one sentence. The caller clears, also after an
 * error. */
enum err_code config_webhooks_read(const json_t *list, const struct egress_rules *egress,
                                   struct config_webhooks *ret_webhooks,
                                   struct err *err) MUST_CHECK;
void config_webhooks_clear(struct config_webhooks *webhooks);

/* Finds the projects in the store; one that there is not is refused, because its name may be a typing
 * error. */
enum err_code config_webhooks_find(const struct config_webhooks *webhooks, struct store *store,
                                   struct err *err) MUST_CHECK;

#endif
