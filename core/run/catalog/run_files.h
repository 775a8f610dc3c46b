#ifndef RUNNEL_CORE_RUN_CATALOG_RUN_FILES_H
#define RUNNEL_CORE_RUN_CATALOG_RUN_FILES_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/base/ids.h"
#include "core/domain/rows.h"
#include "core/domain/run_settings.h"

/*
 * run_files.h -- which files a run gives to its tools.
 *
 * Pure functions: any thread. `items` are the history of the run, as its loop has it.
 */

/* Those of tool_resources and of the attachments of messages, by the types of tools (files_view.h). New reference. */
json_t *run_files_view(const struct run_settings *settings, const struct item_row *items,
                       size_t count);

/* Adds those that messages name in their contents. Code of a response sees them; in a thread, files are given to it by
 * name. */
void run_files_add_inputs(json_t *view, const char *type, const struct item_row *items,
                          size_t count);

/* The container that the newest call of the items has used; "" without one. */
void run_files_past_container(const struct item_row *items, size_t count, char ret_id[ID_SIZE]);

/* The ids of the files that lie in the container of the run's hosted tools, each once: those that an entry of `tools`
 * names for its container, then those that are given to its type. New reference; empty also without such a tool.
 * *ret_named: the container of an entry, as run_container_of() has it; or NULL. Borrowed from the settings. */
json_t *run_files_of_container(const struct run_settings *settings, enum row_face face,
                               const struct item_row *items, size_t count,
                               const char **ret_named);

/* Whether a tool of the run has a container. */
bool run_files_need_container(const struct run_settings *settings);

/* The container that an entry of `tools` asks for: its id, or an object that says what a new one is made with. NULL: it
 * runs no code. *ret_member is the member that says so. Borrowed. */
const json_t *run_wanted_container(const json_t *tool, const char **ret_member);

/* The container of what that function returns: one that the request names, or that the server has found for it when the
 * run was accepted. NULL: none yet. Borrowed. */
const char *run_container_of(const json_t *wanted);

/* The same of a tool of the run: of its own entry, else of the first entry that asks for one, because all tools of a
 * run share a container. NULL: none does. Borrowed. */
const json_t *run_shared_container(const struct run_settings *settings, const json_t *entry);

#endif
