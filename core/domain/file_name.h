#ifndef RUNNEL_CORE_DOMAIN_FILE_NAME_H
#define RUNNEL_CORE_DOMAIN_FILE_NAME_H

/*
 * file_name.h -- names of files, which are data of clients and never part of a path.
 *
 * Pure functions: any thread.
 */

#define FILE_NAME_LIMIT 255 /* bytes */

/* What is kept of a filename in a form: its last element behind / or \, with control characters as "_", cut
 * to whole characters within the limit. "file" if nothing is left. The caller frees. */
char *file_name_kept(const char *filename);

/* The value of Content-Disposition for a download under this name: as ASCII, with "_" for what is none, and
 * as UTF-8 (RFC 6266). The caller frees. */
char *file_name_disposition(const char *filename);

#endif
