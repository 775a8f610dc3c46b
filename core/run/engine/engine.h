#ifndef RUNNEL_CORE_RUN_ENGINE_ENGINE_H
#define RUNNEL_CORE_RUN_ENGINE_ENGINE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/base/seal.h"
#include "core/domain/run_settings.h"
#include "core/event/sink.h"
#include "core/model/model.h"
#include "core/net/egress.h"
#include "core/net/loop.h"
#include "core/run/context/context.h"
#include "core/run/engine/slots.h"
#include "core/run/turn/face.h"
#include "core/store/store.h"
#include "core/store/tables/runs/runs.h"
#include "core/tool/executor.h"

/*
 * engine.h -- the run loops, and how the rest of the server talks to runs.
 *
 * A run belongs to one loop, chosen by its id, for as long as it is in memory. Every function
 * here may be called from any thread: it sends a message to that loop and returns. Nobody
 * outside core/run touches a struct run.
 */

struct approval_webhook;
struct before_send;
struct engine;
struct log_reader;

struct engine_options {
    struct store *store;
    struct log_reader *log_reader; /* for followers */
    struct tool_executor *executor;
    const struct face *assistants; /* the two faces */
    const struct face *responses;
    const struct permission_set *permissions; /* the operator's; NULL for none */
    const struct seal *seal;                  /* for what clients carry */
    struct before_send *before_send;          /* sees all requests to models; NULL for none */
    const struct model_upstream *upstreams;   /* fixed at start */
    size_t upstream_count;
    unsigned loops;                     /* 0: as many as there are cores */
    double response_timeout_seconds;    /* until a response that still runs has failed */
    unsigned round_limit;               /* model turns in a row without the client; 10 when 0 */
    unsigned call_limit;                /* calls of a run that are executed here; 0: none */
    enum run_history history;           /* where the request says nothing */
    size_t context_limit;               /* items a run may load; 2000 when 0 */
    size_t byte_limit;                  /* of the texts that all runs have loaded; 0: none */
    struct slots_limits slots;          /* runs at work at once; beyond: in line */
    struct tenant_limits tenant_limits; /* what every project may use */
    const struct egress_rules
        *egress; /* where remote MCP servers may be; outlives the engine */
    const struct approval_webhook *webhooks; /* outlive the engine, as the rules */
    size_t webhook_count;
    double notice_seconds;       /* between two words of a response that waits; 0: 15 */
    double tool_timeout_seconds; /* of a call of one of them; 0: none */
};

struct engine *engine_new(const struct engine_options *options);
enum err_code engine_start(struct engine *engine, struct err *err) MUST_CHECK;

/* After every run has ended or was released: ends the loops and joins them. */
void engine_stop(struct engine *engine);
void engine_free(struct engine *engine);

/* The loop of a run; for work that has no run, any loop in turn. */
struct loop *engine_loop(struct engine *engine, const char *run_id);
struct loop *engine_any_loop(struct engine *engine);

size_t engine_context_limit(const struct engine *engine);

/* Whom the tenant's runs can tell that they ask; NULL for nobody. */
const struct approval_webhook *engine_webhook(const struct engine *engine,
                                              const struct tenant *tenant);

/* May one more run come? ERR_LIMIT (429) when the line of those that wait is full or what they have
 * loaded is too much, ERR_STORE (503) when the server is ending. */
enum err_code engine_admit(struct engine *engine, struct err *err) MUST_CHECK;

/* Of a run that is not stored the variables that come along stay in memory, which has its limits:
 * ERR_LIMIT (429). The start is to be cleared then. */
struct run_start;
enum err_code engine_admit_variables(const struct tenant *tenant, struct run_start *start,
                                     struct err *err) MUST_CHECK;

/* How a run comes to its loop. */
enum run_arrival {
    ARRIVAL_NEW, /* just made: by store_run_create(), or, with fence 0, not in the store yet */
    ARRIVAL_SUBMITTED, /* its client has answered: store_run_submit() */
    ARRIVAL_CLAIMED,   /* taken over: store_runs_claim() or a cancel that claimed it */
};

