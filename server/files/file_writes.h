#ifndef RUNNEL_SERVER_FILES_FILE_WRITES_H
#define RUNNEL_SERVER_FILES_FILE_WRITES_H

#include "core/tool/executor.h"

/*
 * file_writes.h -- how a tool writes files of its project: texts that it makes, or gives other bytes.
 *
 * The bytes are durable before the row names them, and the row is committed before the tool has its answer. What a
 * crash leaves between the two is a blob that no row holds, which is swept.
 *
 * The members of struct tool_desk; `arg` is the server. Each blocks on a disk and the store.
 */

/* Of files that tools make. */
#define FILE_WRITES_PURPOSE "assistants_output"

enum err_code file_writes_load(void *arg, const struct tenant *tenant, const char *id,
                               size_t limit, struct tool_text *ret_text,
                               struct err *err) MUST_CHECK;
enum err_code file_writes_change(void *arg, const struct tenant *tenant,
                                 const struct tool_text *read, const char *bytes, size_t length,
                                 struct err *err) MUST_CHECK;
enum err_code file_writes_make(void *arg, const struct tenant *tenant, const char *name,
                               const char *vector_store_id, const char *bytes, size_t length,
                               struct tool_file *ret_file, struct err *err) MUST_CHECK;

#endif
