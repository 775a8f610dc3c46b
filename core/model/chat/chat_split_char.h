#ifndef RUNNEL_CORE_MODEL_CHAT_CHAT_SPLIT_CHAR_H
#define RUNNEL_CORE_MODEL_CHAT_CHAT_SPLIT_CHAR_H

#include <stddef.h>
#include <stdint.h>

/*
 * chat_split_char.h -- characters that a server has cut in two. Pure.
 *
 * JSON may write a character outside the BMP, such as an emoji, as two \u escapes (surrogates).
 * Servers that cut their text into UTF-16 units send the first at the end of a piece and the second
 * at the beginning of the next. Neither is a character, and jansson refuses both. So
 * chat_repair_json() replaces each by U+FFFD and notes the two surrogates. The reader of a text holds back a
 * first surrogate at the end of a piece, in a uint16_t of its own. The next piece shows whether the second
 * follows.
 *
 * A character whose UTF-8 bytes come in two pieces is not put together: neither piece would be JSON,
 * and no server is known to send such.
 */

/* The surrogates at the ends of an event's strings; 0: none. When several strings of an event are cut,
 * such as a text and its logprobs, they are cut at the same character. */
struct chat_surrogates {
    uint16_t low;  /* a second half, that a string begins with */
    uint16_t high; /* a first half, that a string ends with */
};

/* A piece without the surrogates at its ends. */
struct chat_cut {
    char head[4]; /* the split character, or U+FFFD for it; goes before the text */
    size_t head_length;
    const char *text; /* within the piece */
    size_t length;
};

/* Cuts the surrogates off a piece. `held` belongs to the text: the first surrogate at the end of its
 * last piece, or 0. An empty piece changes nothing. */
void chat_split_char_cut(uint16_t *held, const struct chat_surrogates *surrogates,
                         const char *text, size_t length, struct chat_cut *ret_cut);

/* The text has ended: U+FFFD if a surrogate is held, else nothing. */
void chat_split_char_end(uint16_t *held, struct chat_cut *ret_cut);

#endif
