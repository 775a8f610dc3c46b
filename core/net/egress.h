#ifndef RUNNEL_CORE_NET_EGRESS_H
#define RUNNEL_CORE_NET_EGRESS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/err.h"

/*
 * egress.h -- where a request may go whose URL a stranger has chosen.
 *
 * Only to the public internet: never to this machine, the networks it stands in, or what clouds
 * keep at addresses of their own. What counts is the address that is connected to, looked at when
 * the socket is opened: a name that meant something else a moment ago does not help.
 *
 * The operator may open single places, as "host:port", exactly as they stand in the URL. What is
 * behind such a pair is not looked at.
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

/* What a page at `base` means by a reference; NULL when it makes no sense, or is of another origin:
 * scheme, host or port. The caller frees. */
char *egress_url_join(const char *base, const char *reference);

/* ERR_INVALID unless it is "host:port" or "[v6]:port". */
enum err_code egress_pair_check(const char *pair, struct err *err) MUST_CHECK;

/* The operator has opened the place that the URL names. */
bool egress_is_open(const struct egress_rules *rules, const char *url);

/* Anybody on the internet could reach it. Of another family than IPv4 and IPv6: false. */
bool egress_address_is_public(const struct sockaddr *address);
/* The same of an address as text; false when it is none. */
bool egress_text_is_public(const char *address);

#endif
