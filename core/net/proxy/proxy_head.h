#ifndef RUNNEL_CORE_NET_PROXY_PROXY_HEAD_H
#define RUNNEL_CORE_NET_PROXY_PROXY_HEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/net/proxy/domain.h"

/*
 * proxy_head.h -- the head of a request to the proxy of a box: where it wants to go, and what is sent there.
 *
 *   CONNECT files.example.org:443 HTTP/1.1          a tunnel
 *   GET http://files.example.org/a.csv HTTP/1.1     one request: the head is written anew, its body follows
 *
 * The bytes come from hostile code. A head has one meaning or is refused: lines end in CRLF, nothing is folded, lengths
 * are said once and in digits, bodies are not chunked, and Host is the target's. So the server behind cannot read two
 * requests where this proxy has read one.
 *
 * Pure functions: any thread.
 */

#define PROXY_HEAD_LIMIT ((size_t)16 << 10) /* bytes, with the blank line */
