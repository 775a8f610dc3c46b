/* Heads of requests to a box's proxy: however they are cut, they are the same; and what is sent to the server is a head
 * that this reader takes again for the same place, with the same body. */

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/net/proxy/proxy_head.h"

static enum proxy_head_state read_in_bytes(struct proxy_head *head, const char *bytes,
                                           size_t size)
{
    enum proxy_head_state state = PROXY_HEAD_PARTIAL;

    for (size_t i = 0; i <= size && state == PROXY_HEAD_PARTIAL; i++)
        state = proxy_head_read(head, bytes, i);
    return state;
}

static void check_forward(const struct proxy_head *head)
{
    const char *blank = strchr(head->forward.data, ' ');
    CLEANUP(proxy_head_clear) struct proxy_head again = {0};
    AUTO_BUF text = {0};

    assert(strstr(head->forward.data, "\r\n\r\n") + 4 ==
           head->forward.data + head->forward.length);
    buf_add(&text, head->forward.data, (size_t)(blank + 1 - head->forward.data));
    buf_addf(&text, "http://%s:%u%s", head->host, head->port, blank + 1);
    assert(proxy_head_read(&again, text.data, text.length) != PROXY_HEAD_BAD ||
           again.status == 431);
    if (again.forward.length) {
        assert(strcmp(again.host, head->host) == 0 && again.port == head->port);
        assert(again.body == head->body);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_FREE char *bytes = mem_strndup((const char *)data, size);
    CLEANUP(proxy_head_clear) struct proxy_head whole = {0};
    CLEANUP(proxy_head_clear) struct proxy_head pieces = {0};
    enum proxy_head_state state = proxy_head_read(&whole, bytes, size);

    assert(read_in_bytes(&pieces, bytes, size) == state);
    if (state == PROXY_HEAD_BAD)
        assert(whole.why && whole.status >= 400);
    if (state != PROXY_HEAD_READY)
        return 0;
    assert(strcmp(whole.host, pieces.host) == 0 && whole.port == pieces.port);
    assert(whole.size == pieces.size && whole.body == pieces.body);
    assert(whole.port >= 1 && whole.port <= 65535 && *whole.host);
    assert(whole.tunnel == (whole.forward.length == 0));
    if (!whole.tunnel)
        check_forward(&whole);
    return 0;
}
