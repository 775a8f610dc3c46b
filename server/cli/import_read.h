#ifndef RUNNEL_SERVER_CLI_IMPORT_READ_H
#define RUNNEL_SERVER_CLI_IMPORT_READ_H

#include <jansson.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/domain/rows.h"
#include "core/store/tables/vector_stores/vector_stores.h"
#include "server/params/vector_store_params.h"

/*
 * import_read.h -- makes rows of OpenAI's objects, in the form in which its SDKs return and print them.
 *
 * Ids and times are kept. A part that cannot be stored is left out, and the id of a file that is missing is
 * kept. Both add a line to `notes`. An object that would be of no use is ERR_INVALID, with the API's complaints.
 *
 * `object` may be changed. The caller clears the row, also after an error. The functions touch nothing but their
 * arguments: any thread.
 */

/* What could not be carried over: lines of text. */
struct import_notes {
    struct buf text;
    const json_t
        *known; /* has a member for each id of a file that is there; NULL: none. Borrowed */
};

enum err_code import_read_file(json_t *object, struct file_row *ret_row,
                               struct import_notes *notes, struct err *err) MUST_CHECK;
/* A vector store without its files. Expired ones are refused. */
enum err_code import_read_store(json_t *object, struct vector_store_row *ret_row,
                                struct import_notes *notes, struct err *err) MUST_CHECK;
/* A file of a vector store. The list points into *ret_body; the caller clears both. */
enum err_code import_read_store_file(json_t *object, char ret_store_id[ID_LIMIT + 1],
                                     json_t **ret_body, struct file_list *ret_file,
                                     struct import_notes *notes, struct err *err) MUST_CHECK;
enum err_code import_read_assistant(json_t *object, struct assistant_row *ret_row,
                                    struct import_notes *notes, struct err *err) MUST_CHECK;
enum err_code import_read_thread(json_t *object, struct thread_row *ret_row,
                                 struct import_notes *notes, struct err *err) MUST_CHECK;
enum err_code import_read_message(json_t *object, struct item_row *ret_row,
                                  struct import_notes *notes, struct err *err) MUST_CHECK;

#endif
