/*
 * The header Idempotency-Key: a request that may be sent twice and is carried out once.
 *
 * A client that lost its connection cannot know whether its request arrived. It sends the same
 * request again with the same key. The store then returns what the first one made. The hash guards
 * against the other case: two different requests under one key, which is a mistake of the client
 * (400, idempotency_key_reused).
 *
 * The body is hashed as jansson writes it, not as it was sent: its JSON is at hand, and the text was
 * released after parsing. The order of members counts, and white space does not. An SDK that
 * retries writes the same members in the same order.
 */

#include "server/api/request_key.h"

#include <string.h>

#include "core/base/buf.h"
#include "core/base/json.h"
#include "core/base/sha256.h"
#include "server/complaint.h"

/* A method and a target have no line feed, so the line feeds separate the three parts. */
static void hash_request(const struct request *request, const char *digest,
                         unsigned char ret_hash[32])
{
    AUTO_BUF text = {0};

    buf_addf(&text, "%s\n%s\n", request_method(request), request_target(request));
    if (digest)
        buf_add_text(&text, digest);
    else
        json_add_text(&text, request_json(request));
    sha256_text(text.data, ret_hash);
}

static enum err_code check_key(const char *key, struct err *err)
{
    static const char name[] = "Idempotency-Key";
    size_t length = strlen(key);

    if (length == 0)
        return err_invalid(err, "empty_string", name, "Invalid '%s': empty string.", name);
    if (length > IDEMPOTENCY_KEY_LIMIT)
        return err_invalid(
            err, "string_above_max_length", name,
            "Invalid '%s': string too long. Expected a string with maximum length "
            "%zu, but got a string with length %zu instead.",
            name, IDEMPOTENCY_KEY_LIMIT, length);
    for (size_t i = 0; i < length; i++)
        if (key[i] < ' ' || key[i] > '~')
            return err_invalid(err, "invalid_value", name,
                               "Invalid '%s': only printable ASCII is allowed.", name);
    return ERR_OK;
}

/* Without a digest the body is its JSON. */
static enum err_code read_key(const struct request *request, const char *digest,
                              struct idempotency *ret_idempotency, struct err *err)
{
    const char *key = request_header(request, "Idempotency-Key");
    enum err_code rc;

    *ret_idempotency = (struct idempotency){.key = ""};
    if (!key)
        return ERR_OK;
    rc = check_key(key, err);
    if (rc)
        return rc;
    ret_idempotency->key = key;
    hash_request(request, digest, ret_idempotency->hash);
    return ERR_OK;
}

enum err_code request_key(const struct request *request, struct idempotency *ret_idempotency,
                          struct err *err)
{
    return read_key(request, NULL, ret_idempotency, err);
}

enum err_code request_key_streamed(const struct request *request, const char *digest,
                                   struct idempotency *ret_idempotency, struct err *err)
{
    return read_key(request, digest, ret_idempotency, err);
}
