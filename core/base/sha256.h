#ifndef RUNNEL_CORE_BASE_SHA256_H
#define RUNNEL_CORE_BASE_SHA256_H

#include <nettle/sha2.h>
#include <stdint.h>
#include <string.h>

/* The SHA-256 of bytes. */
static inline void sha256_bytes(const void *bytes, size_t length,
                                uint8_t ret_hash[SHA256_DIGEST_SIZE])
{
    struct sha256_ctx context;

    sha256_init(&context);
    sha256_update(&context, length, bytes);
    sha256_digest(&context, SHA256_DIGEST_SIZE, ret_hash);
}

/* The same of a text. */
static inline void sha256_text(const char *text, uint8_t ret_hash[SHA256_DIGEST_SIZE])
{
    sha256_bytes(text, strlen(text), ret_hash);
}

#endif
