#ifndef RUNNEL_CORE_MCP_MCP_KNOWN_H
#define RUNNEL_CORE_MCP_MCP_KNOWN_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * mcp_known.h -- what is known about servers that have been used before: which generation of the protocol
 * they speak. Without it, each session would have to find that out again with a request more.
 *
 * What is kept may be wrong, because servers are updated: a client that fails with it forgets it and
 * asks the server. Entries live in the memory of the process for MCP_KNOWN_NS, at most MCP_KNOWN_LIMIT of
 * them; a new one then replaces the oldest. They hold a hash of the URL, because a URL may have secrets.
 *
 * Any thread.
 */

#define MCP_KNOWN_LIMIT 1024
#define MCP_KNOWN_NS    ((uint64_t)3600 * 1000000000)

enum mcp_era {
    MCP_ERA_UNKNOWN,
    MCP_ERA_STATELESS, /* 2026-07-28: every request stands alone */
    MCP_ERA_SESSION,   /* 2025-03-26 and 2025-06-18: initialize opens a session */
    MCP_ERA_STREAM,    /* 2024-11-05: the same, with all answers over one stream */
};

struct mcp_known {
    enum mcp_era era;
    /* What a stateless server has. The others say so in each session. */
    bool tools, resources, prompts;
};

/* MCP_ERA_UNKNOWN when nothing is kept about the URL, or what is kept is too old. `now_ns` is monotonic. */
struct mcp_known mcp_known_find(const char *url, uint64_t now_ns);
void mcp_known_keep(const char *url, struct mcp_known what, uint64_t now_ns);
void mcp_known_forget(const char *url);

/* From and to the "capabilities" of a server. The latter is a new reference. */
struct mcp_known mcp_known_stateless(const json_t *capabilities);
json_t *mcp_known_capabilities(struct mcp_known known);

#endif
