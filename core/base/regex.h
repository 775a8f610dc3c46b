#ifndef RUNNEL_CORE_BASE_REGEX_H
#define RUNNEL_CORE_BASE_REGEX_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"

/*
 * regex.h -- regular expressions as models write them, with limits on what a search may cost.
 *
 * PCRE2 does the work. The dialect is JavaScript's as far as PCRE2 has it: \d \w \b are ASCII,
 * \s is Unicode, and a backslash before a letter without a meaning is dropped.
 * What else PCRE2 knows ((?>...), (?P<name>...), [[:alpha:]], \p{...} without a u flag) is
 * accepted; settings at the start of a pattern, (*...), are not. Three things differ from
 * JavaScript: a group inside a repetition may keep its value of an earlier round, or of an empty
 * last one; lookbehind needs a known length; and CR LF is one line end.
 *
 * A pattern comes from a client or a model, so a scan has limits: steps (places tried and bytes
 * passed), processor time (for work that steps do not count), and memory.
 *
 * Text is UTF-8 and places are byte offsets. Scanning does not change a compiled pattern: any
 * thread may use it. A scan belongs to one thread.
 */

#define REGEX_PATTERN_LIMIT 2000 /* bytes */
#define REGEX_STEP_LIMIT    ((size_t)20000000)
#define REGEX_TIME_LIMIT_MS 2000
#define REGEX_HEAP_LIMIT_KB 32768

enum regex_flags {
    REGEX_IGNORE_CASE = 1 << 0, /* i */
    REGEX_MULTILINE = 1 << 1,   /* m: ^ and $ also at line ends */
    REGEX_DOT_ALL = 1 << 2,     /* s: . also matches a line end */
};

struct regex;
struct regex_scan;

/* Processor time that several scans may take together, such as all those of a run. Any thread. Every
 * holder releases once, and the last release frees. NULL is fine in both. */
struct regex_budget;
struct regex_budget *regex_budget_new(uint64_t ns);
struct regex_budget *regex_budget_hold(struct regex_budget *budget);
void regex_budget_release(struct regex_budget *budget);

/* ERR_INVALID with what is wrong and where, for the author of the pattern. */
enum err_code regex_compile(const char *pattern, size_t length, unsigned flags,
                            struct regex **ret_regex, struct err *err) MUST_CHECK;
void regex_free(struct regex *regex);

/* Groups of the pattern, the whole match included. */
unsigned regex_group_count(const struct regex *regex);

/* The number of a named group, or 0. */
unsigned regex_group_named(const struct regex *regex, const char *name, size_t length);

/* Where group i begins, at[2 * i], and ends, at[2 * i + 1]; REGEX_NOWHERE for a group that took
 * no part. Group 0 is the whole match. */
#define REGEX_NOWHERE SIZE_MAX
struct regex_match {
    const size_t *at;
};

/* Finds all matches of a text, one after the other. Borrows pattern and text until it is freed. `steps`
 * limits all searches of the scan together. */
struct regex_scan *regex_scan_new(const struct regex *regex, const char *text, size_t length,
                                  size_t steps);
void regex_scan_free(struct regex_scan *scan);

/* Limits the processor time of the rest of the scan to `ns`, or REGEX_TIME_LIMIT_MS if that is less. */
void regex_scan_hurry(struct regex_scan *scan, uint64_t ns);

/* What the scan takes from here to regex_scan_free() is taken from the budget, too, on this thread. The scan
 * holds it. NULL: none. */
void regex_scan_share(struct regex_scan *scan, struct regex_budget *budget);

/* The next match, valid until the next call. ERR_NOT_FOUND after the last one, without a text;
 * ERR_LIMIT when a limit is reached, its own or that of its budget. */
enum err_code regex_scan_next(struct regex_scan *scan, struct regex_match *ret_match,
                              struct err *err) MUST_CHECK;

#endif
