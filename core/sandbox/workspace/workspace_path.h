#ifndef RUNNEL_CORE_SANDBOX_WORKSPACE_WORKSPACE_PATH_H
#define RUNNEL_CORE_SANDBOX_WORKSPACE_WORKSPACE_PATH_H

#include <stddef.h>

#include "core/base/err.h"

/*
 * workspace_path.h -- how models and clients name files of a workspace.
 *
 *     report.csv   /report.csv   /mnt/data/report.csv   ./plots/../report.csv       all mean report.csv
 *     /etc/passwd  ../secret     /mnt/database                                      are outside
 *
 * A box sees the workspace as /mnt/data, so programs in it print such paths. Models also write the workspace as `/`.
 * A path that begins with a folder that boxes have beside /mnt, such as /etc or /usr, means that folder, and no tool of
 * the server reads it.
 *
 * This is for reading, not for safety: `..` is taken away from the text, and links are unknown here. What keeps a
 * tool in its workspace is the kernel (workspace.h).
 *
 * Pure functions: any thread.
 */

#define WORKSPACE_MOUNT "/mnt/data"

/* Bytes of a path, before and after. */
#define WORKSPACE_PATH_LIMIT ((size_t)4095)

/* The path from the workspace's folder on: without `.`, `..`, empty parts and a slash at either end; "." for the folder
 * itself. The caller frees. ERR_INVALID: empty, or too long. ERR_FORBIDDEN: outside, as
 * "/etc/passwd is outside of the workspace." */
enum err_code workspace_path_parse(const char *text, char **ret_path,
                                   struct err *err) MUST_CHECK;

/* ---- Roots ---- */

/* Folders of the operator (workspace.h): /mnt/roots/<name>/..., and in no other way. */
#define WORKSPACE_ROOTS_MOUNT "/mnt/roots"

/* Bytes of a root's name: small letters, digits, `-`. */
#define WORKSPACE_ROOT_NAME_LIMIT ((size_t)32)

/* The name of the root in which a path is, and the path from there on, as workspace_path_parse() makes it. NULL: it is
 * in no root; *ret_path is untouched then, and may be NULL. The caller frees both. */
char *workspace_path_root(const char *text, char **ret_path);

/* As boxes see it: "/mnt/data/report.csv". `path` is a parsed one. The caller frees. */
char *workspace_path_in_box(const char *path);

/* ERR_FORBIDDEN with the sentence above, for a path as it was written. Control characters become `?`. */
enum err_code workspace_path_outside(const char *text, struct err *err);

/* The text of a path for an error: cut, and without control characters and invalid bytes. The caller frees. */
char *workspace_path_shown(const char *text);

#endif
