#ifndef RUNNEL_CORE_MODEL_CHAT_CHAT_SPLIT_CHAR_H
#define RUNNEL_CORE_MODEL_CHAT_CHAT_SPLIT_CHAR_H

#include <stddef.h>
#include <stdint.h>

/*
 * chat_split_char.h -- characters that a server has cut in two. Pure.
 *
 * JSON writes a character outside the basic plane, an emoji say, as two \u escapes, and servers
 * that cut their text into UTF-16 units send one at the end of a piece and the other at the
 * beginning of the next. Neither is a character: chat_repair_json() makes U+FFFD of both, and notes
 * what they were. Whoever passes on the pieces of one text holds a first half back, in a uint16_t
 * of its own, until the next piece shows whether the second follows.
 *
 * Bytes of a UTF-8 character that come in two pieces are not put together: each piece alone would
 * be no JSON, and no server is known to write such.
 */

/* What strings of one event are cut at; 0: at nothing. When several are cut, as a text and its
 * logprobs, they are cut at the same. */
struct chat_surrogates {
    uint16_t low;  /* a second half, that a string begins with */
    uint16_t high; /* a first half, that a string ends with */
};

/* What a piece comes to. */
struct chat_cut {
    char head[4]; /* the character that was cut, or U+FFFD for it; goes before the text */
    size_t head_length;
    const char *text; /* within the piece */
    size_t length;
};

/* Cuts the surrogates off a piece. `held` is the text's: the first half that its last piece ended with,
 * or 0. An empty piece changes nothing. */
void chat_split_char_cut(uint16_t *held, const struct chat_surrogates *surrogates,
                         const char *text, size_t length, struct chat_cut *ret_cut);

/* The text is over: U+FFFD if a half is held, else nothing. */
void chat_split_char_end(uint16_t *held, struct chat_cut *ret_cut);

#endif
