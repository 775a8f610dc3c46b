#ifndef RUNNEL_CORE_BASE_SEAL_H
#define RUNNEL_CORE_BASE_SEAL_H

#include <stddef.h>

#include "core/base/err.h"

/*
 * seal.h -- text that a client carries and cannot read or change.
 *
 * XChaCha20-Poly1305 of libsodium, with a random nonce. Each domain (a project) has its own key, which
 * is derived from the one key that all servers of a database share. Text that was sealed for one domain
 * cannot be opened for another. The sealed text is base64 for URLs, without padding, and a third longer.
 *
 * A key does not change once it is made: any thread.
 */

#define SEAL_KEY_SIZE   32
#define SEAL_TEXT_LIMIT ((size_t)20971520) /* of a sealed text: what OpenAI's API allows */

struct seal {
    unsigned char key[SEAL_KEY_SIZE];
};

/* A new key from the kernel. */
void seal_make_key(unsigned char ret_key[SEAL_KEY_SIZE]);

/* The caller frees. */
char *seal_text(const struct seal *seal, const char *domain, const char *text, size_t length);

/* ERR_INVALID, without details, for text that was altered or sealed elsewhere. The caller frees
 * *ret_text, which is followed by a NUL. */
enum err_code seal_open(const struct seal *seal, const char *domain, const char *sealed,
                        char **ret_text, size_t *ret_length, struct err *err) MUST_CHECK;

#endif
