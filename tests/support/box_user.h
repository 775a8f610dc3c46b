#ifndef RUNNEL_TESTS_SUPPORT_BOX_USER_H
#define RUNNEL_TESTS_SUPPORT_BOX_USER_H

#include <stdint.h>

/*
 * box_user.h -- whether this machine can have boxes, and who they run as.
 */

/* Root must become another user; everybody else stays who they are, which is 0 here. */
uint32_t box_user(void);

/* Skips the calling test where boxes cannot be, and prints "SKIPPED n (no user namespaces)", n counting them. With
 * RUNNEL_REQUIRE_SANDBOX=1 in the environment the test fails instead. */
void skip_without_boxes(void);

#endif
