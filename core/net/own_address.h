#ifndef RUNNEL_CORE_NET_OWN_ADDRESS_H
#define RUNNEL_CORE_NET_OWN_ADDRESS_H

#include <stdbool.h>

/*
 * own_address.h -- does a URL lead back to this server?
 *
 * A server that is its own upstream would send requests to itself until a limit is reached, so such a
 * configuration is refused at start. Names are looked up only when the ports are equal. Blocks while
 * names are resolved; any thread.
 */

/* True if a request to `url` would reach a server that listens on this host and port. */
bool own_address(const char *listen_host, const char *listen_port, const char *url);

/* True for 127.0.0.0/8, ::1 and localhost. */
bool own_address_is_loopback(const char *host);

/* The same of a Host header: "localhost:8080", "[::1]". */
bool own_address_is_local_name(const char *host);

#endif
