#ifndef RUNNEL_CORE_TOOL_EXECUTOR_H
#define RUNNEL_CORE_TOOL_EXECUTOR_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/clock.h"
#include "core/base/err.h"
#include "core/tool/channel.h"
#include "core/tool/tool.h"
#include "core/tool/tool_container.h"

/*
 * executor.h -- the threads that run tools, several calls of several runs at once.
 *
 * A pool of workers takes calls from one queue, which is shared fairly by project and by run
 * (fair_queue.h): a project with a thousand calls does not delay one with a single call. A worker runs one call to its
 * end and puts its END into the call's channel. A worker may wait for room in a channel; the loop that empties the
 * channel never waits for a worker. So the pool cannot deadlock.
 *
 * A call with TOOL_TAKES_SEAT that finds the box of its container busy leaves its worker and waits in the line of that
 * container (seats.h). When it has a seat, it is in the queue again. At most SEATS_LINE_LIMIT wait in a line; a call
 * beyond them ends with ERR_LIMIT.
 *
 * Time: the deadline of a call counts from the start of its handler, not from its submission. The time that
 * it waits for room in the channel does not count: another call may have the floor. Handlers check the deadline
 * with tool_call_cancelled(). If a handler ignores it, the executor's timekeeper puts the END (ERR_TIMEOUT), and
 * later output of the handler is dropped. If the handler does not return for another EXECUTOR_GRACE_NS, its worker is
 * replaced; at most EXECUTOR_STRAY_LIMIT such threads are kept. A call whose channel is closed counts as late as soon
 * as other calls wait for a worker.
 */

#define EXECUTOR_CALLS_LIMIT 4096          /* of a project that may wait */
#define EXECUTOR_STRAY_LIMIT 64            /* threads that are stuck in a handler */
#define EXECUTOR_GRACE_NS    NS_PER_SECOND /* from the END of a late call to a new worker */
#define EXECUTOR_IDLE_NS     (60 * NS_PER_SECOND) /* without a call, then a worker ends */

struct tool_executor;
struct tool_painter;

/* `workers` is the most that run at once, but for those that are stuck. They start as calls need them, and end when
 * they are idle.
 * `default_timeout_seconds` is for handlers without a timeout of their own; 0 means no deadline. */
struct tool_executor *tool_executor_new(unsigned workers, double default_timeout_seconds);

/* Before the start, for tools that take minutes: no project has all workers (fair_queue.h, FAIR_QUEUE_PART). */
void tool_executor_share(struct tool_executor *executor);

/* Before the start, for tests: instead of EXECUTOR_IDLE_NS. */
void tool_executor_idle(struct tool_executor *executor, uint64_t idle_ns);

/* Calls that were submitted before run now, and need threads. ERR_INTERNAL when one cannot be started; then none
 * runs. */
enum err_code tool_executor_start(struct tool_executor *executor, struct err *err) MUST_CHECK;

/* Ends waiting calls with ERR_CANCELLED, lets running calls end, and joins the workers. The owners of the
 * channels close them first, so that running calls end soon. Workers that are still in a handler after
 * `patience_ns` are detached. Calls that are submitted later end at once with ERR_CANCELLED. */
void tool_executor_stop(struct tool_executor *executor, uint64_t patience_ns);

/* After tool_executor_stop(), or when it never started. Detached workers keep the memory until they
 * return. */
void tool_executor_free(struct tool_executor *executor);

/* What tool_call_find() calls. Any worker, several at a time. It asks tool_call_cancelled(call). */
struct tool_finder {
    enum err_code (*find)(void *arg, const struct tool_call *call, const struct tenant *tenant,
                          const json_t *query, json_t **ret_found, struct err *err);
    void *arg;
    size_t passage_tokens; /* of one search, at most */
};

/* What tool_call_search_web() calls. Any worker, several at a time. It may wait with tool_call_wait(call). */
struct tool_web {
    enum err_code (*search)(void *arg, struct tool_call *call, const json_t *query,
                            json_t **ret_found, struct err *err);
    /* What tool_call_page() calls. The same; it may wait for tool_call_cancel_fd(call) */
    enum err_code (*page)(void *arg, const struct tool_call *call, const json_t *query,
                          json_t **ret_page, struct err *err);
    /* What tool_call_web_result() calls */
    char *(*result)(void *arg, const struct tool_call *call, size_t number);
    void *arg;
};

