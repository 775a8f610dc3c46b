/*
 * API keys, and the projects that they open.
 *
 * A key is 32 random letters behind a prefix that says what it is. Only its SHA-256 is stored:
 * passwords need a slow hash because they can be guessed, and random letters cannot. The hash is
 * unique, so finding a key is one access by index, for every request of every client.
 *
 * There is no cache. A cache would save a fraction of a millisecond, and a revoked key would
 * keep working on each node until its cache notices. What every request needs of the project
 * comes with the key: whether there are tool settings at all, which spares most requests a
 * query.
 *
 * These statements have no project in their conditions: a key is what says which project it is.
 */

#include "core/store/tables/keys.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/base/sha256.h"
#include "core/base/utf8.h"
#include "core/store/pg/db.h"

#define KEY_HEAD        "sk-runnel-"
#define KEY_LETTERS     32
#define PREFIX_LETTERS  14
#define PROJECT_LETTERS 63

/* On the heap, because parameters are only borrowed until they are sent. */
static void add_hash(struct db_args *args, const char *key)
{
    uint8_t hash[SHA256_DIGEST_SIZE];
    char *copy = mem_zeroed(1, sizeof(hash));

    sha256_text(key, hash);
    memcpy(copy, hash, sizeof(hash));
    db_arg_bytes_owned(args, copy, sizeof(hash));
}

/* Enough of a key to tell keys apart, never more than a third of it. Cut between characters. */
static void make_prefix(const char *key, char ret_prefix[24])
{
    size_t length = strlen(key) / 3;

    length = utf8_fit(key, length < PREFIX_LETTERS ? length : PREFIX_LETTERS);
    memcpy(ret_prefix, key, length);
    memcpy(ret_prefix + length, "...", sizeof("..."));
}

enum err_code store_key_find(struct store *store, const char *key, struct tenant *ret_tenant,
                             struct err *err)
{
    static const struct db_statement find = {
        "store_key_find",
        "SELECT k.project_id, k.id,"
        "  EXISTS (SELECT FROM tool_settings s WHERE s.project_id = k.project_id)"
        " FROM api_keys k WHERE k.hash = $1 AND k.revoked_at IS NULL"};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    add_hash(&args, key);
    rc = db_once(store, &find, &args, &rows, err);
    if (rc)
        return rc;
    if (db_count(rows) == 0)
        return err_refuse(err, ERR_UNAUTHORIZED, REASON_UNKNOWN_KEY, NULL,
                          "Incorrect API key provided.");

    *ret_tenant = tenant_of_project(db_text(rows, 0, 0));
    db_id(rows, 0, 1, ret_tenant->key, sizeof(ret_tenant->key));
    ret_tenant->features = db_bool(rows, 0, 2) ? TENANT_TOOL_SETTINGS : 0;
    return ERR_OK;
}

/* ---- Making ---- */

static enum err_code check_project_name(const char *name, struct err *err)
{
    size_t length = strlen(name);

    if (length == 0 || length > PROJECT_LETTERS)
        return err_refuse(err, ERR_INVALID, REASON_BAD_VALUE, "project",
                          "a project's name has 1 to %d bytes", PROJECT_LETTERS);
    for (size_t i = 0; i < length; i++) {
        if ((unsigned char)name[i] < 0x20 || name[i] == 0x7f)
            return err_refuse(err, ERR_INVALID, REASON_BAD_VALUE, "project",
                              "a project's name has no control characters");
    }
    return ERR_OK;
}

/* Finds the project of that name, and makes it if it is missing. Two callers at once get the
 * same row: the update that changes nothing waits for the other's row and returns it. */
static enum err_code ensure_project(struct db *db, const char *name, char ret_id[ID_SIZE],
                                    struct err *err)
{
    static const struct db_statement ensure = {
        "ensure_project",
        "INSERT INTO projects (id, name, created_at) VALUES ($1, $2, $3)"
        " ON CONFLICT (name) DO UPDATE SET name = excluded.name RETURNING id"};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    char id[ID_SIZE];
    enum err_code rc;

    id_make(id, "proj_");
    db_arg_text(&args, id);
    db_arg_text(&args, name);
    db_arg_int(&args, clock_wall_us());
    rc = db_exec(db, &ensure, &args, &rows, err);
    if (rc)
        return rc;
    db_id(rows, 0, 0, ret_id, ID_SIZE);
    return ERR_OK;
}

enum err_code store_project_ensure(struct store *store, const char *name,
                                   char ret_project[ID_SIZE], struct err *err)
{
    AUTO_DB *db = NULL;
    char id[ID_SIZE];
    enum err_code rc = check_project_name(name, err);

    if (!rc)
        rc = db_begin(store, &db, err);
    if (!rc)
        rc = ensure_project(db, name, id, err);
    if (!rc)
        rc = db_commit(db, err);
    if (!rc)
        memcpy(ret_project, id, sizeof(id));
    return rc;
}

enum err_code store_project_find(struct store *store, const char *name,
                                 char ret_project[ID_SIZE], struct err *err)
{
    static const struct db_statement find = {"find_project",
                                             "SELECT id FROM projects WHERE name = $1"};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    db_arg_text(&args, name);
    rc = db_once(store, &find, &args, &rows, err);
    if (rc)
        return rc;
    if (db_count(rows) == 0)
        return err_set(err, ERR_NOT_FOUND, "there is no project '%.64s'", name);
    db_id(rows, 0, 0, ret_project, ID_SIZE);
    return ERR_OK;
}

/* The same key again moves it to this project and makes it valid again: it is the operator's
 * setting that says which key opens which project. */
