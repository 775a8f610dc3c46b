/*
 * proxy.c -- one connection of a box, from its first byte to its relay.
 *
 *   accept ─▶ head (proxy_head.h) ─▶ list, port, bytes ─▶ names.h ─▶ egress.h ─▶ connect ─▶ relay.h
 *                 └─────────────── a refusal, with its sentence ◀─┘
 *
 * The sentence of a refusal is its reason phrase, because that is what programs show of the answer to CONNECT.
 *
 * libcurl could have made the connections, as it does for all other requests. But a tunnel is a socket, which libcurl
 * does not give away, and its resolver makes a thread for each name.
 *
 * Each proxy belongs to the loop; a box only has a pointer for proxy_begin(), proxy_end() and proxy_close(). One that
 * was closed is freed when its last look-up has come back.
 */

#include "core/net/proxy/proxy.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>
