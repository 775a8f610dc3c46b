#ifndef RUNNEL_CORE_NET_OWN_ADDRESS_H
#define RUNNEL_CORE_NET_OWN_ADDRESS_H

#include <stdbool.h>

/*
 * own_address.h -- does this URL lead back to us?
 *
 * A server that is its own upstream asks itself until something breaks, so it is refused at
 * start. Names are only looked up when the ports agree.
 */

bool own_address(const char *listen_host, const char *listen_port, const char *url);

/* True for 127.0.0.0/8, ::1 and localhost. */
bool own_address_is_loopback(const char *host);

/* The same of a Host header: "localhost:8080", "[::1]". */
bool own_address_is_local_name(const char *host);

#endif
