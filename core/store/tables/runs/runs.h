#ifndef RUNNEL_CORE_STORE_TABLES_RUNS_RUNS_H
#define RUNNEL_CORE_STORE_TABLES_RUNS_RUNS_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/domain/rows.h"
#include "core/domain/tenant.h"
#include "core/store/store.h"
#include "core/store/tables/idempotency.h"
#include "core/store/tables/vector_stores/vector_stores.h"

/*
 * runs.h -- runs and responses as rows: made, read, answered, cancelled.
 *
 * A run that is not final belongs to a node. Its row in run_leases names the owner, a fence
 * that grows with every change of owner, and the time until which the owner may act. The owner
 * writes through core/store/writer/writer.h, with the fence as a condition. The functions here
 * are for everything else, and for making a run.
 *
 * Lock order inside every transaction: thread row, lease row, run row, everything else.
 *
 * Error texts are those of the API (see each).
 */

/* A run with everything that its loop needs to take it up. Release with run_load_clear(). */
struct run_load {
    struct run_row run;
    int64_t fence;       /* this node's; 0 for a run that is not stored */
    int64_t lease_until; /* of the lease that came with it, for its proof (pg/commit.h); or 0 */
    int64_t next_seq;    /* number of its next event */
    int64_t next_position;  /* of the next item in its thread, or in the run */
    struct item_row *items; /* what the model may see, oldest first: the items of the thread or
                             * chain, this run's own included; hidden items too */
    size_t item_count;
    struct step_row *steps; /* of this run, in_progress only */
    size_t step_count;
    struct call_row *calls; /* of this run's last turn */
    size_t call_count;
    /* Frames were logged after the last write that stored items, steps, calls or a status. Only
     * the log says what those frames began. */
    bool log_open;
};
void run_load_clear(struct run_load *load);

struct approval_answer;
struct approval_grants;

/* A run to be made in a thread. Everything is borrowed except `run`, which the caller fills in
 * (id, config, created_at ...) and which is copied.
 * A response in a conversation is made this way, too: the row of its run locks the
 * conversation. Its maker has loaded the context already (store_conversation_context()) and
 * only gets the run and the fence back. `messages` are its input items. They belong to the run
 * alone, with positions from 0, until the write that ends it (core/store/writer/writer.h). A
 * response outside of conversations that takes up answers is also made this way: they are taken
 * up if and only if it is made. */
struct run_creation {
    const struct tenant *tenant;         /* has the project of the run's row */
    const struct run_row *run;           /* status queued, or in_progress; thread_id set */
    const struct thread_row *thread;     /* a thread to be made with it, or NULL */
    const struct store_filling *filling; /* for the thread's vector store, or NULL */
    const char *filled_id;               /* see THREAD_STORE_PLACE; NULL without `filling` */
    struct item_row *messages; /* additional messages; their positions are filled in */
    size_t message_count;
    int last_messages; /* only so many of the newest messages are the context; 0: all up to the
                        * limit */
    size_t context_limit;                  /* items at most, besides rules */
    const struct idempotency *idempotency; /* or NULL */
    int64_t seen_position; /* of a response: the end of its context. ERR_CONFLICT if the
                            * conversation has grown since */
    /* Taken up by the response, as by store_approvals_take() */
    struct approval_answer *answers;
    size_t answer_count;
    const struct approval_grants *grants; /* made with them; or NULL */
    const struct variable *variables;     /* the thread's from then on */
    size_t variable_count;
    /* Without its boot: it claims the run, as long as it lives. NULL or "": this node has it */
    const char *wanted_node;
};

/* Makes a run, leased to this node (fence 1), together with its messages and, if requested, its
 * thread. Returns it as if claimed. ERR_NOT_FOUND "No thread found with id 'X'."; ERR_CONFLICT
 * "Thread X already has an active run Y." if one is not final. If the request repeats another
 * under its key, only the run that the first one made is returned, with fence 0. So is a run that was
 * made for another node.
 *
 * With `filling` for a thread that is there, its files go into the thread's own vector store, and
 * `filled_id` is the store that the run's settings name. ERR_CONFLICT with the place THREAD_STORE_PLACE:
 * the thread has got another one since it was read, so the caller reads it again. */
enum err_code store_run_create(struct store *store, const struct run_creation *creation,
                               struct run_load *ret_load, struct err *err) MUST_CHECK;

/* The items of a response's chain: of `response_id` and its ancestors, oldest first. If the
 * chain began in a conversation, the items before it come first. ERR_INVALID, code
 * previous_response_not_found, param previous_response_id: "Previous response with id 'X' not
 * found." Also if it is not a stored response, not in this project, or not final. `ret_thread`
 * is its conversation, or "". Of a longer chain: the newest `context_limit` items, the rules before
 * them, and *ret_cut. */
enum err_code store_chain_load(struct store *store, const struct tenant *tenant,
                               const char *response_id, size_t context_limit,
                               struct item_row **ret_items, size_t *ret_count, bool *ret_cut,
                               char ret_thread[ID_SIZE], struct err *err) MUST_CHECK;

