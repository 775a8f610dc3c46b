#ifndef RUNNEL_TESTS_SUPPORT_BOXES_H
#define RUNNEL_TESTS_SUPPORT_BOXES_H

#include <stdint.h>

#include "core/base/buf.h"
#include "core/sandbox/box.h"

/*
 * boxes.h -- tests in real boxes: whether this machine can have any, a box for each test, scripts in it.
 *
 * The program of the test becomes the parent of all orphans of its family, so that it sees who is left.
 */

/* Root must become another user; everybody else stays who they are, which is 0 here. */
uint32_t box_user(void);

/* Skips the calling test where boxes cannot be, and prints "SKIPPED n (no user namespaces)", n counting them. With
 * RUNNEL_REQUIRE_SANDBOX=1 in the environment the test fails instead. */
void skip_without_boxes(void);

/* Runs a group of tests that are all in boxes. Where boxes cannot be, each of them is skipped in the same way. Returns
 * the exit status. */
struct CMUnitTest;
int run_in_boxes(const struct CMUnitTest *tests, size_t count, int (*start)(void **state),
                 int (*stop)(void **state));

#define BOX_LONG_MS ((uint32_t)60000)

extern struct box *test_box; /* of the test that is running */

/* For cmocka: a spawner for the program; a box for a test, and its end, after which nothing may be left. */
int boxes_start(void **state);
int boxes_stop(void **state);
int box_set_up(void **state);
int box_tear_down(void **state);

/* A box without folders. Fails the test if it cannot be made. */
struct box *open_test_box(uint64_t memory, uint32_t processes);

/* Fails the test if any process of a box stays. */
void assert_no_box_is_left(void);

/* What a command has printed on either stream. */
struct printed {
    struct buf texts[2];
};

/* For struct box_run, with a struct printed. */
bool keep_output(void *printed, enum box_stream stream, const char *bytes, size_t size);
const char *printed_on(const struct printed *printed, enum box_stream stream);
void forget_output(struct printed *printed);

/* How to run a shell script, which has a minute. `arguments` have room for four. */
struct box_run script(const char **arguments, const char *text);

/* Runs it in the test's box. A box that has ended is a result, other errors fail the test. */
struct box_result run(struct box_run plan);
struct box_result run_script(const char *text);

/* Asserts what a script prints, and that it succeeds. */
void assert_prints(const char *text, const char *expected);

/* In the test's box are its first process and no other. */
void assert_box_is_empty(void);

#endif
