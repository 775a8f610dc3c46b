#ifndef RUNNEL_CORE_RUN_TURN_RUN_MADE_H
#define RUNNEL_CORE_RUN_TURN_RUN_MADE_H

#include <jansson.h>

/*
 * run_made.h -- the files that code has made, and how messages show them. On the run's loop.
 *
 * A model names a file as "sandbox:/mnt/data/plot.csv", in a link. Each such text that names a file of its container
 * gets an annotation, which covers exactly the text: container_file_citation in a response, file_path in a message of a
 * thread. The text itself stays. Files are known from the calls of this run, and, if the text names another, from those
 * of its history.
 *
 * Models forget to mention their pictures. So a picture that no text names is shown all the same: by an annotation of
 * the next text that ends, from 0 to 0; in a thread by a part of its own, before the text of the next message.
 */

struct run;
struct run_made;
struct tenant;

/* What happens to a file that a stored response cites by a link. On the run's loop; does not wait. */
struct run_cited {
    void (*cite)(struct run_cited *cited, const struct tenant *tenant, const char *container_id,
                 const char *file_id);
};

/* Before a turn: pictures that an earlier residency of this run has drawn, and has not shown. */
void run_open_made(struct run *run);

/* A call has ended. `files` is the list of its result, NULL without one; `container_id` is where they lie. Copied. */
void run_made_add(struct run *run, const char *container_id, const json_t *files);

/* A message of a thread is open and has no part yet: the pictures become its first parts. */
void run_show_made(struct run *run);

/* The open part is about to end: text gets its annotations. */
void run_cite_made(struct run *run);

void run_made_free(struct run_made *made);

#endif
