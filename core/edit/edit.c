#include "core/edit/edit.h"

#include <stdlib.h>

#include "core/base/buf.h"
#include "core/base/utf8.h"

/* Places of one strategy that contain one another; more than that are several places. */
#define NESTED_LIMIT 8

/* What one strategy has found so far. */
struct finding {
    const struct edit_strategy *strategy;
    const struct edit_order *order;
    struct edit_span places[NESTED_LIMIT];
    size_t count;
    bool several;
    bool too_large;
};

void edit_result_clear(struct edit_result *result)
{
    free(result->text);
    *result = (struct edit_result){.length = 0};
}

/* ---- Guards ---- */

static size_t count_letters(struct edit_span text)
{
    struct edit_span trimmed = edit_trim(text);

    return utf8_count(trimmed.at, trimmed.length);
}

static size_t greater(size_t a, size_t b)
{
    return a > b ? a : b;
}

static bool is_too_large(struct edit_span place, struct edit_span text)
{
    size_t lines = edit_count_lines(text), letters;

    if (edit_count_lines(place) >= greater(lines + EDIT_SPARE_LINES, 2 * lines))
        return true;
    letters = count_letters(text);
    return lines > 1 &&
           count_letters(place) > greater(letters + EDIT_SPARE_LETTERS, 4 * letters);
}

static bool contains(struct edit_span outer, struct edit_span inner)
{
    return inner.at >= outer.at && inner.at + inner.length <= outer.at + outer.length;
}

static bool are_nested(struct edit_span a, struct edit_span b)
{
    return contains(a, b) || contains(b, a);
}

/* ---- One strategy ---- */

static size_t count_places(struct edit_span file, struct edit_span text)
{
    size_t count = 0;
    const char *at;

    while ((at = edit_find_text(file, text))) {
        file = edit_skip(file, (size_t)(at - file.at) + text.length);
        count++;
    }
    return count;
}

static bool keep(struct finding *finding, struct edit_span place)
{
    for (size_t n = 0; n < finding->count; n++) {
        if (place.at == finding->places[n].at && place.length == finding->places[n].length)
            return true;
    }
    if (finding->count && !(finding->strategy->flags & EDIT_ONE_PLACE) &&
        !are_nested(finding->places[0], place))
        finding->several = true;
    if (finding->count == NESTED_LIMIT)
        finding->several = true;
    if (!finding->several)
        finding->places[finding->count++] = place;
    /* The first place of all is enough. */
    return !finding->several && !finding->order->all;
}

static bool consider(struct edit_search *search, struct edit_span candidate)
{
    struct finding *finding = search->arg;

    if (candidate.length == 0)
        return true;
    if (finding->strategy->flags & EDIT_EXACT) {
        candidate.at = edit_find_text(search->file.text, candidate);
        if (!candidate.at)
            return true;
    }
    search->work -= (int64_t)candidate.length;
    if (is_too_large(candidate, finding->order->old_text)) {
        finding->too_large = true;
        return false;
    }
    return keep(finding, candidate);
}

/* ---- The replacement ---- */

static bool ends_line(struct edit_span text)
{
    return text.length && text.at[text.length - 1] == '\n';
}

/* The place with the line break that the old text had, too. */
static struct edit_span with_line_break(struct edit_span file, struct edit_span place,
                                        struct edit_span text)
{
    const char *end = place.at + place.length;

    if (ends_line(text) && !ends_line(place) && end < file.at + file.length && *end == '\n')
        place.length++;
    return place;
}

static enum err_code put(struct edit_span file, struct edit_span place,
                         const struct edit_order *order, struct edit_result *ret,
                         struct err *err)
{
    AUTO_BUF out = {0};
    struct edit_span rest = file;
    size_t count = order->all ? count_places(file, place) : 1;
    size_t length = file.length - count * place.length;
    const char *at = place.at;

