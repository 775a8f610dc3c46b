/*
 * Calls of the HTTP client on one loop, one after another. A byte says how a call ends and the
 * next one which kind of call follows; that one must succeed. So what is tested is what libcurl
 * keeps between transfers: handles, buffers, connections, names.
 */

#include <stdint.h>
#include <stdlib.h>

#include "core/net/http_client.h"
#include "tests/unit/core/net/http_endings.h"
#include "tests/unit/core/net/http_pages.h"
#include "tests/unit/core/net/name_server.h"

#define STEP_LIMIT 16

static struct fixture fixture;

int LLVMFuzzerInitialize(int *count, char ***arguments)
{
    (void)count, (void)arguments;
    name_server_init();
    http_client_global_init();
    http_endings_begin();
    return 0;
}

/* The server remembers each of its connections. */
static void renew_server(void)
{
    if (fixture.server && fixture.server->accepted < TINY_CONNECTION_LIMIT / 2)
        return;
    if (fixture.server)
        tiny_server_free(fixture.server);
    fixture.server = tiny_server_new(http_pages);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err err;

    renew_server();
    fixture.loop = loop_new("fuzz");
    if (loop_start(fixture.loop, &err))
        abort();
    for (size_t i = 0; i + 1 < size && i < 2 * STEP_LIMIT; i += 2) {
        http_end_a_call(&fixture, data[i] % http_ending_count);
        http_follow_with(&fixture, data[i + 1] % http_follower_count);
    }
    loop_stop(fixture.loop);
    loop_free(fixture.loop);
    return 0;
}
