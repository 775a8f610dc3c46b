#include "core/store/tables/secrets.h"

#include <string.h>

#include "core/base/mem.h"
#include "core/store/pg/db.h"

/* The first server makes the secret, and all others read it. Two that start at once both bring a
 * fresh one: the second INSERT waits for the first, and its UPDATE, which changes nothing,
 * returns the row that exists. DO NOTHING would return no row. */
enum err_code store_secret_ensure(struct store *store, const char *name, const void *fresh,
                                  size_t size, void *ret_value, struct err *err)
{
    static const struct db_statement ensure = {
        "store_secret_ensure", "INSERT INTO secrets (name, value) VALUES ($1, $2)"
                               " ON CONFLICT (name) DO UPDATE SET name = excluded.name"
                               " RETURNING value"};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    AUTO_FREE char *value = NULL;
    size_t length = 0;
    enum err_code rc;

    db_arg_text(&args, name);
    db_arg_bytes(&args, fresh, size);
    rc = db_once(store, &ensure, &args, &rows, err);
    if (rc)
        return rc;
    value = db_bytes(rows, 0, 0, &length);
    if (length != size)
        return err_set(err, ERR_INTERNAL, "the secret '%s' has %zu bytes", name, length);
    memcpy(ret_value, value, size);
    return ERR_OK;
}
