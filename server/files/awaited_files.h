#ifndef RUNNEL_SERVER_FILES_AWAITED_FILES_H
#define RUNNEL_SERVER_FILES_AWAITED_FILES_H

#include "core/base/err.h"
#include "core/run/turn/run_start.h"

struct server;

/*
 * awaited_files.h -- runs that wait until the files of their thread's vector store are searchable.
 *
 * A message may attach a file and the next request start a run, so the run would search a store that has nothing yet.
 * It stays queued for FILES_WAIT_SECONDS at most, and then searches what is there. The files of the assistant's store
 * are not waited for, as at OpenAI.
 */

/* As engine_run(), for runs that may wait, or whose containers have files (listed_files.h). Blocks on the store. */
void awaited_files_run(struct server *server, struct run_start *start);

/* Lets all runs of this node go whose stores have no more files in progress. Blocks on the store if one waits. */
enum err_code awaited_files_look(struct server *server, struct err *err) MUST_CHECK;

#endif
