#ifndef RUNNEL_CORE_STORE_TABLES_APPROVALS_APPROVALS_H
#define RUNNEL_CORE_STORE_TABLES_APPROVALS_APPROVALS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/err.h"
#include "core/domain/rows.h"
#include "core/domain/tenant.h"
#include "core/store/store.h"

/*
 * approvals.h -- approvals: questions whether a tool may run, as rows.
 *
 * The write of the run that asks it stores a question (core/store/writer/writer.h). It is
 * answered once: the first answer decides it. The same answer again changes nothing; another
 * one is ERR_TAKEN (409). ERR_NOT_FOUND is "Approval request with id 'X' not found."
 */

/* The questions of a response, answered or not; without those that it has waited for itself. */
enum err_code store_approvals_of_run(struct store *store, const struct tenant *tenant,
                                     const char *run_id, struct approval_row **ret_rows,
                                     size_t *ret_count, struct err *err) MUST_CHECK;

/* The questions of a run with these ids. */
enum err_code store_approvals_named(struct store *store, const struct tenant *tenant,
                                    const char *run_id, const char *const *ids, size_t id_count,
                                    struct approval_row **ret_rows, size_t *ret_count,
                                    struct err *err) MUST_CHECK;

/* The questions with these ids that responses have left behind, answered or not. */
enum err_code store_approvals_left(struct store *store, const struct tenant *tenant,
                                   const char *const *ids, size_t id_count,
                                   struct approval_row **ret_rows, size_t *ret_count,
                                   struct err *err) MUST_CHECK;

/* The questions that responses of a conversation have left behind and no other has taken up.
 * Also those of `last_run`, the last response there, that a response has taken up which then
 * ended badly. */
enum err_code store_approvals_of_thread(struct store *store, const struct tenant *tenant,
                                        const char *thread_id, const char *last_run,
                                        struct approval_row **ret_rows, size_t *ret_count,
                                        struct err *err) MUST_CHECK;

struct approval_answer {
    const char *id; /* borrowed */
    bool approve;
    const char *reason; /* borrowed; NULL for none */
    bool lost; /* filled in: a response that ended badly, or was never stored, had it before, so
               * the tool may have run */
    /* It had been taken up when the question was read; otherwise a race is lost */
    bool seen_used;
};

/* The grants that are made with answers. Other questions that wait for a permission and are
 * covered by them are approved in the same transaction (approval_cover.h). */
struct approval_grants {
    struct grant_row *rows;
    size_t count;
};

/* Approves those questions of this stored run whose permission was granted meanwhile: by a
 * grant that was made after the run had looked for grants. */
enum err_code store_approvals_cover_run(struct store *store, const struct tenant *tenant,
                                        const char *run_id, struct err *err) MUST_CHECK;

/* For the keeper: of questions and grants of all projects, up to `limit` whose check against each other was lost,
 * longest first. */
enum err_code store_approvals_check_again(struct store *store, size_t limit, size_t *ret_count,
                                          struct err *err) MUST_CHECK;

/* Stores the answers and has the response take them up, in one transaction. ERR_TAKEN also if
 * another response has taken one up. A response that is stored takes them up when it is made:
 * see store_run_create(). */
enum err_code store_approvals_take(struct store *store, const struct tenant *tenant,
                                   const char *response_id, struct approval_answer *answers,
                                   size_t count, const struct approval_grants *grants,
                                   struct err *err) MUST_CHECK;

enum err_code store_approval_get(struct store *store, const struct tenant *tenant,
                                 const char *id, struct approval_row *ret_row,
                                 struct err *err) MUST_CHECK;
/* Those with this status; APPROVAL_STATUS_NONE: all. */
enum err_code store_approval_list(struct store *store, const struct tenant *tenant,
                                  enum approval_status status, const struct page *page,
                                  struct approval_row **ret_rows, size_t *ret_count,
                                  bool *ret_more, struct err *err) MUST_CHECK;

/* Answers the question of a response without taking it up: the next response does that.
 * Questions of a run of a thread are answered by store_run_decide(). */
enum err_code store_approval_decide(struct store *store, const struct tenant *tenant,
                                    const struct approval_answer *answer,
                                    const struct approval_grants *grants,
                                    struct approval_row *ret_row, struct err *err) MUST_CHECK;

#endif
