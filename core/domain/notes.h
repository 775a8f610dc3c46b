#ifndef RUNNEL_CORE_DOMAIN_NOTES_H
#define RUNNEL_CORE_DOMAIN_NOTES_H

#include <jansson.h>
#include <stdbool.h>

/*
 * notes.h -- the server's own data in objects of OpenAI's form: a member `runnel`.
 *
 * Bodies of items have notes, and so do listed tools, details of approvals, and the usage of a run. Clients
 * see some of them; item_hide_notes() removes the others. A request has a member of the same name, which is
 * no note: its run reads it as struct run_settings.
 *
 * Pure functions: any thread that owns the tree.
 */

/* The notes in an object; NULL without any. Borrowed. */
json_t *notes_of(const json_t *object);

/* The same; adds an empty object if it is missing. Borrowed. */
json_t *notes_make(json_t *object);

/* Removes them. */
void notes_drop(json_t *object);

/* Of a call whose result the model may cite: its number among such calls of its context, which clients see and
 * send back, and the list of its sources, which they do not see (core/tool/tool.h). */
#define NOTE_SEARCH         "search"
#define NOTE_SOURCES        "sources"
#define SEARCH_NUMBER_LIMIT 999999

/* Of a call that has run code: what it has done to the files of its container (core/tool/tool_container.h). */
#define NOTE_FILES "files"

/* Of a call that has drawn a picture: the blob where it lies (core/store/tables/files/pictures.h). Clients do not see
 * the note, but the picture. */
#define NOTE_PICTURE "picture"

/* Of a call whose result a stranger wrote: true (core/tool/tool.h, TOOL_FOREIGN). Clients do not see it. */
#define NOTE_FOREIGN "foreign"

/* Of a server-side call that a program has made: its call id, by which the program knows it again. Clients see it and
 * send it back. Items of other calls show theirs. */
#define NOTE_CALL_ID "call_id"

/* Of a call that the upstream of the model has executed: true. Clients see it and send it back. The notes name the
 * upstream, too (core/run/turn/run_passed.h). */
#define NOTE_PASSED "passed"

/* An item was cut: its answer broke off, or it belongs to a turn that was requested again
 * (core/run/engine/recover.h). Clients do not see this note, and no model is sent the item. */
void notes_mark_cut(json_t *body);
bool notes_say_cut(const json_t *body);

#endif
