#include "server/web/page_desk.h"

#include "core/base/json.h"
#include "core/web/pages.h"
#include "server/config/config.h"
#include "server/outgoing.h"
#include "server/server.h"

static struct page_want want_of(const json_t *query)
{
    const char *elements = json_get_string(query, "elements", NULL);
    const char *outline = json_get_string(query, "outline", NULL);

    return (struct page_want){
        .view = elements  ? PAGE_ELEMENTS
                : outline ? PAGE_OUTLINE
                          : PAGE_MARKDOWN,
        .links = json_get_bool(query, "links", false),
        .images = json_get_bool(query, "images", false),
        .selector = elements ? elements : outline,
        .limit = (size_t)json_get_int(query, "limit", 0),
        .depth = (unsigned)json_get_int(query, "depth", 0),
        .text = json_get_bool(query, "text", false),
    };
}

static enum err_code read_page(void *arg, const struct tool_call *call, const json_t *query,
                               json_t **ret_page, struct err *err)
{
    const struct server *server = arg;

    return pages_read(server->pages,
                      &(struct page_ask){.run = tool_call_run(call),
                                         .url = json_get_string(query, "url", ""),
                                         .want = want_of(query),
                                         .domains = json_object_get(query, "domains"),
                                         .cancel_fd = tool_call_cancel_fd(call)},
                      ret_page, err);
}

void page_desk_open(struct server *server, struct tool_web *web)
{
    server->pages = pages_new(&(struct pages_options){
        .any_loop = outgoing_loop, .loop_arg = server, .egress = &server->config->egress});
    web->page = read_page;
    web->arg = server;
}
