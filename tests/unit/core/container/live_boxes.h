#ifndef RUNNEL_TESTS_UNIT_CORE_CONTAINER_LIVE_BOXES_H
#define RUNNEL_TESTS_UNIT_CORE_CONTAINER_LIVE_BOXES_H

#include "core/base/buf.h"
#include "core/container/boxes.h"
#include "core/container/python.h"
#include "core/sandbox/workspace/workspace.h"

/*
 * live_boxes.h -- containers for tests: a folder for each, boxes that a test may have, and cells in them.
 */

extern struct boxes *live_boxes;          /* of the test that is running */
extern struct boxes_options live_options; /* of the next one: a group sets them up */

/* For cmocka: a spawner and a folder for the program; boxes for a test, and their end, after which nothing may be
 * left. */
int live_start(void **state);
int live_stop(void **state);
int live_set_up(void **state);
int live_tear_down(void **state);

#define LIVE_DISK   ((uint64_t)64 << 20) /* of a workspace */
#define LIVE_MEMORY ((uint64_t)256 << 20)

/* The workspace of a container, which is made if needed, and open until the end of the test. */
struct workspace *live_workspace(const char *container);

struct boxes_request live_request(const char *container, enum boxes_use use);

/* Fails the test if it cannot be had. */
struct boxes_hold *live_take(const char *container, enum boxes_use use);

/* ---- Cells ---- */

/* What a cell has shown: text as it is, and "<.figures/1.png>" for a figure. */
struct shown {
    struct buf text;
    struct python_result result;
};

/* A cell that keeps what it shows, and has a minute. */
struct python_cell live_cell(const char *container, const char *code, struct shown *shown);

/* Takes the container's Python, runs a cell, gives it back. */
void live_run(const char *container, const struct python_cell *cell, struct shown *shown);

/* Asserts what a cell of container "a" shows, and that it was done. */
void assert_shows(const char *code, const char *expected);

#endif
