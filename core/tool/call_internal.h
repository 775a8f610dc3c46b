#ifndef RUNNEL_CORE_TOOL_CALL_INTERNAL_H
#define RUNNEL_CORE_TOOL_CALL_INTERNAL_H

#include "core/tool/channel.h"
#include "core/tool/executor.h"
#include "core/tool/tool.h"

/*
 * call_internal.h -- one call of one handler: what tool.h shows of it, and what runs it.
 *
 * It belongs to the queue while it waits and to its worker afterwards.
 */

struct tool_call {
    struct tool_call *next; /* the queue's */
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
    bool resolved;
    bool planning;
    json_t *permission; /* that its plan asks for; or NULL */
    json_t *args;
    json_t *config;
    json_t *files;
    json_t *context;
    json_t *skills;
};

struct tool_call *tool_call_new(const struct tool_call_spec *spec);
void tool_call_free(struct tool_call *call);

/* Runs the handler, unless nobody wants the call any more, and puts the END. */
void tool_call_execute(struct tool_call *call);

/* Data becomes text, where there is none yet. */
void tool_result_format(struct tool_result *result, const struct tool_handler *handler,
                        const json_t *args);

/* Puts an END without a result. The first END of a call counts. */
void tool_call_end_with(struct tool_channel *channel, unsigned position,
                        const struct err *error);

/* The words for a handler that took too long. */
void tool_call_timeout_error(const struct tool_handler *handler, struct err *ret_error);

#endif
