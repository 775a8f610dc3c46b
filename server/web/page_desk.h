#ifndef RUNNEL_SERVER_WEB_PAGE_DESK_H
#define RUNNEL_SERVER_WEB_PAGE_DESK_H

#include "core/tool/executor.h"

struct server;

/* page_desk.h -- how a tool reads a page of the Web: its JSON becomes a call of core/web/pages.h, and back. */

/* Makes server->pages, and sets `page` and `arg` of what the engine lends to tools. When the server starts; the engine
 * must run when the first tool does. */
void page_desk_open(struct server *server, struct tool_web *web);

#endif
