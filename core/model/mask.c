/*
 * mask.c -- masks as regular expressions over JSON texts.
 *
 * The messages are a tree, and masking works on its strings, not on the text of the request: a match
 * cannot then destroy the JSON, and text and replacement need no escaping. The arguments of a call
 * are JSON within a string; they are parsed, masked inside and written again. Arguments that are no
 * JSON are masked as text.
 *
 * In a message, keys such as `id` and `url` hold technical values and are skipped. In arguments no
 * key is skipped, because there a key is whatever the tool's author called it.
 *
 * A pattern that matches the empty string is refused: it would insert its replacement between all
 * characters. A pattern such as (?=x) has empty matches in some texts only; it is accepted, and
 * those matches are ignored.
 *
 * Patterns come from the operator, but texts from users. So the time of a request is limited, in
 * processor time: on a busy machine the same request must not fail.
 */

#include "core/model/mask.h"

#include <stdbool.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/json/json_number.h"
#include "core/base/mem.h"
#include "core/base/regex.h"

struct mask {
    struct regex *regex;
    char *replacement;
};

struct masks {
    struct mask *list;
    size_t count;
};

/* ---- Reading the configuration ---- */

static enum err_code read_flags(const char *letters, unsigned *ret_flags, struct err *err)
{
    static const char known[] = "ims";
    static const unsigned flags[] = {REGEX_IGNORE_CASE, REGEX_MULTILINE, REGEX_DOT_ALL};

    *ret_flags = 0;
    for (; *letters; letters++) {
        const char *at = strchr(known, *letters);

        if (!at)
            return err_set(err, ERR_INVALID, "flags: expected letters of '%s'", known);
        *ret_flags |= flags[at - known];
    }
    return ERR_OK;
}

static bool matches_empty_text(const struct regex *regex)
{
    struct regex_scan *scan = regex_scan_new(regex, "", 0, MASK_STEP_LIMIT);
    struct regex_match match;
    bool matches = regex_scan_next(scan, &match, NULL) == ERR_OK;

    regex_scan_free(scan);
    return matches;
}

static enum err_code read_mask(struct mask *mask, const json_t *entry, struct err *err)
{
    const char *pattern = json_get_string(entry, "pattern", "");
    const char *replacement = json_get_string(entry, "replacement", MASK_DEFAULT);
    struct err why = {0};
    unsigned flags;
    enum err_code rc = read_flags(json_get_string(entry, "flags", ""), &flags, err);

    if (rc)
        return rc;
    if (strlen(replacement) > MASK_REPLACEMENT_LIMIT)
        return err_set(err, ERR_INVALID, "replacement: longer than %d bytes",
                       MASK_REPLACEMENT_LIMIT);
    if (regex_compile(pattern, strlen(pattern), flags, &mask->regex, &why))
        return err_set(err, ERR_INVALID, "pattern: %s", why.text);
    if (matches_empty_text(mask->regex))
        return err_set(err, ERR_INVALID, "pattern: must not match the empty string");
    mask->replacement = mem_strdup(replacement);
    return ERR_OK;
}

enum err_code masks_new(const json_t *list, struct masks **ret_masks, struct err *err)
{
    struct masks *masks = mem_new(struct masks);

    masks->list = mem_new_array(struct mask, MASK_LIMIT);
    for (size_t i = 0; i < json_array_size(list); i++) {
        struct err why = {0};
        enum err_code rc = ERR_INVALID;

        if (i == MASK_LIMIT)
            err_set(&why, rc, "more than %d masks", MASK_LIMIT);
        else
            rc = read_mask(&masks->list[masks->count++], json_array_get(list, i), &why);
        if (rc) {
            masks_free(masks);
            return err_set(err, ERR_INVALID, "[%zu]%s%s", i, i == MASK_LIMIT ? ": " : ".",
                           why.text);
        }
    }
    *ret_masks = masks;
    return ERR_OK;
}

void masks_free(struct masks *masks)
{
    if (!masks)
        return;
    for (size_t i = 0; i < masks->count; i++) {
        regex_free(masks->list[i].regex);
        free(masks->list[i].replacement);
    }
    free(masks->list);
    free(masks);
}

/* ---- One text ---- */

/* The masks of one request, and what is left of its limits. */
struct masking {
    const struct masks *masks;
    size_t growth_left;
    uint64_t deadline; /* in processor time of this thread */
};

static enum err_code too_much(struct err *err)
{
    return err_set(err, ERR_LIMIT, "the masks take too long, or make the messages too long");
}

/* Adds the text before a match, and the replacement. */
static enum err_code replace(struct masking *masking, const struct mask *mask, const char *text,
                             size_t *from, const size_t *at, struct buf *out, struct err *err)
{
    size_t length = strlen(mask->replacement);
    size_t growth = length > at[1] - at[0] ? length - (at[1] - at[0]) : 0;

    if (growth > masking->growth_left)
        return too_much(err);
    masking->growth_left -= growth;
    buf_add(out, text + *from, at[0] - *from);
    buf_add(out, mask->replacement, length);
    *from = at[1];
    return ERR_OK;
}

