#include "server/api/upstream_call.h"

#include "core/base/mem.h"

struct http_call *upstream_call_start(struct loop *loop, const struct upstream_call *call)
{
    const struct model_upstream *upstream = call->upstream;
    AUTO_FREE char *url = mem_printf("%s%s", upstream->url, call->path);
    AUTO_FREE char *key =
        upstream->api_key ? mem_printf("Authorization: Bearer %s", upstream->api_key) : NULL;
    AUTO_FREE char *type = call->spool ? mem_printf("Content-Type: %s", call->type) : NULL;
    const char *headers[3] = {0};
    size_t count = 0;
    struct http_request request = {
        .method = call->method,
        .url = url,
        .headers = headers,
        .body = call->spool  ? http_body_new_spooled(call->spool)
                : call->body ? http_body_new(call->body, call->body_length)
                             : NULL,
        .timeouts = call->timeouts,
        .on_head = call->on_head,
        .on_data = call->on_data,
        .on_done = call->on_done,
        .arg = call->arg,
    };

    struct http_call *started;

    if (call->sent)
        http_body_when_freed(request.body, call->sent, call->sent_arg);
    if (key)
        headers[count++] = key;
    if (type || call->body)
        headers[count++] = type ? type : "Content-Type: application/json";
    started = http_call_start(loop, &request);
    http_body_drop(request.body);
    return started;
}
