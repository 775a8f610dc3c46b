/*
 * webhook_key.c -- HMAC-SHA256 over "id.seconds.body", as standardwebhooks.com defines it.
 *
 * The id lets a receiver drop a repeated delivery, the time lets it refuse an old one, and both are signed
 * together with the body, so none can be exchanged. The dots cannot be confused with content: the id is
 * the server's own and has no dot, and the seconds are digits.
 */

#include "core/base/webhook_key.h"

#include <sodium.h>
#include <string.h>

#include "core/base/mem.h"

#define PREFIX  "whsec_"
#define VARIANT sodium_base64_VARIANT_ORIGINAL
#define ROOM    sodium_base64_ENCODED_LEN(crypto_auth_hmacsha256_BYTES, VARIANT)

bool webhook_key_parse(const char *secret, struct webhook_key *ret_key)
{
    size_t skip = strlen(PREFIX);
    struct webhook_key key = {0};

    if (strncmp(secret, PREFIX, skip) != 0 ||
        sodium_base642bin(key.bytes, sizeof(key.bytes), secret + skip, strlen(secret + skip),
                          NULL, &key.length, NULL, VARIANT) != 0 ||
        key.length < WEBHOOK_KEY_LEAST)
        return false;
    *ret_key = key;
    return true;
}

char *webhook_sign(const struct webhook_key *key, const char *id, int64_t seconds,
                   const char *body, size_t length)
{
    AUTO_FREE char *head = mem_printf("%s.%lld.", id, (long long)seconds);
    unsigned char mac[crypto_auth_hmacsha256_BYTES];
    crypto_auth_hmacsha256_state state;
    char text[ROOM];

    (void)crypto_auth_hmacsha256_init(&state, key->bytes, key->length);
    (void)crypto_auth_hmacsha256_update(&state, (const unsigned char *)head, strlen(head));
    (void)crypto_auth_hmacsha256_update(&state, (const unsigned char *)body, length);
    (void)crypto_auth_hmacsha256_final(&state, mac);
    (void)sodium_bin2base64(text, sizeof(text), mac, sizeof(mac), VARIANT);
    return mem_printf("v1,%s", text);
}