    if (order->all)
        place.at = edit_find_text(file, place);
    if (order->new_text.length > (EDIT_FILE_LIMIT - length) / count)
        return err_set(err, ERR_TOO_LARGE, "The file would have more than %zu MiB.",
                       EDIT_FILE_LIMIT >> 20);
    buf_reserve(&out, length + count * order->new_text.length + 1);
    ret->first_line =
        edit_count_lines((struct edit_span){file.at, (size_t)(place.at - file.at)});
    ret->last_line = ret->first_line + edit_count_lines(place) - 1 - ends_line(place);
    for (size_t n = 0; n < count; n++) {
        if (order->all)
            at = edit_find_text(rest, place);
        buf_add(&out, rest.at, (size_t)(at - rest.at));
        buf_add(&out, order->new_text.at, order->new_text.length);
        rest = edit_skip(rest, (size_t)(at - rest.at) + place.length);
    }
    buf_add(&out, rest.at, rest.length);
    ret->replacements = count;
    ret->length = out.length;
    ret->text = buf_take(&out);
    return ERR_OK;
}

/* ---- The chain ---- */

static enum err_code several_places(struct err *err)
{
    return err_set(err, ERR_CONFLICT,
                   "Found multiple matches for oldString. Provide more surrounding lines in "
                   "oldString to identify the correct match.");
}

static bool is_unique(struct edit_span file, struct edit_span text)
{
    const char *at = edit_find_text(file, text);

    return at && !edit_find_text(edit_skip(file, (size_t)(at - file.at) + 1), text);
}

/* The place that a strategy has decided for; false: none. */
static bool decide(struct edit_span file, const struct finding *finding,
                   struct edit_span *ret_place)
{
    for (size_t n = 0; n < finding->count && !finding->several; n++) {
        if (finding->order->all || is_unique(file, finding->places[n])) {
            *ret_place = finding->places[n];
            return true;
        }
    }
    return false;
}

static enum err_code run_chain(struct edit_search *search, const struct edit_order *order,
                               struct edit_result *ret, struct err *err)
{
    bool found = false;

    for (size_t n = 0; n < EDIT_STRATEGIES; n++) {
        const struct edit_strategy *strategy = &edit_strategies[n];
        struct finding finding = {.strategy = strategy, .order = order};
        struct edit_span place;

        if ((strategy->flags & EDIT_ANCHORED) && edit_lines_trimmed(&search->find_lines) < 3)
            continue;
        search->arg = &finding;
        strategy->find(search);
        if (search->work <= 0)
            return err_set(err, ERR_LIMIT,
                           "The search for oldString takes too long. Take "
                           "fewer lines, and copy them exactly.");
        if (finding.too_large)
            return err_set(err, ERR_FORBIDDEN,
                           "The only place like oldString is much larger than oldString. Copy "
                           "all lines that are to be replaced.");
        if (decide(search->file.text, &finding, &place)) {
            ret->strategy = strategy->name;
            return put(search->file.text,
                       with_line_break(search->file.text, place, order->old_text), order, ret,
                       err);
        }
        found = found || finding.count;
        if (finding.several || (finding.count && (strategy->flags & EDIT_EXACT)))
            return several_places(err);
    }
    if (found)
        return several_places(err);
    return err_set(err, ERR_NOT_FOUND, "oldString not found in content");
}

enum err_code edit_replace(struct edit_span file, const struct edit_order *order,
                           struct edit_result *ret_result, struct err *err)
{
    struct edit_search search = {.find = order->old_text,
                                 .profile = order->profile,
                                 .work = EDIT_WORK_LIMIT,
                                 .offer = consider};
    struct edit_result result = {.length = 0};
    enum err_code rc;

    if (edit_same(order->old_text, order->new_text))
        return err_set(err, ERR_INVALID, "oldString and newString must be different");
    if (order->old_text.length == 0)
        return err_set(err, ERR_INVALID, "oldString must not be empty");
    if (order->old_text.length > EDIT_TEXT_LIMIT || order->new_text.length > EDIT_TEXT_LIMIT)
        return err_set(err, ERR_TOO_LARGE, "oldString and newString may have %zu MiB each.",
                       EDIT_TEXT_LIMIT >> 20);
    if (file.length > EDIT_FILE_LIMIT)
        return err_set(err, ERR_TOO_LARGE,
                       "The file has %zu bytes; files of more than %zu MiB cannot be edited.",
                       file.length, EDIT_FILE_LIMIT >> 20);
    edit_lines_init(&search.file, file);
    edit_lines_init(&search.find_lines, search.find);
    rc = run_chain(&search, order, &result, err);
    edit_lines_clear(&search.file);
    edit_lines_clear(&search.find_lines);
    if (rc == ERR_OK)
        *ret_result = result;
    return rc;
}
