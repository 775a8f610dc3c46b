#ifndef RUNNEL_CORE_STORE_TABLES_KEYS_H
#define RUNNEL_CORE_STORE_TABLES_KEYS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/err.h"
#include "core/base/ids.h"
#include "core/domain/tenant.h"
#include "core/store/store.h"

/*
 * keys.h -- API keys and the projects they open.
 *
 * Of a key only its SHA-256 is stored, because 32 random letters need no slow hash, and a
 * prefix to recognise it by. Every request looks its key up. So a revoked key is refused from
 * the next request on, on every node.
 */

#define KEY_SIZE 96

struct key_row {
    char id[ID_SIZE]; /* key_... */
    char project[64]; /* the project's name */
    char prefix[24];  /* "sk-runnel-AbCd..." */
    int64_t created_at;
};

/* What a key opens: project, key and features; the store does not know limits. ERR_UNAUTHORIZED
 * for a key that is unknown or revoked. */
enum err_code store_key_find(struct store *store, const char *key, struct tenant *ret_tenant,
                             struct err *err) MUST_CHECK;

/* Makes a key for the project of that name. Makes the project if it is missing. */
enum err_code store_key_create(struct store *store, const char *project_name,
                               char ret_key[KEY_SIZE], struct err *err) MUST_CHECK;

/* The project whose key is the setting `api_key`. */
#define DEFAULT_PROJECT "default"

/* Makes sure that this very key (the setting `api_key`) opens the project of that name. A
 * project's name has 1 to 63 bytes; ERR_INVALID for others. */
enum err_code store_key_ensure(struct store *store, const char *project_name, const char *key,
                               char ret_project[ID_SIZE], struct err *err) MUST_CHECK;

/* The project of that name. Makes it if it is missing. */
enum err_code store_project_ensure(struct store *store, const char *name,
                                   char ret_project[ID_SIZE], struct err *err) MUST_CHECK;

/* The project of that name; ERR_NOT_FOUND if it is missing. */
enum err_code store_project_find(struct store *store, const char *name,
                                 char ret_project[ID_SIZE], struct err *err) MUST_CHECK;

/* All keys that were not revoked; the caller frees. */
enum err_code store_key_list(struct store *store, struct key_row **ret_rows, size_t *ret_count,
                             struct err *err) MUST_CHECK;

/* Revokes a key, named by itself or by its id. ERR_NOT_FOUND if no such key is valid. */
enum err_code store_key_revoke(struct store *store, const char *key_or_id,
                               struct err *err) MUST_CHECK;

#endif