/* What tool_call_list_files() and its neighbours call. Any worker, several at a time. */
struct tool_desk {
    enum err_code (*list)(void *arg, const struct tenant *tenant, const json_t *query,
                          json_t **ret_page, struct err *err);
    enum err_code (*read)(void *arg, const struct tenant *tenant, const char *id,
                          size_t first_page, tool_take_fn *take, void *take_arg,
                          struct tool_file *ret_file, struct err *err);
    enum err_code (*load)(void *arg, const struct tenant *tenant, const char *id, size_t limit,
                          struct tool_text *ret_text, struct err *err);
    enum err_code (*change)(void *arg, const struct tenant *tenant,
                            const struct tool_text *read, const char *bytes, size_t length,
                            struct err *err);
    enum err_code (*make)(void *arg, const struct tenant *tenant, const char *name,
                          const char *vector_store_id, const char *bytes, size_t length,
                          struct tool_file *ret_file, struct err *err);
    void *arg;
};

/* What the functions of tool_container.h call. Any worker, several at a time. */
struct tool_containers {
    unsigned at_once; /* calls in the box of one container, at least 1 (seats.h) */
    enum err_code (*open)(void *arg, const struct tool_call *call,
                          struct tool_container **ret_container, struct err *err);
    enum err_code (*box)(void *arg, const struct tool_call *call,
                         struct tool_container *container, struct box **ret_box,
                         struct err *err);
    enum err_code (*own_box)(void *arg, const struct tool_call *call,
                             struct tool_container *container, const struct tool_own_box *how,
                             struct box **ret_box, struct err *err);
    enum err_code (*bare)(void *arg, const struct tool_call *call, uint64_t memory,
                          struct box_run *run, struct box_result *ret_result, struct err *err);
    enum err_code (*python)(void *arg, const struct tool_call *call,
                            struct tool_container *container, const char *code,
                            struct tool_run *ret_ran, struct err *err);
    enum err_code (*note)(void *arg, const struct tool_call *call,
                          struct tool_container *container, struct tool_run *ret_ran,
                          struct err *err);
    /* Where the call's commands have gone through the network, when they have ended: an array, or NULL. */
    json_t *(*places)(void *arg, struct tool_container *container);
    /* `ran`: the call may have changed its files. */
    void (*close)(void *arg, struct tool_container *container, bool ran);
    void *arg;
};

/* Everything that one call needs. Strings and JSON are copied: no tree is shared by two threads. */
struct tool_call_spec {
    const struct tool_handler *handler;
    struct tool_channel *channel; /* held by the call until its end */
    unsigned position;            /* of the call in the channel, from 0 */
    const char *call_id;
    const struct tenant *tenant; /* copied, its user too; NULL: an empty one */
    const char *run;
    const char *thread;
    const json_t *args;    /* object */
    const json_t *config;  /* object */
    const json_t *files;   /* array of strings */
    const json_t *context; /* object; NULL: an empty one */
    const json_t *skills;  /* array: skill.h */
    /* Without scope and memory: no variables. Memory is held; the store outlives the executor */
    struct variable_access variables;
    /* Of the run, for tool_call_searches(); held; NULL: no limit */
    struct regex_budget *searches;
    bool resolved;                    /* the arguments had references */
    unsigned search;                  /* for tool_call_search() */
    const struct tool_finder *finder; /* outlives the executor; NULL: nothing can be found */
    const struct tool_desk *desk;     /* outlives the executor; NULL: there are no files */
    const struct tool_web *web;       /* outlives the executor; NULL: the web is not searched */
    size_t passage_tokens;            /* for tool_call_passage_tokens() */
    const struct tool_containers
        *containers;                    /* outlives the executor; NULL: nothing is executed */
    const char *past_container;         /* for tool_call_past_container(), or NULL */
    const json_t *wanted_container;     /* for tool_call_wanted_container(), or NULL */
    bool keeps_files;                   /* for tool_call_keeps_files() */
    bool stored;                        /* for tool_call_is_stored() */
    const struct tool_painter *painter; /* outlives the executor; NULL: nothing is drawn */
    const json_t *pictures;             /* for tool_call_pictures(); NULL: none */
    unsigned drawn;                     /* for tool_call_drawn() */
    /* Run plan() only; {"permission", "preview"}, each if there is one, come as the stage "planned" */
    bool planning;
};

/* Any thread. Never blocks. The call ends at once, with ERR_LIMIT, when EXECUTOR_CALLS_LIMIT calls of its project
 * wait already. */
void tool_executor_submit(struct tool_executor *executor, const struct tool_call_spec *spec);

#endif