/* Applies one mask. `out` is the new text, if *changed. */
static enum err_code scan_text(struct masking *masking, const struct mask *mask,
                               const char *text, size_t length, struct buf *out, bool *changed,
                               struct err *err)
{
    struct regex_scan *scan = regex_scan_new(mask->regex, text, length, MASK_STEP_LIMIT);
    struct regex_match match;
    size_t from = 0;
    enum err_code rc;

    *changed = false;
    while (!(rc = regex_scan_next(scan, &match, err))) {
        if (match.at[0] == match.at[1])
            continue; /* an empty match has no text to replace */
        rc = replace(masking, mask, text, &from, match.at, out, err);
        if (rc)
            break;
        *changed = true;
    }
    regex_scan_free(scan);
    if (rc != ERR_NOT_FOUND)
        return rc;
    if (*changed)
        buf_add(out, text + from, length - from);
    return clock_thread_ns() > masking->deadline ? too_much(err) : ERR_OK;
}

/* Applies all masks. When nothing matches, `ret_text` stays empty and *changed false. */
static enum err_code mask_text(struct masking *masking, const char *text, size_t length,
                               struct buf *ret_text, bool *changed, struct err *err)
{
    for (size_t i = 0; i < masking->masks->count; i++) {
        AUTO_BUF out = {0};
        bool masked;
        enum err_code rc =
            scan_text(masking, &masking->masks->list[i], *changed ? ret_text->data : text,
                      *changed ? ret_text->length : length, &out, &masked, err);

        if (rc)
            return rc;
        if (!masked)
            continue;
        buf_clear(ret_text);
        *ret_text = out;
        out = (struct buf){0};
        *changed = true;
    }
    return ERR_OK;
}

/* ---- A message ---- */

enum place {
    PLACE_MESSAGE,   /* some keys hold technical values */
    PLACE_ARGUMENTS, /* all texts may be masked */
};

/* True for keys whose values are not masked: see mask.h. */
static bool is_technical(const char *key)
{
    static const char *const keys[] = {
        "role",   "type",     "id",          "call_id", "tool_call_id",      "name",
        "url",    "data",     "file_data",   "file_id", "encrypted_content", "detail",
        "format", "upstream", "upstream_id", "status",  "signature",
    };

    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        if (strcmp(keys[i], key) == 0)
            return true;
    }
    return false;
}

static enum err_code mask_value(struct masking *masking, enum place place, json_t *value,
                                bool *changed, struct err *err);

/* Masks the texts in a JSON string; a string that is no JSON is masked as a text. */
static enum err_code mask_arguments(struct masking *masking, json_t *value, bool *changed,
                                    struct err *err)
{
    json_auto_t *parsed = NULL;
    bool masked = false;
    enum err_code rc;

    if (json_parse_exact(json_string_value(value), json_string_length(value), &parsed, NULL))
        return mask_value(masking, PLACE_ARGUMENTS, value, changed, err);
    rc = mask_value(masking, PLACE_ARGUMENTS, parsed, &masked, err);
    if (!rc && masked) {
        AUTO_FREE char *text = json_text(parsed);

        json_string_set_nocheck(value, text);
        *changed = true;
    }
    return rc;
}

static enum err_code mask_string(struct masking *masking, json_t *value, bool *changed,
                                 struct err *err)
{
    AUTO_BUF text = {0};
    bool masked = false;
    enum err_code rc = mask_text(masking, json_string_value(value), json_string_length(value),
                                 &text, &masked, err);

    if (rc || !masked)
        return rc;
    json_string_setn_nocheck(value, text.data, text.length);
    *changed = true;
    return ERR_OK;
}

static enum err_code mask_member(struct masking *masking, enum place place, const char *key,
                                 json_t *value, bool *changed, struct err *err)
{
    if (place == PLACE_MESSAGE && json_is_string(value) && is_technical(key))
        return ERR_OK;
    if (place == PLACE_MESSAGE && strcmp(key, "extra_content") == 0)
        return ERR_OK; /* the upstream must get it back unchanged */
    if (place == PLACE_MESSAGE && json_is_string(value) && strcmp(key, "arguments") == 0)
        return mask_arguments(masking, value, changed, err);
    return mask_value(masking, place, value, changed, err);
}

/* Masks all texts inside. */
static enum err_code mask_value(struct masking *masking, enum place place, json_t *value,
                                bool *changed, struct err *err)
{
    const char *key;
    json_t *inner;
    size_t i;
    enum err_code rc = ERR_OK;

    if (json_is_text(value)) /* numbers are not masked */
        return mask_string(masking, value, changed, err);
    json_object_foreach (value, key, inner) {
        rc = mask_member(masking, place, key, inner, changed, err);
        if (rc)
            return rc;
    }
    json_array_foreach (value, i, inner) {
        rc = mask_value(masking, place, inner, changed, err);
        if (rc)
            return rc;
    }
    return ERR_OK;
}

enum err_code masks_apply(const struct masks *masks, json_t *messages, struct err *err)
{
    struct masking masking = {
        .masks = masks,
        .growth_left = MASK_GROWTH_LIMIT,
        .deadline = clock_thread_ns() + MASK_TIME_LIMIT_MS * NS_PER_MS,
    };
    bool changed = false;

    return mask_value(&masking, PLACE_MESSAGE, messages, &changed, err);
}
