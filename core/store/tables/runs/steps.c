/*
 * Run steps, each with its items.
 *
 * A step is how the Assistants API shows a turn: the message that was created, or the calls that
 * were made. Its contents are items like all others, which carry the step's id; so nothing is
 * stored twice, and a step costs one row. Lists read a page of steps, then the items of all of
 * them with one statement, and hand them out by id.
 *
 * The run is looked up in the same transaction, because the path names a thread and a run: a run
 * that is not in the thread is 404, also if it has such a step.
 */

#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/domain/tenant.h"
#include "core/store/pg/page.h"
#include "core/store/tables/columns.h"
#include "core/store/tables/runs/load.h"
#include "core/store/tables/runs/runs.h"

void step_loads_free(struct step_load *loads, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        step_row_clear(&loads[i].step);
        item_rows_free(loads[i].items, loads[i].item_count);
    }
    free(loads);
}

/* ---- Their items ---- */

/* A message is hidden when it was cut. Its step has failed, and still names it. */
static enum err_code read_items(struct db *db, const struct tenant *tenant, const char *run_id,
                                const struct step_load *loads, size_t count,
                                struct db_rows **ret_rows, struct err *err)
{
    static const struct db_statement read = {
        "step_items", "SELECT " ITEM_COLUMNS " FROM items i WHERE i.project_id = $1"
                      " AND i.run_id = $2 AND i.step_id = ANY($3::text[])"
                      " AND (NOT i.hidden OR i.type = 'message')"
                      " ORDER BY i.step_id, i.position, i.id"};
    const char **ids = mem_new_array(const char *, count + 1);
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    for (size_t i = 0; i < count; i++)
        ids[i] = loads[i].step.id;
    db_arg_tenant(&args, tenant);
    db_arg_text(&args, run_id);
    db_arg_texts(&args, ids, count);
    rc = db_exec(db, &read, &args, ret_rows, err);
    free(ids);
    return rc;
}

/* The items of a step come together, in order. */
static void take_items_of(const struct db_rows *rows, struct step_load *load)
{
    size_t first = 0;
    size_t count = 0;

    while (first < db_count(rows) && strcmp(db_text(rows, first, ITEM_STEP_ID), load->step.id))
        first++;
    while (first + count < db_count(rows) &&
           strcmp(db_text(rows, first + count, ITEM_STEP_ID), load->step.id) == 0)
        count++;
    load->items = mem_new_array(struct item_row, count + 1);
    load->item_count = count;
    for (size_t i = 0; i < count; i++)
        item_read(rows, first + i, &load->items[i]);
}

static enum err_code add_items(struct db *db, const struct tenant *tenant, const char *run_id,
                               struct step_load *loads, size_t count, struct err *err)
{
    AUTO_DB_ROWS *rows = NULL;
    enum err_code rc = read_items(db, tenant, run_id, loads, count, &rows, err);

    for (size_t i = 0; !rc && i < count; i++)
        take_items_of(rows, &loads[i]);
    return rc;
}

/* ---- Looking ---- */

static enum err_code check_run(struct db *db, const struct tenant *tenant,
                               const char *thread_id, const char *run_id, struct err *err)
{
    struct run_row run;
    enum err_code rc = run_find(db, tenant, thread_id, run_id, &run, err);

    if (!rc)
        run_row_clear(&run);
    return rc;
}

#define STEP_LIST(order)                                                                 \
    "SELECT " STEP_COLUMNS " FROM run_steps s WHERE s.project_id = $1 AND s.run_id = $2" \
    " AND s.id > coalesce($3, '') AND s.id < coalesce($4, '~') ORDER BY s.id " order     \
    " LIMIT $5"

/* Its calls come later. */
static void read_load(const struct db_rows *rows, size_t row, struct step_load *ret_load)
{
    step_read(rows, row, &ret_load->step);
}

static enum err_code read_steps(struct db *db, const struct tenant *tenant, const char *run_id,
                                const struct page *page, struct step_load **ret_loads,
                                size_t *ret_count, bool *ret_more, struct err *err)
{
    static const struct db_statement list[] = {
        {"store_step_list_desc", STEP_LIST("DESC")},
        {"store_step_list_asc", STEP_LIST("ASC")},
    };
    struct page_scan scan = page_scan(page);
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, run_id);
    db_arg_id(&args, scan.low);
    db_arg_id(&args, scan.high);
    db_arg_int(&args, scan.limit);
    rc = db_exec(db, &list[scan.ascending], &args, &rows, err);
    if (rc)
        return rc;
    page_unroll(&scan, rows, read_load, ret_loads, ret_count, ret_more);
    return ERR_OK;
}

enum err_code store_step_list(struct store *store, const struct tenant *tenant,
                              const char *thread_id, const char *run_id,
                              const struct page *page, struct step_load **ret_steps,
                              size_t *ret_count, bool *ret_more, struct err *err)
{
    static const struct page_list cursor = {
        {"store_step_list_cursor",
         "SELECT 1 FROM run_steps WHERE project_id = $1 AND run_id = $2 AND id = $3"},
        NULL};
    struct step_load *loads;
    AUTO_DB *db = NULL;
    enum err_code rc;
    size_t count;

    rc = page_cursors_check(store, &cursor, tenant, run_id, page, err);
    if (rc)
        return rc;
    rc = db_begin(store, &db, err);
    if (rc)
        return rc;
    rc = check_run(db, tenant, thread_id, run_id, err);
    if (rc)
        return rc;
    rc = read_steps(db, tenant, run_id, page, &loads, &count, ret_more, err);
    if (rc)
        return rc;
    rc = add_items(db, tenant, run_id, loads, count, err);
    if (rc) {
        step_loads_free(loads, count);
        return rc;
    }
    *ret_steps = loads;
    *ret_count = count;
    return ERR_OK;
}

static enum err_code read_step(struct db *db, const struct tenant *tenant, const char *run_id,
                               const char *step_id, struct step_row *ret_step, struct err *err)
{
    static const struct db_statement get = {
        "store_step_get", "SELECT " STEP_COLUMNS " FROM run_steps s WHERE s.project_id = $1"
                          " AND s.run_id = $2 AND s.id = $3"};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, run_id);
    db_arg_text(&args, step_id);
    rc = db_exec(db, &get, &args, &rows, err);
    if (rc)
        return rc;
    if (db_count(rows) == 0)
        return err_set(err, ERR_NOT_FOUND, "No run step found with id '%s'.", step_id);
    step_read(rows, 0, ret_step);
    return ERR_OK;
}

enum err_code store_step_get(struct store *store, const struct tenant *tenant,
                             const char *thread_id, const char *run_id, const char *step_id,
                             struct step_load *ret_step, struct err *err)
{
    struct step_load load = {0};
    AUTO_DB *db = NULL;
    enum err_code rc;

    rc = db_begin(store, &db, err);
    if (rc)
        return rc;
    rc = check_run(db, tenant, thread_id, run_id, err);
    if (rc)
        return rc;
    rc = read_step(db, tenant, run_id, step_id, &load.step, err);
    if (rc)
        return rc;
    rc = add_items(db, tenant, run_id, &load, 1, err);
    if (rc) {
        step_row_clear(&load.step);
        return rc;
    }
    *ret_step = load;
    return ERR_OK;
}
