#ifndef RUNNEL_SERVER_ENCODE_ENCODE_H
#define RUNNEL_SERVER_ENCODE_ENCODE_H

#include <jansson.h>
#include <stdbool.h>

#include "core/domain/rows.h"
#include "core/store/tables/runs/runs.h"

/*
 * encode.h -- rows of the store as objects of the API, one function for each object.
 *
 * An object has every field of the API, null where there is no value. Each function returns a new reference.
 *
 * Columns that both faces read are JSON in one form:
 *   usage       {"input_tokens","input_tokens_details":{"cached_tokens"},"output_tokens",
 *               "output_tokens_details":{"reasoning_tokens"},"total_tokens"}, of runs and steps
 *   error       {"code","message"}
 *   incomplete  {"reason"}: max_output_tokens (or its Assistants names max_completion_tokens and
 *               max_prompt_tokens), content_filter
 * Each face shows them under its own names.
 *
 * Pure functions: any thread.
 */

json_t *encode_assistant(const struct assistant_row *row);
json_t *encode_thread(const struct thread_row *row);
json_t *encode_conversation(const struct thread_row *row);
/* A message item of a thread, as thread.message. A message in progress has no body yet. */
json_t *encode_message(const struct item_row *row);
/* False for an annotation of a type that only Responses has. */
bool encode_shows_annotation(const json_t *annotation);
/* Any other in the form of Assistants. `mark` is the citation's mark in the text, with `length` bytes; 0: it has
 * none. New reference. */
json_t *encode_annotation(const json_t *annotation, const char *mark, size_t length);
json_t *encode_run(const struct run_row *row);
/* A run step with its calls and their outputs, without hidden calls. `include` is a set of enum run_include. */
json_t *encode_step(const struct step_load *load, unsigned include);
/* A call of any type as a tool call of a step: of the type that its tool has, else "function". `output` is the
 * item with its output, or NULL. NULL for an item that is no call. */
json_t *encode_tool_call(const struct item_row *call, const struct item_row *output,
                         unsigned include);
/* The usage of a row as {"prompt_tokens","completion_tokens","total_tokens"}; null for NULL. */
json_t *encode_run_usage(const char *usage);
/* The same in the form of Responses. */
json_t *encode_usage(const char *usage);

/* The response object. Takes `output`, the list of its output items (encode_item()). */
json_t *encode_response(const struct run_row *row, json_t *output);
/* {"code", "message"} of a run that failed or expired, else null. The member "error" of the object is the same,
 * except that RUN_NO_MODEL is no code there. */
json_t *encode_response_error(const struct run_row *row);
/* The object of a run that only made a compaction. Takes `output`. */
json_t *encode_compaction(const struct run_row *row, json_t *output);
/* An item as Responses shows it: {"id","type","status",...body}. Some types have no status. */
json_t *encode_item(const struct item_row *row, unsigned include);

/* conv_X, the id in Responses, for thread_X. */
void encode_conversation_id(const char *thread_id, char ret_id[ID_SIZE]);

json_t *encode_file(const struct file_row *row);
/* `file`: what it was completed to; NULL: it was not, or the file is gone. */
json_t *encode_upload(const struct upload_row *row, const struct file_row *file);
json_t *encode_upload_part(const struct part_row *part);
json_t *encode_container(const struct container_row *row);
json_t *encode_container_file(const struct container_file_row *row);
json_t *encode_deleted(const char *id, const char *object);
/* {"object":"list","data":...,"first_id","last_id","has_more"}; takes the array. */
json_t *encode_list(json_t *data, bool has_more);

/* Seconds for the API; null for 0. */
json_t *encode_time(int64_t microseconds);

#endif
