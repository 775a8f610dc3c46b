#ifndef RUNNEL_CORE_STORE_TABLES_SECRETS_H
#define RUNNEL_CORE_STORE_TABLES_SECRETS_H

#include <stddef.h>

#include "core/base/err.h"
#include "core/store/store.h"

/*
 * secrets.h -- bytes that all servers of a database share. The first server that needs them
 * makes them.
 */

/* The secret of that name, which becomes `fresh` if it is missing. Both have `size` bytes.
 * ERR_INTERNAL when the stored one has another size. */
enum err_code store_secret_ensure(struct store *store, const char *name, const void *fresh,
                                  size_t size, void *ret_value, struct err *err) MUST_CHECK;

#endif
