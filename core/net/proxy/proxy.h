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

#define PROXY_PORT        3128
#define PROXY_CONNECTIONS 64 /* of a box at once; more wait until one ends */
#define PROXY_LOOKUPS     8  /* of these, names that are looked up at once; more are refused */
#define PROXY_CALL_BYTES  ((uint64_t)256 << 20) /* that a call may carry, both ways together */
#define PROXY_PLACES      40                    /* of a call that are listed */
#define PROXY_REFUSED \
    16 /* of these, refused ones: code cannot hide where it was behind where it was not */
#define PROXY_HEAD_NS    ((uint64_t)10 * 1000000000)  /* for the head of a request */
#define PROXY_CONNECT_NS ((uint64_t)10 * 1000000000)  /* for one address */
#define PROXY_IDLE_NS    ((uint64_t)300 * 1000000000) /* without a byte */

enum proxy_verdict {
    PROXY_ALLOWED,
    PROXY_DOMAIN,      /* refused: not in the list */
    PROXY_ON_PORT,     /* refused: neither 80 nor 443 */
    PROXY_ADDRESS,     /* refused: no address of the name may be reached */
    PROXY_BYTES,       /* refused or cut: the call has carried as much as it may */
    PROXY_BUSY,        /* refused: too many names are being looked up */
    PROXY_MALFORMED,   /* refused: no request that has one meaning */
    PROXY_UNKNOWN,     /* the name has no address */
    PROXY_UNREACHABLE, /* no address of it answers */
    PROXY_VERDICTS
};

/* One word, such as "domain". */
const char *proxy_verdict_name(enum proxy_verdict verdict);

/* All proxies of a process: their loop, and the threads that look up names. */
struct proxies;

/* `egress` is borrowed. `look_up` NULL: the system's. */
enum err_code proxies_new(const struct egress_rules *egress, names_look_up *look_up,
                          struct proxies **ret_proxies, struct err *err) MUST_CHECK;
/* After the last proxy_close(). NULL is fine. */
void proxies_free(struct proxies *proxies);

/* Connections by verdict, since the start. */
void proxies_count(const struct proxies *proxies, uint64_t ret_counts[PROXY_VERDICTS]);

/* The proxy of a box. */
struct proxy;

/* Takes the listening socket, and closes it after a failure, too. `name` is for the log, `domains` are patterns; both
 * are copied. ERR_INTERNAL: it is no socket that listens on loopback. */
enum err_code proxy_open(struct proxies *proxies, const char *name, const char *const *domains,
                         size_t count, int listener, struct proxy **ret_proxy,
                         struct err *err) MUST_CHECK;

/* Ends its connections soon. The last call of this proxy. NULL is fine. */
void proxy_close(struct proxy *proxy);

/* A call begins: it may carry PROXY_CALL_BYTES more. What processes of earlier calls do meanwhile counts as its own. */
void proxy_begin(struct proxy *proxy);

/* It ends. What was asked for since it began, and by other calls of the box that were under way with it:
 * [{"host", "port", "verdict", "connections", "bytes"}]. NULL: nothing. New reference. */
json_t *proxy_end(struct proxy *proxy);

#endif
