#ifndef RUNNEL_CORE_STORE_TABLES_RUNS_RUNS_H
#define RUNNEL_CORE_STORE_TABLES_RUNS_RUNS_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/domain/rows.h"
#include "core/domain/tenant.h"
#include "core/store/store.h"
#include "core/store/tables/idempotency.h"

/*
 * runs.h -- runs and responses as rows: made, looked at, answered, cancelled.
 *
 * A run that is going on belongs to a node: its row in run_leases names the owner, a fence that
 * grows with every change of hands, and the time until which the owner may act. What the owner
 * writes goes through core/store/writer/writer.h with the fence as a condition. The functions here are
 * for everybody else, and for making a run.
 *
 * Lock order inside every transaction: thread row, lease row, run row, everything else.
 *
 * Error texts are those of the API (see each).
 */

/* A run with all that its loop needs to take it up. run_load_clear() releases. */
struct run_load {
    struct run_row run;
    int64_t fence;          /* ours; 0 for a run that is not stored */
    int64_t next_seq;       /* number of its next event */
    int64_t next_position;  /* of the next item in its thread, or in the run */
    struct item_row *items; /* what the model may see, oldest first: the thread's or the chain's
                             * items including this run's own; hidden items too */
    size_t item_count;
    struct step_row *steps; /* of this run, in_progress only */
    size_t step_count;
    struct call_row *calls; /* of this run's last turn */
    size_t call_count;
    /* Frames were logged after the last write that stored items, steps, calls or a status: what
     * they began, the log alone tells. */
    bool log_open;
};
void run_load_clear(struct run_load *load);

struct approval_answer;
struct approval_grants;

/* What makes a run of a thread. Everything is borrowed but for `run`, which is filled in
 * (id, config, created_at ...) by the caller and copied.
 *
 * A response in a conversation is made this way, too: the row of its run is what locks the
 * conversation. Its maker has loaded the context already (store_conversation_context()) and only
 * gets run and fence back; `messages` are its input items, which are the run's alone, with
 * positions from 0, until the write that ends it (see core/store/writer/writer.h). So is a response outside
 * of conversations that takes up answers: they are taken if, and only if, it is there. */
struct run_creation {
    const struct tenant *tenant;     /* whose project the run's row names */
    const struct run_row *run;       /* status queued, or in_progress; thread_id set */
    const struct thread_row *thread; /* a thread to make with it, or NULL */
    struct item_row *messages;       /* additional messages; position is filled in here */
    size_t message_count;
    int last_messages; /* context: only so many of the newest messages; 0: all up to the limit */
    size_t context_limit;                  /* items at most */
    const struct idempotency *idempotency; /* or NULL */
    int64_t seen_position; /* of a response: where its context ended. ERR_CONFLICT when the
                            * conversation has grown since */
    struct approval_answer *answers; /* that the response takes up; as store_approvals_take() */
    size_t answer_count;
    const struct approval_grants *grants; /* what is remembered of them; or NULL */
    const struct variable *variables;     /* that the thread has from then on */
    size_t variable_count;
};

/* Makes a run, leased to this node (fence 1), together with its messages and, if asked for, its
 * thread; returns it as claimed. ERR_NOT_FOUND "No thread found with id 'X'."; ERR_CONFLICT
 * "Thread X already has an active run Y." when one is not final. Of a request that is repeated
 * under its key, the run that it made is returned alone, with fence 0. */
enum err_code store_run_create(struct store *store, const struct run_creation *creation,
                               struct run_load *ret_load, struct err *err) MUST_CHECK;

/* The items of a response's chain: of `response_id` and its ancestors, oldest first; where it began
 * in a conversation, what lay there before.
 * ERR_INVALID, code previous_response_not_found, param previous_response_id:
 * "Previous response with id 'X' not found." also when it is not a stored response, not in this
 * project, or not final. `ret_thread` is its conversation, or "". */
enum err_code store_chain_load(struct store *store, const struct tenant *tenant,
                               const char *response_id, size_t context_limit,
                               struct item_row **ret_items, size_t *ret_count,
                               char ret_thread[ID_SIZE], struct err *err) MUST_CHECK;

/* One run. For Assistants `thread_id` must match (ERR_NOT_FOUND "No thread found with id 'X'." or
 * "No run found with id 'X'."); NULL for responses ("Response with id 'X' not found."). */
enum err_code store_run_get(struct store *store, const struct tenant *tenant,
                            const char *thread_id, const char *run_id, struct run_row *ret_run,
                            struct err *err) MUST_CHECK;

/* The items that a run was given or has made, by `input`, in order. Hidden ones are left out. */
enum err_code store_run_items(struct store *store, const struct tenant *tenant,
                              const char *run_id, bool input, const struct page *page,
                              struct item_row **ret_items, size_t *ret_count, bool *ret_more,
                              struct err *err) MUST_CHECK;

