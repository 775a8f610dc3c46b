#ifndef RUNNEL_SERVER_CONFIG_WHOLE_H
#define RUNNEL_SERVER_CONFIG_WHOLE_H

#include <jansson.h>

#include "core/base/mem.h"
#include "server/config/config.h"

/* whole.h -- for the files of this folder. */

/* A struct config with what its members point into. Callers see only the first member. */
struct config_whole {
    struct config config;
    json_t *file;          /* tree of the YAML file, and what was added to its upstreams */
    const char **patterns; /* of all upstreams' models */
    const char **open;     /* of the egress rules */
};

static inline struct config_whole *config_whole_of(struct config *config)
{
    return CONTAINER_OF(config, struct config_whole, config);
}

#endif
