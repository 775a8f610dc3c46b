#ifndef RUNNEL_CORE_NET_EGRESS_H
#define RUNNEL_CORE_NET_EGRESS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/err.h"

/*
 * egress.h -- where a request may go if a client or a remote server has chosen its URL.
 *
 * Only to the public internet: never to this machine, its local networks, or the metadata services
 * of clouds. The address is checked when the socket is opened, not when the URL is read, because a name
 * may resolve to another address by then.
 *
 * The operator may open single places, as "host:port", spelled as in the URL. The addresses of such
 * a place are not checked.
 *
 * Pure functions: any thread.
 */

struct sockaddr;

struct egress_rules {
    const char *const *open; /* "host:port", borrowed; may be NULL */
    size_t open_count;
};

/* ERR_INVALID unless it is http or https, names a host, and carries no user or password. The text
 * says what is wrong with "the URL". */
enum err_code egress_url_check(const char *url, struct err *err) MUST_CHECK;

/* "host:port" that the URL names, or NULL. The caller frees. */
char *egress_pair_of(const char *url);

/* Resolves a reference on a page at `base`. NULL when the URL that it leads to does not pass egress_url_check(). The
 * caller frees. */
char *egress_url_resolve(const char *base, const char *reference);

/* The same, and NULL when it leads to another origin (scheme, host or port). */
char *egress_url_join(const char *base, const char *reference);

/* ERR_INVALID unless it is "host:port" or "[v6]:port". */
enum err_code egress_pair_check(const char *pair, struct err *err) MUST_CHECK;

/* The operator has opened the place that the URL names. */
bool egress_is_open(const struct egress_rules *rules, const char *url);

/* True for addresses of the public internet. False for families other than IPv4 and IPv6. */
bool egress_address_is_public(const struct sockaddr *address);
/* The same for an address as text; false when it is no address. */
bool egress_text_is_public(const char *address);

#endif
