/*
 * The opening handshake of RFC 6455, section 4.2: is it valid, and what is the answer to its key?
 *
 * Sec-WebSocket-Accept proves that the server understood the request as a WebSocket: base64 of SHA-1
 * of the client's key and a constant of the RFC. It is no security and needs none. SHA-1 is what the RFC
 * says.
 *
 * Keys in Sec-WebSocket-Protocol are OpenAI's answer to a gap in browsers: the WebSocket constructor
 * takes no headers, but a list of protocols. The server must confirm one protocol of the list, and it
 * must not be the key, which would then be in an answer's headers.
 */

#include "server/http/websocket/handshake.h"

#include <nettle/base64.h>
#include <nettle/sha1.h>
#include <string.h>
#include <strings.h>

#include "core/base/buf.h"
#include "core/base/mem.h"

#define KEY_BYTES    16
#define KEY_LENGTH   24 /* characters of its base64 */
#define KEY_PROTOCOL "openai-insecure-api-key."
#define GUID         "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"

struct word {
    const char *text;
    size_t length;
};

/* The elements of a list: "keep-alive, Upgrade". *at starts as the list, which may be NULL. */
static bool next_word(const char **at, struct word *ret_word)
{
    if (!*at)
        return false;
    ret_word->text = *at + strspn(*at, ", \t");
    ret_word->length = strcspn(ret_word->text, ", \t");
    *at = ret_word->text + ret_word->length;
    return ret_word->length > 0;
}

static bool has_word(const char *list, const char *wanted)
{
    struct word word;

    while (next_word(&list, &word))
        if (word.length == strlen(wanted) && strncasecmp(word.text, wanted, word.length) == 0)
            return true;
    return false;
}

bool ws_handshake_asked(const struct ws_handshake *handshake)
{
    return has_word(handshake->upgrade, "websocket");
}

static bool is_key(const char *key)
{
    struct base64_decode_ctx context;
    uint8_t bytes[BASE64_DECODE_LENGTH(KEY_LENGTH)];
    size_t length = sizeof(bytes);

    if (!key || strlen(key) != KEY_LENGTH)
        return false;
    base64_decode_init(&context);
    return base64_decode_update(&context, &length, bytes, KEY_LENGTH, key) &&
           base64_decode_final(&context) && length == KEY_BYTES;
}

static void make_accept(const char *key, char ret_accept[WS_ACCEPT_SIZE])
{
    struct sha1_ctx context;
    uint8_t digest[SHA1_DIGEST_SIZE];

    sha1_init(&context);
    sha1_update(&context, KEY_LENGTH, (const uint8_t *)key);
    sha1_update(&context, strlen(GUID), (const uint8_t *)GUID);
    sha1_digest(&context, sizeof(digest), digest);
    base64_encode_raw(ret_accept, sizeof(digest), digest);
    ret_accept[WS_ACCEPT_SIZE - 1] = '\0';
}

enum err_code ws_handshake_check(const struct ws_handshake *handshake,
                                 char ret_accept[WS_ACCEPT_SIZE], int *ret_status,
                                 struct err *err)
{
    *ret_status = 400;
    if (strcmp(handshake->http_version, "HTTP/1.1") != 0)
        return err_set(err, ERR_INVALID, "A WebSocket needs HTTP/1.1.");
    if (!has_word(handshake->connection, "upgrade"))
        return err_set(err, ERR_INVALID,
                       "Invalid WebSocket handshake: the Connection header must be 'Upgrade'.");
    if (!handshake->version || strcmp(handshake->version, WS_VERSION) != 0) {
        *ret_status = 426;
        return err_set(err, ERR_INVALID,
                       "Invalid WebSocket handshake: Sec-WebSocket-Version must be " WS_VERSION
                       ".");
    }
    if (!is_key(handshake->key))
        return err_set(err, ERR_INVALID,
                       "Invalid WebSocket handshake: Sec-WebSocket-Key must be 16 bytes in "
                       "base64.");
    make_accept(handshake->key, ret_accept);
    return ERR_OK;
}

static bool has_key(const struct word *protocol)
{
    return protocol->length > strlen(KEY_PROTOCOL) &&
           strncmp(protocol->text, KEY_PROTOCOL, strlen(KEY_PROTOCOL)) == 0;
}

char *ws_handshake_bearer(const struct ws_handshake *handshake)
{
    const char *at = handshake->protocols;
    struct word word;

    while (next_word(&at, &word))
        if (has_key(&word)) {
            struct buf bearer = {0};

            buf_addf(&bearer, "Bearer %.*s", (int)(word.length - strlen(KEY_PROTOCOL)),
                     word.text + strlen(KEY_PROTOCOL));
            return buf_take(&bearer);
        }
    return NULL;
}

char *ws_handshake_protocol(const struct ws_handshake *handshake)
{
    const char *at = handshake->protocols;
    struct word word;

    while (next_word(&at, &word))
        if (!has_key(&word))
            return mem_strndup(word.text, word.length);
    return NULL;
}
