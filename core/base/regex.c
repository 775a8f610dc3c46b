/*
 * regex.c -- JavaScript's patterns on PCRE2, with a budget.
 *
 *   pattern ─▶ add_item(): JavaScript's dialect becomes PCRE2's ─▶ pcre2_compile()
 *   text    ─▶ regex_scan_next(), with a callout before each item of the pattern ─▶ matches
 *
 * Models write patterns as in JavaScript, and so do JSON Schemas. PCRE2 differs in few places, and those
 * are translated item by item. Positions in error messages are counted back to the pattern as it was
 * written.
 *
 * A pattern of a stranger can take exponential time. PCRE2's own match limit bounds the work at one
 * starting place, not of the whole search: a cheap failure at each of a million places is not noticed, nor
 * is a long repetition that is one step for PCRE2. So every pattern is compiled with callouts before its
 * items, and the callouts count steps and, once in CALLOUTS_A_CLOCK, look at the clock of the thread. That
 * makes matching slower, which does not matter at the sizes that the limits allow.
 *
 * An engine without backtracking (RE2) would need no budget, but has neither lookaround nor
 * backreferences, which JavaScript has.
 */

#include "core/base/regex.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "core/base/buf.h"
#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/base/utf8.h"

#define DEPTH_LIMIT      100     /* groups inside groups */
#define BACK_LIMIT       1000000 /* PCRE2's depth limit: places to backtrack to */
#define CALLOUTS_A_CLOCK 32

struct regex {
    pcre2_code *code;
    unsigned groups;
};

/* ---- from JavaScript's dialect to PCRE2's ---- */

static bool is_kind(char letter)
{
    return letter && strchr("dDwWsS", letter);
}

