#ifndef RUNNEL_CORE_STORE_PG_PAGE_H
#define RUNNEL_CORE_STORE_PG_PAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/mem.h"
#include "core/domain/rows.h"
#include "core/domain/tenant.h"
#include "core/store/pg/db.h"

/*
 * page.h -- how a page of a list is read.
 *
 * `after` begins a page behind a row. `before` alone ends a page in front of a row, so the page
 * is read backwards from there. A statement gets both ends in ascending order of its key,
 * whatever the order of the list. It reads one row more than the page has: that row shows
 * whether there are more.
 */

struct page_scan {
    bool ascending;  /* which of the two statements reads it */
    bool backwards;  /* the rows are to be reversed */
    const char *low; /* ids; "" for none */
    const char *high;
    int limit; /* for LIMIT */
};

struct page_scan page_scan(const struct page *page);

/* How many of the rows belong to the page, and which row is its i-th. */
size_t page_count(const struct page_scan *scan, const struct db_rows *rows, bool *ret_more);
size_t page_row(const struct page_scan *scan, size_t count, size_t i);

/* A list by id, for its cursors. */
struct page_list {
    struct db_statement exists; /* a row for project $1, owner of the list $2 and id $3 */
    /* Of the ids of objects that can be deleted alone, all made by this server. One that is gone has
     * its place in the order of ids. NULL: what a cursor names must be there. */
    const char *prefix;
};

/* Checks that both cursors name something that is or was in the list. ERR_INVALID otherwise. */
enum err_code page_cursors_check(struct store *store, const struct page_list *list,
                                 const struct tenant *tenant, const char *owner,
                                 const struct page *page, struct err *err) MUST_CHECK;

/* Reads a page of a list by id, after checking its cursors. Parameters: the project $1, the
 * list's owner $2, both ends $3 and $4, the limit $5. The list of a whole project has no owner:
 * NULL here, and no parameter. `lists` are the descending and the ascending statement. */
enum err_code page_read(struct store *store, const struct db_statement lists[2],
                        const struct page_list *list, const struct tenant *tenant,
                        const char *owner, const struct page *page, struct page_scan *ret_scan,
                        struct db_rows **ret_rows, struct err *err) MUST_CHECK;

/* The page's rows, in its order, as an array that the caller frees. `read(rows, row, element)`
 * fills in each element. A macro, because elements have types. */
#define page_unroll(scan, rows, read, ret_array, ret_count, ret_more)                       \
    do {                                                                                    \
        size_t page_count_ = page_count((scan), (rows), (ret_more));                        \
                                                                                            \
        *(ret_array) = mem_zeroed(page_count_ + 1, sizeof(**(ret_array)));                  \
        for (size_t page_i_ = 0; page_i_ < page_count_; page_i_++)                          \
            read((rows), page_row((scan), page_count_, page_i_), &(*(ret_array))[page_i_]); \
        *(ret_count) = page_count_;                                                         \
    } while (0)

/* ERR_INVALID for a cursor that is not in the list; `param` is "after" or "before". */
enum err_code page_cursor_unknown(const char *param, const char *id, struct err *err);

#endif
