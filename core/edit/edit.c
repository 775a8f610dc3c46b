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

static size_t count_lines(struct edit_span text)
{
    size_t count = 1;

    for (size_t n = 0; n < text.length; n++)
        count += text.at[n] == '\n';
    return count;
}

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
    size_t lines = count_lines(text), letters;

    if (count_lines(place) >= greater(lines + EDIT_SPARE_LINES, 2 * lines))
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
