#ifndef RUNNEL_CORE_NET_PROXY_DOMAIN_H
#define RUNNEL_CORE_NET_PROXY_DOMAIN_H

#include <stdbool.h>
#include <stddef.h>

/*
 * domain.h -- which host names a list of domains covers.
 *
 * A domain is a host name, and covers that name only. "*.example.com" covers every name below example.com, and not
 * example.com itself. Nothing else has a meaning: no scheme, no port, no path, and no address in any spelling.
 *
 * Upper and lower case are the same. Pure functions: any thread.
 */

#define DOMAIN_LIMIT ((size_t)253) /* characters of a name */

/* Letters, digits, hyphens and underscores in labels. The last label is no number: "127.1", "0x7f000001" and
 * "2130706433" are addresses to resolvers. */
bool domain_is_name(const char *text);

/* A name, or "*." before a name. */
bool domain_is_pattern(const char *text);

/* The pattern covers the name. False for what is no name. */
bool domain_matches(const char *pattern, const char *name);

/* Every name that `inner` covers is covered by `outer`, too. Both are patterns. */
bool domain_covers(const char *outer, const char *inner);

#endif
