/*
 * seal.c -- authenticated encryption of text that a client keeps for the server.
 *
 *   sealed text = base64url( version | nonce | ciphertext | tag )
 *
 * Reasoning of a model, for example, goes to the client and comes back with the next request when the server
 * keeps nothing. The client must be able neither to read it nor to write some of its own. XChaCha20-Poly1305 has
 * a nonce of 24 bytes, long enough to be random without a counter that all nodes would have to share.
 *
 * The version byte is authenticated with the rest (as additional data), so a later format cannot be
 * confused with this one. Each domain has a key of its own, derived by a keyed hash, so a text of one
 * project does not open in another although all nodes share one key.
 *
 * An error does not say what was wrong. The difference between "bad tag" and "bad version" helps only the
 * person who forges texts.
 */

#include "core/base/seal.h"

#include <sodium.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"

#define NONCE   crypto_aead_xchacha20poly1305_ietf_NPUBBYTES
#define TAG     crypto_aead_xchacha20poly1305_ietf_ABYTES
#define KEY     crypto_aead_xchacha20poly1305_ietf_KEYBYTES
#define VARIANT sodium_base64_VARIANT_URLSAFE_NO_PADDING

/* The first byte of a sealed text, so that a later format can be recognised. */
#define VERSION 1

_Static_assert(KEY == SEAL_KEY_SIZE, "the key of this cipher");

/* Initialises libsodium at the first call; later calls return at once, on any thread. */
static void prepare(void)
{
    if (sodium_init() < 0)
        abort();
}

void seal_make_key(unsigned char ret_key[SEAL_KEY_SIZE])
{
    prepare();
    randombytes_buf(ret_key, SEAL_KEY_SIZE);
}

static void key_of(const struct seal *seal, const char *domain, unsigned char ret_key[KEY])
{
    (void)crypto_generichash(ret_key, KEY, (const unsigned char *)domain, strlen(domain),
                             seal->key, sizeof(seal->key));
}

char *seal_text(const struct seal *seal, const char *domain, const char *text, size_t length)
{
    size_t size = 1 + NONCE + length + TAG;
    AUTO_FREE unsigned char *bytes = mem_zeroed(size, 1);
    size_t room = sodium_base64_encoded_len(size, VARIANT);
    char *sealed = mem_new_array(char, room);
    unsigned char key[KEY];

    prepare();
    key_of(seal, domain, key);
    bytes[0] = VERSION;
    randombytes_buf(bytes + 1, NONCE);
    (void)crypto_aead_xchacha20poly1305_ietf_encrypt(bytes + 1 + NONCE, NULL,
                                                     (const unsigned char *)text, length, bytes,
                                                     1, NULL, bytes + 1, key);
    sodium_memzero(key, sizeof(key));
    sodium_bin2base64(sealed, room, bytes, size, VARIANT);
    return sealed;
}

static enum err_code refuse(struct err *err)
{
    return err_set(err, ERR_INVALID, "it was altered, or sealed elsewhere");
}

static int open_bytes(const struct seal *seal, const char *domain, const unsigned char *bytes,
                      size_t size, unsigned char *ret_text)
{
    unsigned char key[KEY];
    int rc;

    key_of(seal, domain, key);
    rc = crypto_aead_xchacha20poly1305_ietf_decrypt(ret_text, NULL, NULL, bytes + 1 + NONCE,
                                                    size - 1 - NONCE, bytes, 1, bytes + 1, key);
    sodium_memzero(key, sizeof(key));
    return rc;
}

enum err_code seal_open(const struct seal *seal, const char *domain, const char *sealed,
                        char **ret_text, size_t *ret_length, struct err *err)
{
    size_t length = strlen(sealed);
    AUTO_FREE unsigned char *bytes = NULL;
    AUTO_FREE unsigned char *text = NULL;
    size_t size = 0;

    if (length > SEAL_TEXT_LIMIT)
        return refuse(err);
    prepare();
    bytes = mem_zeroed(length + 1, 1);
    if (sodium_base642bin(bytes, length, sealed, length, NULL, &size, NULL, VARIANT) != 0 ||
        size < 1 + NONCE + TAG || bytes[0] != VERSION)
        return refuse(err);
    text = mem_zeroed(size, 1);
    if (open_bytes(seal, domain, bytes, size, text) != 0)
        return refuse(err);
    *ret_length = size - 1 - NONCE - TAG;
    *ret_text = (char *)TAKE(text);
    return ERR_OK;
}
