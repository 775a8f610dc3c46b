#ifndef RUNNEL_CORE_RUN_CATALOG_TOOL_SETTINGS_H
#define RUNNEL_CORE_RUN_CATALOG_TOOL_SETTINGS_H

#include <jansson.h>

/*
 * tool_settings.h -- what a project, and a user within it, say of tools: which are on, and who is asked
 * about them. {"tool_groups": overrides (override.h), "permissions": a set (permission.h)}, both
 * optional.
 *
 * They stand behind the operator's configuration and before assistant, thread and request. A group is
 * on by them where they enable it; whoever comes after may say otherwise. Permissions only tighten
 * what the operator allows, and nobody who comes after loosens them: they go by group and tool, not by
 * the label that a request gives to a group.
 *
 * A run has them as they were when it was made, in its settings (core/domain/run_settings.h).
 *
 * Pure functions.
 */

/* The project's, with the user's over them. Either may be NULL. New reference; NULL when both are. */
json_t *tool_settings_merge(const json_t *project, const json_t *user);

#endif
