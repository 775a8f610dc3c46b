#ifndef RUNNEL_CORE_MCP_MCP_EXTRA_H
#define RUNNEL_CORE_MCP_MCP_EXTRA_H

#include <jansson.h>
#include <stdbool.h>

#include "core/base/err.h"

/*
 * mcp_extra.h -- resources and prompts of a server, as tools beside its own: list_resources,
 * read_resource, list_prompts, get_prompt.
 *
 * Each uses its own method of the protocol. The answer is converted to the form of a result of
 * tools/call, so the rest of the program sees an ordinary tool of the server.
 *
 * Pure functions: any thread.
 */

#define MCP_ENTRY_LIMIT  ((size_t)256)  /* of one list; "more" says that there are others */
#define MCP_ENTRIES_READ ((size_t)4096) /* of one page, invalid ones included */
#define MCP_ID_LIMIT     ((size_t)2048) /* bytes of a URI, or of a prompt's name */

/* A list that comes in pages, and the method that reads it. */
struct mcp_listing {
    const char *method;
    const char *key;                   /* of the list in a page */
    json_t *(*read)(const json_t *of); /* a valid entry, a new reference; NULL: leave it out */
    bool optional;                     /* a server need not have the method */
};

/* Adds the entries of a page to `gathered`, {"<key>": [...]}; sets "more": true when entries were left out.
 * ERR_UPSTREAM when the page has no such list, ERR_LIMIT when the list becomes too large. */
enum err_code mcp_listing_add(const struct mcp_listing *listing, json_t *gathered,
                              const json_t *page, struct err *err) MUST_CHECK;

struct mcp_extra {
    const char *name;
    const char *capability; /* of the server; also the key in a request */
    const char *method;
    /* Read one after another, up to one without a method; or NULL */
    const struct mcp_listing *listings;
    const char *description;
    const char *parameters;
    /* Makes a result of tools/call from the method's result, or from the gathered list. NULL when
     * the method's result is invalid. */
    json_t *(*result)(const json_t *given); /* new reference */
};

/* What a tool entry of a request wants beside its tools: its object `runnel`, {"resources": true, "prompts":
 * true, "rules": false}; or NULL. Borrowed. */
const json_t *mcp_extras_wanted(const json_t *entry);
bool mcp_extra_is_wanted(const json_t *wanted, const char *capability);

/* Adds those that are wanted, and of which the server is capable, to its tools (mcp_tools.h). A tool
 * of the server with the same name is kept instead. */
void mcp_extra_add(json_t *tools, const json_t *capabilities, const json_t *wanted);

/* The extra that a listed tool is; NULL: the server's own tool, or no longer wanted. */
const struct mcp_extra *mcp_extra_of(const json_t *tool, const json_t *wanted);

#endif