enum err_code store_run_list(struct store *store, const struct tenant *tenant,
                             const char *thread_id, const struct page *page,
                             struct run_row **ret_runs, size_t *ret_count, bool *ret_more,
                             struct err *err) MUST_CHECK;

/* Replaces the metadata (NULL: keeps it) and returns the row. */
enum err_code store_run_modify(struct store *store, const struct tenant *tenant,
                               const char *thread_id, const char *run_id, const char *metadata,
                               struct run_row *ret_run, struct err *err) MUST_CHECK;

/* One answer of the client to a call in requires_action. Borrowed. */
struct tool_answer {
    const char *call_id;
    const char *output;
    bool approve;       /* what the output says to a question */
    const char *reason; /* and why; NULL for none */
};

struct submission {
    const struct tenant *tenant;
    const char *thread_id;
    const char *run_id;
    const struct tool_answer *answers;
    size_t count;
    const struct approval_grants *grants;  /* what is remembered of them; or NULL */
    const unsigned char *hash;             /* 32 bytes, of the canonical answers */
    const struct idempotency *idempotency; /* or NULL */
    size_t context_limit;
};

/* Stores the answers, moves the run from requires_action to queued, leased to this node with a
 * new fence, and loads it, all in one transaction. A repeat is harmless: the same answers again,
 * after success, or the same request under its key, give ERR_OK with *ret_repeated set and only
 * ret_load->run and next_seq filled in: the first event that came of the submission.
 * ERR_CONFLICT: "Runs in status "X" do not accept tool outputs.";
 * ERR_INVALID: "Expected tool outputs for call_ids ['a', 'b'], got ['a']" unless the ids are exactly
 * the required ones (order does not matter); nothing is stored then. A question that was decided before
 * may be among them with the same answer; ERR_TAKEN with another. With the answers to questions these
 * are decided, and what is remembered is. */
enum err_code store_run_submit(struct store *store, const struct submission *submission,
                               struct run_load *ret_load, bool *ret_repeated,
                               struct err *err) MUST_CHECK;

/* Decides one question of a run in requires_action, as the only answer of a submission. When nothing
 * else is required, the run is moved and loaded as by store_run_submit(), and *ret_goes_on set;
 * otherwise the answer waits for the others, and only ret_load->run is filled in. Of the same answer
 * again only what is to be remembered counts; another one is ERR_TAKEN. */
enum err_code store_run_decide(struct store *store, const struct submission *submission,
                               struct run_load *ret_load, bool *ret_goes_on,
                               struct err *err) MUST_CHECK;

/* Where a cancelled run is now. */
enum cancel_outcome {
    CANCEL_OWNED_HERE, /* tell its loop */
    CANCEL_OWNED_AWAY, /* its owner learns of it from its next heartbeat, or a notification */
    CANCEL_CLAIMED,    /* nobody had it: it is ours now, loaded, to be ended by our loop */
};

/* Moves a run to cancelling and notes the wish. ERR_CONFLICT "Cannot cancel run with status 'X'."
 * for statuses other than queued, in_progress and requires_action. ret_load->run is always
 * filled in, with status cancelling; the rest only for CANCEL_CLAIMED. */
enum err_code store_run_cancel(struct store *store, const struct tenant *tenant,
                               const char *thread_id, const char *run_id, size_t context_limit,
                               enum cancel_outcome *ret_outcome, struct run_load *ret_load,
                               struct err *err) MUST_CHECK;

/* Steps. Each comes with the items that carry its id, oldest first. */
struct step_load {
    struct step_row step;
    struct item_row *items;
    size_t item_count;
};
void step_loads_free(struct step_load *loads, size_t count);

/* ERR_NOT_FOUND as store_run_get(), or "No run step found with id 'X'." */
enum err_code store_step_list(struct store *store, const struct tenant *tenant,
                              const char *thread_id, const char *run_id,
                              const struct page *page, struct step_load **ret_steps,
                              size_t *ret_count, bool *ret_more, struct err *err) MUST_CHECK;
enum err_code store_step_get(struct store *store, const struct tenant *tenant,
                             const char *thread_id, const char *run_id, const char *step_id,
                             struct step_load *ret_step, struct err *err) MUST_CHECK;

/* ---- The event log ---- */

/* Frames numbered >= first_seq, concatenated, at most about `limit` bytes; *ret_next is the number
 * that comes after them. A frame ends in an empty line and has no other. Empty when there is
 * nothing yet. The caller frees. */
enum err_code store_events_read(struct store *store, const struct tenant *tenant,
                                const char *run_id, int64_t first_seq, size_t limit,
                                char **ret_frames, size_t *ret_length, int64_t *ret_next,
                                struct err *err) MUST_CHECK;

/* Makes the partitions of today and tomorrow, drops those past retention. */
enum err_code store_events_maintain(struct store *store, double retention_seconds,
                                    struct err *err) MUST_CHECK;

#endif
