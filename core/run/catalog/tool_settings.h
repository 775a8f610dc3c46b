#ifndef RUNNEL_CORE_RUN_CATALOG_TOOL_SETTINGS_H
#define RUNNEL_CORE_RUN_CATALOG_TOOL_SETTINGS_H

#include <jansson.h>

/*
 * tool_settings.h -- settings of a project, and of a user within it, about tools: which groups
 * are on, and which calls need an approval. {"tool_groups": overrides (override.h),
 * "permissions": a set (permission.h)}, both optional.
 *
 * They come after the operator's configuration, and before assistant, thread and request. A
 * later level may turn a group on or off again. A permission only tightens: no later level
 * loosens it. Permissions name a group and a tool, and not the label that a request gives the
 * group.
 *
 * A run uses the settings as they were when it was created: they are in its snapshot
 * (core/domain/run_settings.h).
 *
 * Pure functions: any thread.
 */

/* The project's settings with the user's on top. Either may be NULL. New reference; NULL if
 * both are. */
json_t *tool_settings_merge(const json_t *project, const json_t *user);

#endif
