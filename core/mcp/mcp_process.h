#ifndef RUNNEL_CORE_MCP_MCP_PROCESS_H
#define RUNNEL_CORE_MCP_MCP_PROCESS_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/domain/tenant.h"
#include "core/mcp/mcp_exchange.h"
#include "core/mcp/mcp_named.h"
#include "core/net/loop.h"

/*
 * mcp_process.h -- MCP servers that are processes of the operator, and speak through their pipes (stdio).
 *
 *   session ── link ──┐                      ┌─ stdin
 *   session ── link ──┼─▶ process, on a loop ┼─ stdout, a message on a line
 *   session ── link ──┘                      └─ stderr, for the log
 *
 * A server has one process for each project, which is started at its first use and ends when no run has used it for a
 * while. Sessions of several runs, on several loops, share it: each has a link. The process sees one client, which
 * initializes it once; a link's own initialize is answered with what the process said then. Ids of requests and
 * progress tokens are the process's own, so two links cannot have the same.
 *
 * The process is a stranger. What it sends without being asked has a limit, a line has a limit, and so has what it does
 * not read. One that breaks them is ended. A process that has ended is started again with the next link, at most
 * MCP_PROCESS_STARTS times in MCP_PROCESS_STARTS_NS.
 *
 * How a process is started and confined is not known here: see `start`.
 */

#define MCP_PROCESS_STARTS    5
#define MCP_PROCESS_STARTS_NS ((uint64_t)600 * 1000000000)
#define MCP_PROCESS_BEGIN_NS \
    ((uint64_t)60 * 1000000000) /* from its start to its answer to initialize */
#define MCP_PROCESS_WANTED_NS ((uint64_t)30 * 1000000000) /* that a call waits for memory */
#define MCP_PROCESS_CALLS     256                /* requests of all links that it has at once */
#define MCP_PROCESS_UNASKED   ((size_t)64 << 20) /* bytes without an answer to anything */
#define MCP_PROCESS_GARBAGE   32 /* lines without an answer that are no messages */
#define MCP_PROCESS_UNREAD    ((size_t)16 << 20) /* bytes that wait for it to read them */

/* ---- The machinery below ---- */

/* A process that runs: the descriptors are taken, but for `ended`, and do not block. */
struct mcp_pipes {
    int input, output, errors;
    int ended;     /* can be read when it has ended; borrowed until `stop` */
    void *process; /* for `stop` */
};

/* An order to start one. Both members are borrowed until mcp_process_started(). */
struct mcp_start {
    const struct mcp_named *named;
    const struct tenant *tenant;
};

struct mcp_processes_options {
    size_t count;     /* processes at once; one more ends the one that is unused longest */
    uint64_t idle_ns; /* without a link, until it ends */
    /* Both are called on the loop of the processes, and do not wait. mcp_process_started() answers a start, from any
     * thread. `stop` kills what still runs. */
    void (*start)(void *arg, struct mcp_start *start);
    void (*stop)(void *arg, void *process);
    /* The same: a call of a tool goes to it. NULL: that is of no interest. */
    void (*called)(void *arg, void *process);
    void *arg;
};

/* `pipes` NULL: it could not be started, and `why` is a sentence without its subject, for clients. */
void mcp_process_started(struct mcp_start *start, const struct mcp_pipes *pipes,
                         const char *why);

struct mcp_processes;

enum err_code mcp_processes_new(const struct mcp_processes_options *options,
                                struct mcp_processes **ret_processes,
                                struct err *err) MUST_CHECK;
/* After the last link was closed. Stops what runs, and starts nothing any more. A start may still be
 * answered. NULL is fine. */
void mcp_processes_stop(struct mcp_processes *processes);
/* After that, when every start was answered; ends those. NULL is fine. */
void mcp_processes_free(struct mcp_processes *processes);

/* Ends the process that no link has had for the longest time: its memory is wanted. If all are used, the next one that
 * is not used ends. Such an end does not count among its starts. Any thread, until mcp_processes_stop(); does not
 * wait. */
void mcp_processes_reclaim(struct mcp_processes *processes);

/* Any thread. For the metrics. */
struct mcp_processes_counts {
    uint64_t running, started,
        ended; /* now; since the start; of these, without being asked to */
};
void mcp_processes_count(const struct mcp_processes *processes,
                         struct mcp_processes_counts *ret_counts);

/* ---- Links ---- */

struct mcp_link_options {
    const struct mcp_named *named; /* with a command; borrowed for ever */
    const struct tenant *tenant;   /* copied */
    struct loop *loop;             /* of the session, and of the callbacks */
    /* A message of the process to this link: borrowed. */
    void (*on_message)(void *arg, json_t *message);
    /* Called last, once, unless the link was closed: it is freed by then. */
    void (*on_end)(void *arg, const struct mcp_answer *why);
    void *arg;
};

struct mcp_link;

/* No callback comes before this has returned. On the loop of the session, as all of these. */
struct mcp_link *mcp_link_open(struct mcp_processes *processes,
                               const struct mcp_link_options *options);
/* A message, which is taken. */
void mcp_link_send(struct mcp_link *link, char *text);
/* What it has asked for is cancelled. No callback follows. NULL is fine. */
void mcp_link_close(struct mcp_link *link);

#endif
