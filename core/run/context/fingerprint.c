#include "core/run/context/fingerprint.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/sha256.h"

#define VERSION 1

#define HASH_DIGITS (2 * SHA256_DIGEST_SIZE)

/* The first `digits` of the hash of a text. */
static void hash_text(const char *text, size_t digits, char *ret_text)
{
    uint8_t hash[SHA256_DIGEST_SIZE];

    sha256_text(text, hash);
    for (size_t i = 0; i < digits / 2; i++)
        (void)snprintf(ret_text + 2 * i, 3, "%02x", hash[i]);
}

void fingerprint_make(struct fingerprint *ret_print)
{
    char random[ID_BODY + 1];

    id_random(random, ID_BODY);
    hash_text(random, PROGRAM_SEED_DIGITS, ret_print->seed);
    ret_print->now_ms = clock_wall_us() / 1000;
}

char *fingerprint_seal(const struct seal *seal, const struct tenant *tenant,
                       const struct fingerprint *print, const char *code)
{
    char hash[HASH_DIGITS + 1];
    json_auto_t *content = NULL;
    AUTO_FREE char *text = NULL;

    hash_text(code, HASH_DIGITS, hash);
    content = json_build("{s:i, s:s, s:s, s:I}", "program", VERSION, "code", hash, "seed",
                         print->seed, "now", (json_int_t)print->now_ms);
    text = json_text(content);
    return seal_text(seal, tenant->project, text, strlen(text));
}

enum err_code fingerprint_open(const struct seal *seal, const struct tenant *tenant,
                               const char *sealed, const char *code,
                               struct fingerprint *ret_print, struct err *err)
{
    char hash[HASH_DIGITS + 1];
    AUTO_FREE char *text = NULL;
    json_auto_t *content = NULL;
    size_t length = 0;
    const char *seed;
    enum err_code rc = seal_open(seal, tenant->project, sealed, &text, &length, err);

    if (!rc)
        rc = json_parse(text, length, &content, err);
    if (rc)
        return rc;
    hash_text(code, HASH_DIGITS, hash);
    seed = json_get_string(content, "seed", "");
    if (json_get_int(content, "program", 0) != VERSION || strlen(seed) != PROGRAM_SEED_DIGITS ||
        strcmp(json_get_string(content, "code", ""), hash) != 0)
        return err_set(err, ERR_INVALID, "The fingerprint is not of this program.");
    memcpy(ret_print->seed, seed, sizeof(ret_print->seed));
    ret_print->now_ms = json_get_int(content, "now", 0);
    return ERR_OK;
}

void fingerprint_call_id(const struct fingerprint *print, unsigned number, char ret_id[ID_SIZE])
{
    AUTO_FREE char *text = mem_printf("%s %u", print->seed, number);
    char digits[ID_BODY + 1];

    hash_text(text, ID_BODY, digits);
    (void)snprintf(ret_id, ID_SIZE, "call_%s", digits);
}
