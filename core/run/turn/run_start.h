#ifndef RUNNEL_CORE_RUN_TURN_RUN_START_H
#define RUNNEL_CORE_RUN_TURN_RUN_START_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/base/err.h"
#include "core/domain/rows.h"
#include "core/domain/run_settings.h"
#include "core/event/sink.h"
#include "core/store/tables/runs/runs.h"

/*
 * run_start.h -- what a run begins with, between the request or the store that it comes from and its
 * loop. Its maker owns it until engine_run(). Not shared: one thread at a time.
 */

struct past_text;
struct run;

/* Why a run comes to its loop. */
enum run_arrival {
    ARRIVAL_NEW, /* by store_run_create(), not stored yet (fence 0), or claimed and not begun */
    ARRIVAL_SUBMITTED, /* its client has answered: store_run_submit(), or claimed after that */
    ARRIVAL_CLAIMED,   /* taken over: store_runs_claim(), or a cancel that claimed it */
};

#define FILES_WAIT_SECONDS 60

/* What a run begins with. engine_run() and run_start_clear() take what is marked (taken). */
struct run_start {
    enum run_arrival arrival;
    /* (taken) The rows. Of a run that is not stored yet, `items` are its context, then its own input
     * items, with run_id and input set. */
    struct run_load load;
    /* (taken) Of a request that was just accepted. Zeroed: the run decodes them from its row. */
    struct run_settings settings;
    json_t *context; /* (taken) the request's context for handlers; NULL: it has none */
    json_t *secrets; /* (taken) tool_secrets_of() the request's tools; NULL: they have none */
    /* (taken) That came with the request. The run stores them with its first write. NULL: no variables
     * came. */
    struct variable *variables;
    size_t variable_count;
    struct variable_memory *memory; /* (taken) from run_start_admit_variables(); or NULL */
    /* Made with the run, whose stream announces it; copied */
    const struct thread_row *new_thread;
    struct past_text *past; /* (taken) what the first items are sent as; or NULL */
    struct sink *sink;      /* the first client; NULL: no client waits */
    bool without_model;     /* a response that only keeps its input: it completes at once */
    /* A vector store with files in progress: until engine_files_settled() the run stays queued, but at most
     * FILES_WAIT_SECONDS from its creation. "": it waits for none. */
    char awaited_store[ID_LIMIT + 1];
};

/* Releases a start that was not handed to engine_run(), except for its sink. */
void run_start_clear(struct run_start *start);

/* Moves the request's variables of a run that will not be stored into memory. Other runs are left
 * as they are. ERR_LIMIT (429): the project's memory for variables is used up. The caller then calls
 * run_start_clear(). */
enum err_code run_start_admit_variables(const struct tenant *tenant, struct run_start *start,
                                        struct err *err) MUST_CHECK;

/* Puts the variables of the start where the run keeps its own: into memory, or into its first write. Takes
 * them. On the run's loop. */
void run_open_variables(struct run *run, struct run_start *start);

#endif
