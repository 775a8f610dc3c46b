#ifndef RUNNEL_CORE_MCP_MCP_EXTRA_H
#define RUNNEL_CORE_MCP_MCP_EXTRA_H

#include <jansson.h>
#include <stdbool.h>

#include "core/base/err.h"

/*
 * mcp_extra.h -- resources and prompts of a server, as tools beside its own: list_resources,
 * read_resource, list_prompts, get_prompt.
 *
 * Each is asked for by a method of its own, and what comes back is made what tools/call would have
 * given: to everybody else it is a tool of the server like all others.
 *
 * Pure functions: any thread.
 */

#define MCP_ENTRY_LIMIT  ((size_t)256)  /* of one list: what is beyond is said to be there */
#define MCP_ENTRIES_READ ((size_t)4096) /* of one page, those that are none included */
#define MCP_ID_LIMIT     ((size_t)2048) /* bytes of a URI, or of a prompt's name */

/* A list that comes in pages, as its method gives it. */
struct mcp_listing {
    const char *method;
    const char *key;                   /* of the list in a page */
    json_t *(*read)(const json_t *of); /* one of it, made fit; NULL: it is left out */
    bool optional;                     /* a server need not have the method */
};

/* Adds a page to {"<key>": [...]}. "more": true says that the rest was left out. ERR_UPSTREAM when
 * the page is none, ERR_LIMIT when it is all too large. */
enum err_code mcp_listing_add(const struct mcp_listing *listing, json_t *gathered,
                              const json_t *page, struct err *err) MUST_CHECK;

struct mcp_extra {
    const char *name;
    const char *wish; /* the capability, and the key of a request */
    const char *method;
    const struct mcp_listing
        *listings; /* asked one after another, up to one without a method; or NULL */
    const char *description;
    const char *parameters;
    /* A result of tools/call from that of the method, or from what was gathered. NULL: it is none. */
    json_t *(*result)(const json_t *given);
};

/* What a tool's entry of a request wants of them: its object `runnel`, {"resources": true, "prompts":
 * true}; or NULL. Borrowed. */
const json_t *mcp_extra_wishes(const json_t *entry);
bool mcp_extra_is_wanted(const json_t *wishes, const char *wish);

/* Adds those that are wanted, of a server that is capable of them, to its tools (mcp_tools.h). A tool
 * of the server's own of that name stays what it is. */
void mcp_extra_add(json_t *tools, const json_t *capabilities, const json_t *wishes);

/* Which of them a listed tool is; NULL: the server's own, or not wanted any more. */
const struct mcp_extra *mcp_extra_of(const json_t *tool, const json_t *wishes);

#endif
