#ifndef RUNNEL_CORE_DOMAIN_NOTES_H
#define RUNNEL_CORE_DOMAIN_NOTES_H

#include <jansson.h>

/*
 * notes.h -- what this server notes in objects that have OpenAI's form: an object `runnel` inside.
 *
 * Bodies of items have it, listed tools, details of questions, and the tokens of a run. Clients see
 * some of the notes, item_hide_notes() takes out the others. A request has a member of the same name,
 * which is no note: its run reads it as struct run_settings.
 *
 * Pure functions.
 */

/* The notes in an object; NULL without any. Borrowed. */
json_t *notes_of(const json_t *object);

/* The same; an empty one is made where there is none. */
json_t *notes_make(json_t *object);

#endif
