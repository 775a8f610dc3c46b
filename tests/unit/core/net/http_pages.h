#ifndef RUNNEL_TESTS_UNIT_CORE_NET_HTTP_PAGES_H
#define RUNNEL_TESTS_UNIT_CORE_NET_HTTP_PAGES_H

#include "tests/unit/core/net/tiny_server.h"

/*
 * http_pages.h -- every kind of answer that a server may give, from "/hello" to answers that break
 * off in the middle, send nothing or never end. http_pages.c says what each page does.
 */

#define HTTP_BIG_PAGE ((size_t)65536) /* bytes of the body of "/big", sent in one piece */

extern const struct tiny_page http_pages[];

#endif
