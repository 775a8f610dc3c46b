#ifndef RUNNEL_SERVER_CLI_IMPORT_READ_H
#define RUNNEL_SERVER_CLI_IMPORT_READ_H

#include <jansson.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/domain/rows.h"

/*
 * import_read.h -- OpenAI's objects into rows, as its SDKs return and print them.
 *
 * Ids and times are kept. What cannot be carried over, or names what is not here, is left out or
 * kept as a name, and noted: a line of text for each, added to `notes`. An object that could not
 * be used afterwards is refused, with the API's complaints.
 *
 * Pure functions but for the notes: any thread. The caller clears the rows.
 */

enum err_code import_read_assistant(json_t *object, struct assistant_row *ret_row,
                                    struct buf *notes, struct err *err) MUST_CHECK;
enum err_code import_read_thread(json_t *object, struct thread_row *ret_row, struct buf *notes,
                                 struct err *err) MUST_CHECK;
enum err_code import_read_message(json_t *object, struct item_row *ret_row, struct buf *notes,
                                  struct err *err) MUST_CHECK;

#endif
