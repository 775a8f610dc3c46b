#ifndef RUNNEL_CORE_TOOL_CALL_INTERNAL_H
#define RUNNEL_CORE_TOOL_CALL_INTERNAL_H

#include "core/domain/fair_queue.h"
#include "core/tool/channel.h"
#include "core/tool/executor.h"
#include "core/tool/seats.h"
#include "core/tool/tool.h"

/*
 * call_internal.h -- struct tool_call from inside: the half that the executor and the channel need.
 *
 * The executor's queue owns a call while it waits, and its worker owns it afterwards. Neither needs a lock
 * for its fields, except deadline_ns, which the worker writes under the executor's lock.
 */

struct tool_call {
    struct fair_job queued;
    struct seat seat; /* the executor's */
    const struct tool_handler *handler;
    struct tool_channel *channel; /* held */
    unsigned position;
    uint64_t deadline_ns; /* UINT64_MAX: none; set when a worker takes the call */
    char *id;
    struct tenant tenant; /* its user is `user` */
    char *run;
    char *thread;
    char *user;
    char *scope; /* of variables; "": none */
    struct variable_access variables;
    struct regex_budget *searches; /* held, or NULL */
    bool resolved;                 /* the arguments had references */
    const struct tool_finder *finder;
    const struct tool_web *web;
    const struct tool_desk *desk;
    size_t passage_tokens;
    const struct tool_containers *containers;
    struct tool_container *container; /* lent by them; NULL: not opened */
    char *past_container;             /* "": none */
    json_t *wanted_container;         /* null: none */
    bool keeps_files, stored;
    const struct tool_painter *painter;
    json_t *pictures; /* of the context, for an edit; an array */
    unsigned drawn;
    unsigned search;    /* its number among the searches of its context, or 0 */
    bool planning;      /* runs plan() instead of run() */
    json_t *permission; /* that plan() asks for; owned, or NULL */
    json_t *preview;    /* that plan() shows; owned, or NULL */
    json_t *args;
    json_t *config;
    json_t *files;
    json_t *context;
    json_t *skills;
};

struct tool_call *tool_call_new(const struct tool_call_spec *spec);
void tool_call_free(struct tool_call *call);

/* On a worker. True: it must have a seat in the box of call->container. What cannot be opened needs none: the handler
 * learns why when it tries. */
bool tool_call_needs_seat(struct tool_call *call);

/* On a worker. It is opened again when the call asks for it. `ran`: the call may have changed its files. */
void tool_call_close_container(struct tool_call *call, bool ran);
/* When the handler has returned: where its commands have gone becomes metadata, of the result if that has any. */
void tool_call_list_places(struct tool_call *call, struct tool_result *result);

/* On a worker: runs plan() or run() and puts the END. Does nothing when the call is over already. */
void tool_call_execute(struct tool_call *call);

/* When the call is late: the time that it has waited for room does not count. *ret_waits: it waits now, so the moment
 * moves on. */
uint64_t tool_call_due(const struct tool_call *call, bool *ret_waits);

/* Makes text for the model of the result's data, unless the result has text. */
void tool_result_format(struct tool_result *result, const struct tool_handler *handler,
                        const json_t *args);

/* Puts an END without a result. Of several ENDs of a call the first one counts. */
void tool_call_end_with(struct tool_channel *channel, unsigned position,
                        const struct err *error);

/* The error of a handler that took too long. */
void tool_call_timeout_error(const struct tool_handler *handler, struct err *ret_error);

#endif
