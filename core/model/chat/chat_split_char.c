/*
 * chat_split_char.c -- joining what chat_repair_json() had to take apart.
 *
 * A piece that comes here ends in U+FFFD where it was cut. Such a character may also be the model's own. The
 * surrogates of the event decide: only if one was noted, and the piece ends (or begins) with U+FFFD, is
 * this the place of the cut. Then the mark is removed, and the first half waits in `held`.
 *
 * If the next piece begins with the second half, both become one character before its text. If not, or if
 * nothing follows, the half that waited becomes U+FFFD again, so that a reader sees that something is
 * missing there.
 */

#include "core/model/chat/chat_split_char.h"

#include <stdbool.h>
#include <string.h>

#include "core/base/utf8.h"

static bool is_mark(const char *text)
{
    return memcmp(text, UTF8_REPLACEMENT, UTF8_REPLACEMENT_LENGTH) == 0;
}

static void put_mark(struct chat_cut *cut)
{
    memcpy(cut->head, UTF8_REPLACEMENT, UTF8_REPLACEMENT_LENGTH);
    cut->head_length = UTF8_REPLACEMENT_LENGTH;
}

static void join(struct chat_cut *cut, uint16_t high, uint16_t low)
{
    uint32_t point = 0x10000 + ((uint32_t)(high - 0xD800) << 10) + (uint32_t)(low - 0xDC00);

    cut->head_length = (size_t)(utf8_put(cut->head, point) - cut->head);
    cut->text += UTF8_REPLACEMENT_LENGTH;
    cut->length -= UTF8_REPLACEMENT_LENGTH;
}

void chat_split_char_end(uint16_t *held, struct chat_cut *ret_cut)
{
    *ret_cut = (struct chat_cut){.text = ""};
    if (*held)
        put_mark(ret_cut);
    *held = 0;
}

void chat_split_char_cut(uint16_t *held, const struct chat_surrogates *surrogates,
                         const char *text, size_t length, struct chat_cut *ret_cut)
{
    struct chat_cut *cut = ret_cut;
    uint16_t high = *held;

    *cut = (struct chat_cut){.text = text, .length = length};
    if (!length)
        return;
    *held = 0;
    if (high && surrogates->low && length >= UTF8_REPLACEMENT_LENGTH && is_mark(text))
        join(cut, high, surrogates->low);
    else if (high)
        put_mark(cut);
    if (surrogates->high && cut->length >= UTF8_REPLACEMENT_LENGTH &&
        is_mark(cut->text + cut->length - UTF8_REPLACEMENT_LENGTH)) {
        cut->length -= UTF8_REPLACEMENT_LENGTH;
        *held = surrogates->high;
    }
}
