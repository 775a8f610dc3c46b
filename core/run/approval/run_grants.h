#ifndef RUNNEL_CORE_RUN_APPROVAL_RUN_GRANTS_H
#define RUNNEL_CORE_RUN_APPROVAL_RUN_GRANTS_H

#include <jansson.h>
#include <stdbool.h>

#include "core/domain/permission.h"
#include "core/domain/rows.h"
#include "core/run/calls/stages.h"
#include "core/run/turn/run.h"

/*
 * run_grants.h -- answers that are remembered, and the calls of a turn; on the run's loop.
 *
 * A loop does not wait for the store: which calls somebody has answered for before is looked up
 * by a tool worker, for all calls of the turn at once, after their arguments are known and
 * before anybody is asked. When it cannot be looked up, nothing is remembered and the question
 * is asked.
 */

/* A call whose answer may be remembered (run_memory_policy()), or what its plan asks for. */
struct recall {
    char tool[2 * ID_LIMIT + 160];        /* "group/tool" or "server label/tool" */
    char key[PERMISSION_KEY_SIZE];        /* of the arguments */
    char definition[PERMISSION_KEY_SIZE]; /* of the tool */
    bool itself;                          /* answers about the call itself are remembered */
    bool said;                            /* of those only what somebody asked for counts */
    json_t *permission;          /* {"type", "patterns"} that nobody has allowed yet; or NULL */
    char grant_id[ID_LIMIT + 1]; /* of what is remembered, or "" */
    bool decided;                /* nobody is asked any more */
    bool approve;
    char *reason;
};
void recall_free(struct recall *recall);

/* SHA-256 over what a tool is: its name, description and schema, and the revision that its
 * init() names; of a remote server's also where that is. An approval counts for no other. */
void tool_use_definition(const struct tool_use *use, char ret_hash[PERMISSION_KEY_SIZE]);

/* The stage that looks up what is remembered of calls that are due. What a plan asks for is no
 * longer asked for (call_permission()) when every pattern of it was allowed. */
enum stage_step run_recall_grants(struct run *run);

/* By which matches an answer about the call may be remembered; NULL for none. New reference. */
json_t *recall_matches(const struct recall *recall);

/* What an answer about the call may be remembered by (grant.h), as JSON; NULL for nothing. */
char *run_grant_memory(const struct run *run, const struct call *call);

/* What its item says when an answer was remembered; NULL when none was. New reference. */
json_t *recall_note(const struct recall *recall);

#endif
