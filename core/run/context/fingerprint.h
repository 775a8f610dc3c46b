#ifndef RUNNEL_CORE_RUN_CONTEXT_FINGERPRINT_H
#define RUNNEL_CORE_RUN_CONTEXT_FINGERPRINT_H

#include <stdint.h>

#include "core/base/err.h"
#include "core/base/ids.h"
#include "core/base/seal.h"
#include "core/domain/program.h"
#include "core/domain/tenant.h"

/*
 * fingerprint.h -- what a program needs to repeat itself, beside its code and the outputs of its calls.
 *
 * The item of a program has it as `fingerprint`, sealed for its project together with a hash of the code. A client that
 * keeps its history sends it back, and any server continues the program. It cannot choose the random numbers of a
 * program, or continue one whose code it has changed.
 *
 * The ids of the calls that a program makes follow from it, too. So a call is known by its id, in whatever form it
 * comes back.
 *
 * Pure functions, but for fingerprint_make(), which asks the kernel for bytes and the clock for the time.
 */

struct fingerprint {
    char seed[PROGRAM_SEED_DIGITS + 1];
    int64_t now_ms;
};

void fingerprint_make(struct fingerprint *ret_print);

/* The caller frees. */
char *fingerprint_seal(const struct seal *seal, const struct tenant *tenant,
                       const struct fingerprint *print, const char *code);

/* ERR_INVALID, without details: it was made elsewhere, altered, or is of other code. */
enum err_code fingerprint_open(const struct seal *seal, const struct tenant *tenant,
                               const char *sealed, const char *code,
                               struct fingerprint *ret_print, struct err *err) MUST_CHECK;

/* The id of the program's call of that number, from 0. */
void fingerprint_call_id(const struct fingerprint *print, unsigned number,
                         char ret_id[ID_SIZE]);

#endif
