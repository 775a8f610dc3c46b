/*
 * mcp_known.c -- a ring of entries, searched from end to end.
 *
 * A search compares at most MCP_KNOWN_LIMIT hashes, some microseconds, and happens once for a session, which
 * costs a request over the network. A hash table would need a rule for removing from the middle and would
 * gain nothing. The hash is SHA-256, so nobody can make two URLs share an entry.
 */

#include "core/mcp/mcp_known.h"

#include <string.h>

#include "core/base/json.h"
#include "core/base/lock.h"
#include "core/base/sha256.h"

struct entry {
    uint8_t url[SHA256_DIGEST_SIZE];
    struct mcp_known what; /* MCP_ERA_UNKNOWN: the entry is free */
    uint64_t kept_ns;
};

static struct lock lock = {.mutex = PTHREAD_MUTEX_INITIALIZER, .rank = LOCK_MCP_KNOWN};
static struct entry entries[MCP_KNOWN_LIMIT]; /* guarded by lock */
static size_t next; /* the place that is filled next; guarded by lock */

static struct entry *find_locked(const uint8_t url[SHA256_DIGEST_SIZE]) REQUIRES(lock)
{
    for (size_t i = 0; i < MCP_KNOWN_LIMIT; i++) {
        if (entries[i].what.era && memcmp(entries[i].url, url, SHA256_DIGEST_SIZE) == 0)
            return &entries[i];
    }
    return NULL;
}

struct mcp_known mcp_known_find(const char *url, uint64_t now_ns)
{
    struct mcp_known found = {0};
    uint8_t hash[SHA256_DIGEST_SIZE];
    struct entry *entry;

    sha256_text(url, hash);
    lock_acquire(&lock);
    entry = find_locked(hash);
    if (entry && now_ns - entry->kept_ns > MCP_KNOWN_NS)
        *entry = (struct entry){0};
    else if (entry)
        found = entry->what;
    lock_release(&lock);
    return found;
}

/* Knowing a server again does not make its entry younger: once in MCP_KNOWN_NS it is asked again. */
void mcp_known_keep(const char *url, struct mcp_known what, uint64_t now_ns)
{
    uint8_t hash[SHA256_DIGEST_SIZE];
    struct entry *entry;

    sha256_text(url, hash);
    lock_acquire(&lock);
    entry = find_locked(hash);
    if (entry) {
        entry->what = what;
    } else {
        entry = &entries[next];
        next = (next + 1) % MCP_KNOWN_LIMIT;
        *entry = (struct entry){.what = what, .kept_ns = now_ns};
        memcpy(entry->url, hash, sizeof(hash));
    }
    lock_release(&lock);
}

void mcp_known_forget(const char *url)
{
    uint8_t hash[SHA256_DIGEST_SIZE];
    struct entry *entry;

    sha256_text(url, hash);
    lock_acquire(&lock);
    entry = find_locked(hash);
    if (entry)
        *entry = (struct entry){0};
    lock_release(&lock);
}

struct mcp_known mcp_known_stateless(const json_t *capabilities)
{
    return (struct mcp_known){.era = MCP_ERA_STATELESS,
                              .tools = json_object_get(capabilities, "tools"),
                              .resources = json_object_get(capabilities, "resources"),
                              .prompts = json_object_get(capabilities, "prompts")};
}

json_t *mcp_known_capabilities(struct mcp_known known)
{
    json_t *capabilities = json_object();

    if (known.tools)
        json_set(capabilities, "tools", json_object());
    if (known.resources)
        json_set(capabilities, "resources", json_object());
    if (known.prompts)
        json_set(capabilities, "prompts", json_object());
    return capabilities;
}
