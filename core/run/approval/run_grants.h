#ifndef RUNNEL_CORE_RUN_APPROVAL_RUN_GRANTS_H
#define RUNNEL_CORE_RUN_APPROVAL_RUN_GRANTS_H

#include <jansson.h>
#include <stdbool.h>

#include "core/domain/permission.h"
#include "core/domain/rows.h"
#include "core/run/calls/stages.h"
#include "core/run/turn/run.h"

/*
 * run_grants.h -- remembered answers (grants) for the calls of a turn.
 *
 * Before any question is asked, the grants for all calls of the turn are looked up together. A
 * tool worker does that, because a loop does not wait for the store. If the lookup fails, no
 * grant counts, and the questions are asked.
 *
 * All functions are called on the run's loop; tool_use_definition() and the recall_ functions
 * are pure.
 */

/* What is looked up for one call, and what was found. A call has one if an answer about it
 * can be remembered (run_memory_policy()), or if its plan asks for a permission. */
struct recall {
    char tool[2 * ID_LIMIT + 160];        /* "group/tool" or "server label/tool" */
    char key[PERMISSION_KEY_SIZE];        /* permission_key() of the arguments */
    char definition[PERMISSION_KEY_SIZE]; /* hash of the tool's definition */
    bool itself; /* grants for the call itself count, not only those for its permission */
    bool said;   /* of these only grants that an answer requested */
    int64_t
        since; /* and of those that approve only such that were made since then: run_taint.h */
    json_t *permission; /* {"type", "patterns"} of the plan, until grants allow it; or NULL */

    /* Found. */
    char grant_id[ID_LIMIT + 1]; /* "": no grant */
    bool decided;                /* the call needs no question: see approve */
    bool approve;
    char *reason; /* of the remembered answer; or NULL */
};
void recall_free(struct recall *recall);

/* The hash of a tool's definition, SHA-256 in hexadecimal: name, description, schema and the
 * revision that its init() returns; of a remote tool also the URL of its server. An approval
 * counts for the tool with this hash only. */
void tool_use_definition(const struct tool_use *use, char ret_hash[PERMISSION_KEY_SIZE]);

/* The stage that looks up the grants of calls that are due. If grants allow every pattern of
 * a plan's permission, the plan no longer has one (call_permission()). */
enum stage_step run_recall_grants(struct run *run);

/* The values of `match` that an answer about the call may have: an array, new reference.
 * NULL if no answer is remembered. */
json_t *recall_matches(const struct recall *recall);

/* The memory of the question about the call (grant.h): JSON, the caller frees. NULL if no
 * answer is remembered. */
char *run_grant_memory(const struct run *run, const struct call *call);

/* `runnel.approval` of the call's item when a grant decided it: a new reference; or NULL. */
json_t *recall_note(const struct recall *recall);

#endif
