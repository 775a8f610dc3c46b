#include "core/store/tables/runs/runs.h"

/*
 * run_load.c -- what a run has when its loop takes it up, released. It needs no database, so a test with
 * a store of its own can link it.
 */

void run_load_clear(struct run_load *load)
{
    run_row_clear(&load->run);
    item_rows_free(load->items, load->item_count);
    step_rows_free(load->steps, load->step_count);
    call_rows_free(load->calls, load->call_count);
    *load = (struct run_load){0};
}
