#ifndef RUNNEL_TESTS_UNIT_CORE_NET_HTTP_PAGES_H
#define RUNNEL_TESTS_UNIT_CORE_NET_HTTP_PAGES_H

#include "tests/unit/core/net/tiny_server.h"

/*
 * http_pages.h -- every kind of answer that a server may give, from "/hello" to such as break off
 * in the middle, say nothing or never end. What a page does stands in http_pages.c.
 */

#define HTTP_BIG_PAGE ((size_t)65536) /* bytes of the body of "/big", sent in one piece */

extern const struct tiny_page http_pages[];

#endif
