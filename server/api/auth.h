#ifndef RUNNEL_SERVER_API_AUTH_H
#define RUNNEL_SERVER_API_AUTH_H

#include "server/http/http.h"

/*
 * auth.h -- from an Authorization header to a tenant.
 *
 * Every request looks its key up in the store. Nothing is cached, so a revoked key is refused from
 * the next request on. While the store is down, every request that needs a key is refused.
 */

/* Fills in the tenant of a request. Blocks on the store. ERR_UNAUTHORIZED (401) for a key that is
 * missing, unknown or revoked; ERR_STORE (503). With the setting no_auth, any header is accepted
 * and the tenant is the default project. */
authenticate_fn auth_check;

/* The key in "Bearer KEY", or NULL if the header has another form. Borrowed from the header. */
const char *auth_bearer(const char *authorization);

/* A key in the form that an error message may show: its first six and last four characters. A key
 * of fewer than 16 characters becomes "***". Bytes outside of printable ASCII become '?'. */
#define AUTH_HINT_SIZE 24
void auth_hint(const char *key, char ret_hint[AUTH_HINT_SIZE]);

#endif