/* The newest link of a chain: the items of `response_id` alone, oldest first, and its parent's id, or "". False in
 * *ret_found where store_chain_load() would fail, and where a conversation has its items: then only that says what the
 * chain is. */
enum err_code store_chain_newest(struct store *store, const struct tenant *tenant,
                                 const char *response_id, bool *ret_found,
                                 char ret_parent[ID_SIZE], struct item_row **ret_items,
                                 size_t *ret_count, struct err *err) MUST_CHECK;

/* One run. For Assistants `thread_id` must match (ERR_NOT_FOUND "No thread found with id 'X'."
 * or "No run found with id 'X'."). NULL for responses ("Response with id 'X' not found."). */
enum err_code store_run_get(struct store *store, const struct tenant *tenant,
                            const char *thread_id, const char *run_id, struct run_row *ret_run,
                            struct err *err) MUST_CHECK;

/* The input of a run or the items that it made, by `input`, in order. Hidden ones are left out. */
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
    bool approve;       /* the answer in the output, if the call is a question */
    const char *reason; /* and its reason; NULL */
};

struct submission {
    const struct tenant *tenant;
    const char *thread_id;
    const char *run_id;
    const struct tool_answer *answers;
    size_t count;
    const struct approval_grants *grants;  /* made with them; or NULL */
    const unsigned char *hash;             /* 32 bytes, of the canonical answers */
    const struct idempotency *idempotency; /* or NULL */
    size_t context_limit;
};

/* Stores the answers, moves the run from requires_action to queued, leased to this node with a
 * new fence, and loads it, all in one transaction. A run whose container is on another node goes
 * there, and *ret_repeated is set. A repeat is harmless: after success, the same answers again, or
 * the same request under its key, give ERR_OK with *ret_repeated set. Then only ret_load->run and
 * next_seq are filled in: the first event that followed the submission.
 * ERR_CONFLICT: "Runs in status "X" do not accept tool outputs." ERR_INVALID: "Expected tool
 * outputs for call_ids ['a', 'b'], got ['a']" unless the ids are exactly the required ones, in
 * any order; then nothing is stored.
 * The answers to questions decide these, and their grants are made. A question that was decided
 * before may be among them with the same answer; ERR_TAKEN with another. */
enum err_code store_run_submit(struct store *store, const struct submission *submission,
                               struct run_load *ret_load, bool *ret_repeated,
                               struct err *err) MUST_CHECK;

/* Decides one question of a run in requires_action, as the only answer of a submission. If
 * nothing else is required, and no other node has its container, the run is moved and loaded as by
 * store_run_submit(), and *ret_continues is set. Otherwise the answer waits for the others, or that
 * node continues the run, and only ret_load->run is filled in. The same answer again changes nothing
 * but what is to be remembered. Another answer is ERR_TAKEN. */
enum err_code store_run_decide(struct store *store, const struct submission *submission,
                               struct run_load *ret_load, bool *ret_continues,
                               struct err *err) MUST_CHECK;

/* Where a run that is cancelled is now. */
enum cancel_outcome {
    CANCEL_OWNED_HERE, /* notify its loop */
    CANCEL_OWNED_AWAY, /* its owner notices at its next renewal, or by a hint */
    CANCEL_CLAIMED,    /* it had no owner: it is claimed and loaded, for a loop of this node to
                        * end */
};

/* Moves a run to cancelling. ERR_CONFLICT "Cannot cancel run with status 'X'." for statuses
 * other than queued, in_progress and requires_action. ret_load->run is always filled in, with
 * status cancelling; the rest only for CANCEL_CLAIMED. */
enum err_code store_run_cancel(struct store *store, const struct tenant *tenant,
                               const char *thread_id, const char *run_id, size_t context_limit,
                               enum cancel_outcome *ret_outcome, struct run_load *ret_load,
                               struct err *err) MUST_CHECK;

/* Claims a run in requires_action whose time is over, for a loop of this node to end. ret_load->run is
 * always filled in. The rest is only if the run was claimed: otherwise the fence is 0, and it has
 * ended, or another owner ends it. */
enum err_code store_run_claim_late(struct store *store, const struct tenant *tenant,
                                   const char *thread_id, const char *run_id,
                                   size_t context_limit, struct run_load *ret_load,
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

/* Frames with numbers >= first_seq, concatenated, about `limit` bytes at most. *ret_next is the
 * number after them. A frame ends in an empty line and has no other. Empty if there are no such
 * frames yet. The caller frees. */
enum err_code store_events_read(struct store *store, const struct tenant *tenant,
                                const char *run_id, int64_t first_seq, size_t limit,
                                char **ret_frames, size_t *ret_length, int64_t *ret_next,
                                struct err *err) MUST_CHECK;

/* Makes the partitions of today and tomorrow, and drops those past retention. */
enum err_code store_events_maintain(struct store *store, double retention_seconds,
                                    struct err *err) MUST_CHECK;

#endif