static enum err_code put_key(struct db *db, const struct tenant *tenant, const char *key,
                             struct err *err)
{
    static const struct db_statement put = {
        "put_key", "INSERT INTO api_keys (project_id, id, hash, prefix, created_at)"
                   " VALUES ($1, $2, $3, $4, $5)"
                   " ON CONFLICT (hash) DO UPDATE SET project_id = excluded.project_id, "
                   "revoked_at = NULL"};
    AUTO_DB_ARGS args = {0};
    char id[ID_SIZE];
    char prefix[24];

    id_make(id, "key_");
    make_prefix(key, prefix);
    db_arg_tenant(&args, tenant);
    db_arg_text(&args, id);
    add_hash(&args, key);
    db_arg_text(&args, prefix);
    db_arg_int(&args, clock_wall_us());
    return db_exec(db, &put, &args, NULL, err);
}

static enum err_code put_key_of(struct store *store, const char *project_name, const char *key,
                                char ret_project[ID_SIZE], struct err *err)
{
    AUTO_DB *db = NULL;
    char project[ID_SIZE];
    struct tenant tenant;
    enum err_code rc;

    rc = db_begin(store, &db, err);
    if (rc)
        return rc;
    rc = ensure_project(db, project_name, project, err);
    if (rc)
        return rc;
    tenant = tenant_of_project(project);
    rc = put_key(db, &tenant, key, err);
    if (rc)
        return rc;
    rc = db_commit(db, err);
    if (rc)
        return rc;
    memcpy(ret_project, project, sizeof(project));
    return ERR_OK;
}

enum err_code store_key_create(struct store *store, const char *project_name,
                               char ret_key[KEY_SIZE], struct err *err)
{
    char key[sizeof(KEY_HEAD) + KEY_LETTERS] = KEY_HEAD;
    char project[ID_SIZE];
    enum err_code rc;

    rc = check_project_name(project_name, err);
    if (rc)
        return rc;
    id_random(key + sizeof(KEY_HEAD) - 1, KEY_LETTERS);
    rc = put_key_of(store, project_name, key, project, err);
    if (rc)
        return rc;
    memcpy(ret_key, key, sizeof(key));
    return ERR_OK;
}

/* True, with the project's id, if the key already opens the project of that name. */
static enum err_code key_opens(struct store *store, const char *project_name, const char *key,
                               char ret_project[ID_SIZE], bool *ret_opens, struct err *err)
{
    static const struct db_statement look = {
        "key_opens", "SELECT p.id FROM api_keys k JOIN projects p ON p.id = k.project_id"
                     " WHERE k.hash = $1 AND k.revoked_at IS NULL AND p.name = $2"};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    add_hash(&args, key);
    db_arg_text(&args, project_name);
    rc = db_once(store, &look, &args, &rows, err);
    if (rc)
        return rc;
    *ret_opens = db_count(rows) > 0;
    if (*ret_opens)
        db_id(rows, 0, 0, ret_project, ID_SIZE);
    return ERR_OK;
}

/* Looks first: nodes that start with a key that is right already write nothing. */
enum err_code store_key_ensure(struct store *store, const char *project_name, const char *key,
                               char ret_project[ID_SIZE], struct err *err)
{
    enum err_code rc;
    bool opens;

    rc = check_project_name(project_name, err);
    if (rc)
        return rc;
    rc = key_opens(store, project_name, key, ret_project, &opens, err);
    if (rc || opens)
        return rc;
    return put_key_of(store, project_name, key, ret_project, err);
}

/* ---- Looking and revoking ---- */

enum err_code store_key_list(struct store *store, struct key_row **ret_rows, size_t *ret_count,
                             struct err *err)
{
    static const struct db_statement list = {
        "store_key_list", "SELECT k.id, p.name, k.prefix, k.created_at"
                          " FROM api_keys k JOIN projects p ON p.id = k.project_id"
                          " WHERE k.revoked_at IS NULL ORDER BY k.created_at, k.id"};
    AUTO_DB_ROWS *rows = NULL;
    struct key_row *keys;
    enum err_code rc;

    rc = db_once(store, &list, NULL, &rows, err);
    if (rc)
        return rc;
    keys = mem_new_array(struct key_row, db_count(rows) + 1);
    for (size_t i = 0; i < db_count(rows); i++) {
        db_id(rows, i, 0, keys[i].id, sizeof(keys[i].id));
        db_id(rows, i, 1, keys[i].project, sizeof(keys[i].project));
        db_id(rows, i, 2, keys[i].prefix, sizeof(keys[i].prefix));
        keys[i].created_at = db_int(rows, i, 3);
    }
    *ret_rows = keys;
    *ret_count = db_count(rows);
    return ERR_OK;
}

/* The argument is bound twice, hashed and as it is: an id's hash is no key's, and no key is an
 * id. */
enum err_code store_key_revoke(struct store *store, const char *key_or_id, struct err *err)
{
    static const struct db_statement revoke = {"store_key_revoke",
                                               "UPDATE api_keys SET revoked_at = $3 WHERE "
                                               "(hash = $1 OR id = $2) AND revoked_at IS NULL"};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    add_hash(&args, key_or_id);
    db_arg_text(&args, key_or_id);
    db_arg_int(&args, clock_wall_us());
    rc = db_once(store, &revoke, &args, &rows, err);
    if (rc)
        return rc;
    if (db_changed(rows) == 0)
        return err_set(err, ERR_NOT_FOUND, "there is no such key");
    return ERR_OK;
}
