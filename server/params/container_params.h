#ifndef RUNNEL_SERVER_PARAMS_CONTAINER_PARAMS_H
#define RUNNEL_SERVER_PARAMS_CONTAINER_PARAMS_H

#include <jansson.h>
#include <stdint.h>

#include "core/base/err.h"

/*
 * container_params.h -- what a request says about a container: which one, or what a new one is made with.
 *
 * Only the form is checked. Whether the container and the files exist, and whether the operator allows so much memory,
 * is for others to say. `path` is the path of the object, as in params.h. Pure: any thread.
 */

#define CONTAINER_FILES_LIMIT ((size_t)50)

#define CONTAINER_DOMAINS_LIMIT ((size_t)100)

/* The members that POST /v1/containers and a tool's `container` share: file_ids, memory_limit, network_policy. Secrets
 * for domains are refused: the proxy of a container does not see into TLS. *ret_memory_gib, which may be NULL, stays
 * untouched without a memory_limit. */
enum err_code container_params_check(const json_t *object, const char *path,
                                     int *ret_memory_gib, struct err *err) MUST_CHECK;

/* The required member `container` of a tool: an id, or {"type": "auto", ...}. */
enum err_code container_choice_check(const json_t *tool, const char *path,
                                     struct err *err) MUST_CHECK;

/* The environment of a shell that is not the client's: {"type": "container_reference", "container_id"}, or
 * {"type": "container_auto", ...} with the members of container_params_check(), and skills. */
enum err_code container_environment_check(const json_t *tool, const char *path,
                                          struct err *err) MUST_CHECK;

/* A memory_limit that is more than the operator's `most` bytes is refused: "Invalid value: '64g'. The largest
 * memory_limit of this server is '4g'." `path` is that of the object. */
enum err_code container_memory_check(const json_t *object, const char *path, uint64_t most,
                                     struct err *err) MUST_CHECK;

/* A network_policy that allows more than the operator is refused. `most` is config.sandbox_domains. */
enum err_code container_network_check(const json_t *object, const char *path,
                                      const json_t *most, struct err *err) MUST_CHECK;

/* The allowed_domains of a network_policy that was checked, as struct container_row has them. NULL: the object has no
 * policy. The caller frees. */
char *container_domains(const json_t *object);

/* Of the domains of a container those that the operator still allows. New reference; an array. */
json_t *container_domains_within(const char *domains, const json_t *most);

/* GiB of a memory_limit that was checked; 0: it is absent. */
int container_memory_gib(const json_t *object);

#endif
