#ifndef RUNNEL_TESTS_SUPPORT_WORKSPACE_GROUND_H
#define RUNNEL_TESTS_SUPPORT_WORKSPACE_GROUND_H

#include <stdint.h>

#include "core/sandbox/workspace/workspace.h"

/*
 * workspace_ground.h -- a data_dir with one workspace for each test, and what a box could do to it.
 */

#define GROUND_BYTES ((uint64_t)1 << 20)
#define GROUND_FILES ((uint64_t)200)

extern struct workspaces *ground;
extern struct workspace *ground_workspace; /* of project "proj_a" and container "cntr_a" */
extern const char *ground_folder;          /* its folder on the host */
extern char ground_dir[64];                /* data_dir */

/* Whom the workspace belongs to; set it before. A box's user can reach it by its path. */
extern uint32_t ground_user;

/* For cmocka. The end of a test fails if a descriptor or a file outside of the workspaces is left. */
int ground_set_up(void **state);
int ground_tear_down(void **state);

/* Other limits, for this test. */
void ground_reopen(uint64_t bytes, uint64_t files, uint64_t reserve);

/* Without workspace.h: a file with this text, a folder with its parents, a link; paths are below the workspace's
 * folder. */
void ground_file(const char *path, const char *text);
void ground_make_folder(const char *path);
void ground_link(const char *target, const char *path);

/* The bytes of a file there, which the caller frees; NULL: it does not exist. */
char *ground_text(const char *path);

/* How many names a folder below data_dir has. */
size_t ground_count(const char *folder);

#endif
