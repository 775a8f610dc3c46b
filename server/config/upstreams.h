#ifndef RUNNEL_SERVER_CONFIG_UPSTREAMS_H
#define RUNNEL_SERVER_CONFIG_UPSTREAMS_H

#include "core/base/err.h"
#include "server/config/config.h"

/*
 * config/upstreams.h -- the servers with models: the section `upstreams` of the configuration file, and the settings
 * upstream_url and upstream_api_key.
 *
 * Used at start, on one thread. config_add_upstream() is in config.h.
 */

/* Adds the upstream of the settings behind those of the file, if there is one. */
void config_upstreams_add_setting(struct config *config);
/* Makes config->upstreams anew. The array points into the tree of the file. */
void config_upstreams_build(struct config *config);

/* What a section says that is no such word or number. ERR_INVALID with one sentence. */
enum err_code config_upstreams_check(struct config *config, struct err *err) MUST_CHECK;
/* URLs and keys. `host` and `port` are those that this server listens on: it must not ask itself. */
enum err_code config_upstreams_check_urls(const struct config *config, const char *host,
                                          const char *port, struct err *err) MUST_CHECK;

#endif