static bool is_letter(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

/* Translates an escape: `letter` follows the backslash, `next` follows the letter. A \c without a
 * letter is a backslash. */
static void add_escape(struct buf *out, char letter, char next)
{
    if (letter == 's')
        buf_add_text(out, "\\p{Xps}");
    else if (letter == 'S')
        buf_add_text(out, "\\P{Xps}");
    else if (letter == 'v')
        buf_add_text(out, "\\x0B");
    else if (is_letter(letter) && !strchr("dDwWbBnrtfcxukpP", letter))
        buf_add_char(out, letter);
    else
        buf_addf(out, letter == 'c' && !is_letter(next) ? "\\\\%c" : "\\%c", letter);
}

/* Translates one item and returns the place after it. A hyphen beside a class such as \d is no range,
 * and PCRE2 needs a backslash to know that; outside of brackets the backslash is harmless. */
static size_t add_item(struct buf *out, const char *pattern, size_t length, size_t i)
{
    if (pattern[i] == '-' && i + 2 < length && pattern[i + 1] == '\\' &&
        is_kind(pattern[i + 2])) {
        buf_add_text(out, "\\-");
        return i + 1;
    }
    if (pattern[i] != '\\' || i + 1 == length) {
        buf_add_char(out, pattern[i]);
        return i + 1;
    }
    add_escape(out, pattern[i + 1], i + 2 < length ? pattern[i + 2] : '\0');
    if (i + 2 == length || pattern[i + 2] != '-' || !is_kind(pattern[i + 1]))
        return i + 2;
    buf_add_text(out, "\\-");
    return i + 3;
}

/* How many characters of the pattern became the first `size` bytes of its translation. */
static size_t characters_before(const char *pattern, size_t length, size_t size)
{
    AUTO_BUF out = {0};
    size_t end = 0;

    while (end < length && out.length < size)
        end = add_item(&out, pattern, length, end);
    return utf8_count(pattern, end);
}

/* ---- compiling ---- */

static uint32_t options_of(unsigned flags)
{
    uint32_t options = PCRE2_UTF | PCRE2_ALT_BSUX | PCRE2_MATCH_UNSET_BACKREF |
                       PCRE2_DOLLAR_ENDONLY | PCRE2_ALT_CIRCUMFLEX | PCRE2_ALLOW_EMPTY_CLASS |
                       PCRE2_NEVER_BACKSLASH_C | PCRE2_AUTO_CALLOUT;

    if (flags & REGEX_IGNORE_CASE)
        options |= PCRE2_CASELESS;
    if (flags & REGEX_MULTILINE)
        options |= PCRE2_MULTILINE;
    if (flags & REGEX_DOT_ALL)
        options |= PCRE2_DOTALL;
    return options;
}

static pcre2_code *compile(const struct buf *pattern, unsigned flags, int *ret_error,
                           size_t *ret_offset)
{
    pcre2_compile_context *context = pcre2_compile_context_create(NULL);
    pcre2_code *code;

    pcre2_set_compile_extra_options(context, PCRE2_EXTRA_ALT_BSUX);
    pcre2_set_newline(context, PCRE2_NEWLINE_ANYCRLF);
    pcre2_set_parens_nest_limit(context, DEPTH_LIMIT);
    code = pcre2_compile((PCRE2_SPTR)(pattern->data ? pattern->data : ""), pattern->length,
                         options_of(flags), ret_error, ret_offset, context);
    pcre2_compile_context_free(context);
    return code;
}

enum err_code regex_compile(const char *pattern, size_t length, unsigned flags,
                            struct regex **ret_regex, struct err *err)
{
    AUTO_BUF translated = {0};
    pcre2_code *code;
    char why[256];
    size_t offset;
    uint32_t groups;
    int error;

    if (length > REGEX_PATTERN_LIMIT)
        return err_set(err, ERR_TOO_LARGE, "invalid regular expression: longer than %d bytes",
                       REGEX_PATTERN_LIMIT);
    if (length >= 2 && memcmp(pattern, "(*", 2) == 0)
        return err_set(err, ERR_INVALID, "invalid regular expression: (*...) is not supported");
    for (size_t i = 0; i < length;)
        i = add_item(&translated, pattern, length, i);
    code = compile(&translated, flags, &error, &offset);
    if (!code) {
        pcre2_get_error_message(error, (PCRE2_UCHAR *)why, sizeof(why));
        return err_set(err, ERR_INVALID,
                       "invalid regular expression: %s (at character %zu of the pattern)", why,
                       characters_before(pattern, length, offset));
    }
    pcre2_pattern_info(code, PCRE2_INFO_CAPTURECOUNT, &groups);
    *ret_regex = mem_new(struct regex);
    **ret_regex = (struct regex){code, groups + 1};
    return ERR_OK;
}

void regex_free(struct regex *regex)
{
    if (!regex)
        return;
    pcre2_code_free(regex->code);
    free(regex);
}

unsigned regex_group_count(const struct regex *regex)
{
    return regex->groups;
}

unsigned regex_group_named(const struct regex *regex, const char *name, size_t length)
{
    AUTO_FREE char *copy = mem_strndup(name, length);
    int number = pcre2_substring_number_from_name(regex->code, (PCRE2_SPTR)copy);

    return number > 0 ? (unsigned)number : 0;
}

/* ---- scanning ---- */

struct regex_budget {
    atomic_uint holders;
    _Atomic int64_t left_ns; /* below 0: several scans were under way when it ended */
    uint64_t ns;             /* constant: at the beginning */
};

struct regex_scan {
    const struct regex *regex;
    const char *text;
    size_t length;
    size_t from;
    uint32_t options;
    size_t steps_left;
    size_t place; /* in the text, at the last callout */
    unsigned callouts;
    uint64_t deadline;
    struct regex_budget *budget; /* held, or NULL */
    uint64_t charged_ns;         /* until when the budget has paid, on the thread's clock */
    pcre2_match_data *data;
    pcre2_match_context *context;
};

struct regex_budget *regex_budget_new(uint64_t ns)
{
    struct regex_budget *budget = mem_new(struct regex_budget);

    assert(ns <= INT64_MAX);
    atomic_init(&budget->holders, 1);
    atomic_init(&budget->left_ns, (int64_t)ns);
    budget->ns = ns;
    return budget;
}

struct regex_budget *regex_budget_hold(struct regex_budget *budget)
{
    if (budget)
        atomic_fetch_add(&budget->holders, 1);
    return budget;
}

void regex_budget_release(struct regex_budget *budget)
{
    if (budget && atomic_fetch_sub(&budget->holders, 1) == 1)
        free(budget);
}

static bool is_spent(const struct regex_scan *scan)
{
    return scan->budget && atomic_load(&scan->budget->left_ns) <= 0;
}

/* Pays for what the scan has taken since it last paid. */
static void pay(struct regex_scan *scan, uint64_t now)
{
    if (!scan->budget)
        return;
    atomic_fetch_sub(&scan->budget->left_ns, (int64_t)(now - scan->charged_ns));
    scan->charged_ns = now;
}

/* True when the time of the scan or of its budget is over. */
static bool is_late(struct regex_scan *scan)
{
    uint64_t now = clock_thread_ns();

    pay(scan, now);
    return now > scan->deadline || is_spent(scan);
}

/* Called before each item of the pattern; an error ends the search. */
static int charge(pcre2_callout_block *block, void *data)
{
    struct regex_scan *scan = data;
    size_t place = block->current_position;
    size_t cost = 1 + (place > scan->place ? place - scan->place : 0);

    scan->place = place;
    if (cost > scan->steps_left) {
        scan->steps_left = 0;
        return PCRE2_ERROR_CALLOUT;
    }
    scan->steps_left -= cost;
    if (++scan->callouts % CALLOUTS_A_CLOCK == 0 && is_late(scan))
        return PCRE2_ERROR_CALLOUT;
    return 0;
}

struct regex_scan *regex_scan_new(const struct regex *regex, const char *text, size_t length,
                                  size_t steps)
{
    struct regex_scan *scan = mem_new(struct regex_scan);

    scan->regex = regex;
    scan->text = text;
    scan->length = length;
    scan->steps_left = steps;
    scan->deadline = clock_thread_ns() + REGEX_TIME_LIMIT_MS * NS_PER_MS;
    scan->data = pcre2_match_data_create_from_pattern(regex->code, NULL);
    scan->context = pcre2_match_context_create(NULL);
    pcre2_set_match_limit(scan->context, REGEX_STEP_LIMIT);
    pcre2_set_depth_limit(scan->context, BACK_LIMIT);
    pcre2_set_heap_limit(scan->context, REGEX_HEAP_LIMIT_KB);
    pcre2_set_callout(scan->context, charge, scan);
    return scan;
}

void regex_scan_free(struct regex_scan *scan)
{
    if (!scan)
        return;
    if (scan->budget)
        pay(scan, clock_thread_ns());
    regex_budget_release(scan->budget);
    pcre2_match_context_free(scan->context);
    pcre2_match_data_free(scan->data);
    free(scan);
}

void regex_scan_hurry(struct regex_scan *scan, uint64_t ns)
{
    uint64_t deadline = clock_thread_ns() + ns;

    if (deadline < scan->deadline)
        scan->deadline = deadline;
}

void regex_scan_share(struct regex_scan *scan, struct regex_budget *budget)
{
    assert(!scan->budget);
    scan->budget = regex_budget_hold(budget);
    scan->charged_ns = clock_thread_ns();
}

static enum err_code refuse_spent(const struct regex_scan *scan, struct err *err)
{
    return err_set(
        err, ERR_LIMIT,
        "the regular expressions of this run have taken %.3g s together, which is the "
        "limit: search for plain text",
        (double)scan->budget->ns / (double)NS_PER_SECOND);
}

/* Where the next search begins. After an empty match that is one character later. */
static size_t behind(const struct regex_scan *scan, const size_t *at)
{
    size_t from = at[1];

    if (at[1] > at[0])
        return from;
    do
        from++;
    while (from < scan->length && !utf8_begins(scan->text[from]));
    return from;
}

enum err_code regex_scan_next(struct regex_scan *scan, struct regex_match *ret_match,
                              struct err *err)
{
    const size_t *at = pcre2_get_ovector_pointer(scan->data);
    int rc;

    if (scan->from > scan->length)
        return ERR_NOT_FOUND;
    if (is_spent(scan))
        return refuse_spent(scan, err);
    rc = pcre2_match(scan->regex->code, (PCRE2_SPTR)scan->text, scan->length, scan->from,
                     scan->options, scan->data, scan->context);
    if (rc == PCRE2_ERROR_NOMATCH) {
        scan->from = scan->length + 1;
        return ERR_NOT_FOUND;
    }
    if (rc <= PCRE2_ERROR_UTF8_ERR1 && rc >= PCRE2_ERROR_UTF8_ERR21)
        return err_set(err, ERR_INVALID, "the text is not UTF-8");
    if (rc < 0 && is_spent(scan))
        return refuse_spent(scan, err);
    if (rc < 0)
        return err_set(err, ERR_LIMIT,
                       "the search takes too long: use a simpler expression or a shorter text");
    assert(at[0] >= scan->from && at[1] >= at[0]);
    scan->options = PCRE2_NO_UTF_CHECK; /* checking once is enough */
    scan->from = behind(scan, at);
    ret_match->at = at;
    return ERR_OK;
}
