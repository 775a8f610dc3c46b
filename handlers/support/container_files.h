#ifndef RUNNEL_HANDLERS_SUPPORT_CONTAINER_FILES_H
#define RUNNEL_HANDLERS_SUPPORT_CONTAINER_FILES_H

#include <jansson.h>

/* The files of a run's container (run_settings.h), for the description of a tool that runs code in it:
 *
 *   Files in /mnt/data: a.csv (12 KB), b.csv (1 KB).
 *
 * CONTAINER_FILES_NAMED names at most, then a number. NULL if it has no files. The caller frees. */
#define CONTAINER_FILES_NAMED ((size_t)50)
char *container_files_text(const json_t *files);

/* Its skills in the same way, a line each. NULL if it has none. The caller frees. */
char *container_skills_text(const json_t *skills);

/* Both, for the member "note" of what init() returns (core/tool/tool.h). New reference. */
struct run_settings;
json_t *container_note_of(const struct run_settings *settings);

#endif
