#ifndef RUNNEL_SERVER_CONFIG_SECTION_H
#define RUNNEL_SERVER_CONFIG_SECTION_H

#include <jansson.h>
#include <stddef.h>

#include "core/base/err.h"
#include "core/model/model.h"

/*
 * config/section.h -- values that several sections of the configuration file have alike. Values of the file are texts.
 *
 * ERR_INVALID with one sentence, which begins with the name of the section and of the key.
 */

/* A whole number; `fallback` if the key is missing. */
enum err_code section_number(const json_t *section, const char *name, const char *key, long low,
                             long high, long fallback, long *ret_number,
                             struct err *err) MUST_CHECK;

/* The upstream that its key `upstream` names. */
enum err_code section_upstream(const json_t *section, const char *name,
                               const struct model_upstream *upstreams, size_t count,
                               const struct model_upstream **ret_upstream,
                               struct err *err) MUST_CHECK;

#endif
