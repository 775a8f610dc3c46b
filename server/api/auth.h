#ifndef RUNNEL_SERVER_API_AUTH_H
#define RUNNEL_SERVER_API_AUTH_H

#include "server/http/http.h"

/*
 * auth.h -- from an Authorization header to a tenant.
 *
 * One look-up for each request and nothing remembered, so a revoked key is refused from the next
 * request on. When the store cannot be asked, nobody gets in: 503.
 */

authenticate_fn auth_check;

/* The key of "Bearer KEY", or NULL when the header is not of that form. */
const char *auth_bearer(const char *authorization);

/* A key as an error may show it: its first and last letters. */
#define AUTH_HINT_SIZE 24
void auth_hint(const char *key, char ret_hint[AUTH_HINT_SIZE]);

#endif
