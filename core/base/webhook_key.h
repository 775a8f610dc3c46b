#ifndef RUNNEL_CORE_BASE_WEBHOOK_KEY_H
#define RUNNEL_CORE_BASE_WEBHOOK_KEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * webhook_key.h -- signatures of webhooks, in OpenAI's form (standardwebhooks.com). The receiver can verify
 * who has called, when, and that nothing was changed; OpenAI's SDKs do.
 *
 * Pure functions: any thread.
 */

#define WEBHOOK_KEY_LEAST ((size_t)24)
#define WEBHOOK_KEY_LIMIT ((size_t)64)

struct webhook_key {
    unsigned char bytes[WEBHOOK_KEY_LIMIT];
    size_t length;
};

/* "whsec_" and 24 to 64 bytes in base64. False for anything else. */
bool webhook_key_parse(const char *secret, struct webhook_key *ret_key);

/* The value of the header webhook-signature: "v1,..." over id, seconds and body. The caller frees. */
char *webhook_sign(const struct webhook_key *key, const char *id, int64_t seconds,
                   const char *body, size_t length);

#endif
