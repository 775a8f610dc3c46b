#ifndef RUNNEL_CORE_NET_PROXY_PROXY_H
#define RUNNEL_CORE_NET_PROXY_PROXY_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/net/egress.h"
#include "core/net/proxy/names.h"

/*
 * proxy.h -- the only way out of a box: an HTTP proxy that reaches the domains of a list.
 *
 *   box: program ──▶ 127.0.0.1:3128 ──│ listener │──▶ proxy, on a loop ──▶ files.example.org:443
 *
 * The listening socket is made in the box and handed out; the server accepts on it. So no socket of the host is in the
 * box, and no name is resolved there. The proxy takes CONNECT, and requests whose target is an http:// URL. Of each it
 * checks
 *
 *   the name       against the list (domain.h); an address is in no list
 *   the port       80 or 443
 *   the addresses  by egress.h. The address that was checked is the one that is connected to
 *   the bytes      of the calls that are under way
 *
 * A place that the operator has opened (egress.h) may have any port and any address, if its name is in the list.
 *
 * Connections of all boxes share one loop, which is not that of any run: bytes of a box delay no stream. What one side
 * does not read, the other side is not asked for.
 *
 * Any thread, unless something else is said.
 */