struct run_start {
    enum run_arrival arrival;
    struct run_load load; /* taken; load.items of a run that is not stored yet: its context,
                                * then its own input items (run_id set, input) */
    struct run_settings
        settings;    /* of a request that was just accepted, taken; zeroed: they are
                                   * loaded from the row */
    json_t *context; /* request context for handlers, taken; NULL for none */
    json_t *secrets; /* tool_secrets_of() the request's tools, taken; NULL for none */
    struct variable
        *variables; /* that came with the request, taken: of a run that is not in the store
                                 * yet, or never will be; NULL for none */
    size_t variable_count;
    struct variable_memory
        *memory; /* engine_admit_variables() has put them there; held, or NULL */
    const struct thread_row
        *new_thread;    /* made together with the run: announced by its stream; copied */
    struct sink *sink;  /* who listens; NULL for nobody */
    bool without_model; /* a response that only keeps its input: it is complete at once */
};

/* Hands a run to its loop. Takes what *start owns, and the sink. */
void engine_run(struct engine *engine, struct run_start *start);

/* Of one that is not handed over. */
void run_start_clear(struct run_start *start);

/* Asks a run to stop; nothing happens when it is not here. */
void engine_cancel(struct engine *engine, const char *run_id);

/* An answer to a question of the run was stored, perhaps: if it waits for that, it looks. False when it is
 * not here. */
bool engine_look(struct engine *engine, const char *run_id);

/* Why those are woken who wait for a run. */
enum engine_woken {
    WOKEN_ARRIVED, /* it has come to its loop here; or there is nothing to wait for any more */
    WOKEN_MORE,    /* it is elsewhere: its owner says that there is more in its log */
    WOKEN_MOVED,   /* it is elsewhere, and may have another owner by now */
};

/* Another node has said so. */
void engine_wake(struct engine *engine, const char *run_id, enum engine_woken why);
void engine_wake_all(struct engine *engine, enum engine_woken why);

/* On another node somebody follows a run that is here: that node is told when there is more. */
void engine_followed_at(struct engine *engine, const char *run_id, const char *node);

/* On the run's own loop: somebody has more to say. The run tells so, and at its next turn boundary,
 * should there be one, it ends as incomplete, so that what was said can be gone on with. False when
 * it is not here or has come to its end. */
bool engine_steer(struct engine *engine, const char *run_id, const char *steer_id);

/* ---- The keeper and the end of the server ---- */

struct engine_lease {
    char run_id[ID_SIZE];
    int64_t fence;
};

/* The leases held here, for renewal. The caller frees. */
size_t engine_leases(struct engine *engine, struct engine_lease **ret_leases);

/* The runs here that wait for answers. The caller frees. */
struct engine_holder {
    char project[ID_SIZE];
    char run_id[ID_SIZE];
};
size_t engine_holding(struct engine *engine, struct engine_holder **ret_holders);

/* A lease was lost: the run is dropped here without another word; unless it has been given back
 * meanwhile, or has come again under another fence. */
void engine_lease_lost(struct engine *engine, const struct engine_lease *lease);

/* No new runs; those that can be taken up by another node are released at their next step
 * boundary. Foreground runs go on. */
void engine_drain(struct engine *engine);

/* Ends everything that still runs, now: foreground as failed, the others released. */
void engine_abandon(struct engine *engine);

struct engine_stats {
    size_t live;      /* runs in memory */
    size_t bytes;     /* of the texts they came with */
    uint64_t started; /* since start */
    uint64_t ended;
    uint64_t failed;
};
void engine_stats(struct engine *engine, struct engine_stats *ret_stats);

/* Waits until no run is left, at most until the monotonic time. True when none is. */
bool engine_wait_idle(struct engine *engine, uint64_t deadline_ns);

#endif
