#ifndef RUNNEL_SERVER_ENCODE_ENCODE_H
#define RUNNEL_SERVER_ENCODE_ENCODE_H

#include <jansson.h>
#include <stdbool.h>

#include "core/domain/rows.h"
#include "core/store/tables/runs/runs.h"

/*
 * encode.h -- rows as the API's objects, one function per object.
 *
 * Every field of the API is there, null where it has no value. New references.
 *
 * What the rows hold, where both faces read it:
 *   usage       {"input_tokens","input_tokens_details":{"cached_tokens"},"output_tokens",
 *               "output_tokens_details":{"reasoning_tokens"},"total_tokens"}, of runs and steps
 *   error       {"code","message"}
 *   incomplete  {"reason"}: max_output_tokens (or its Assistants names max_completion_tokens and
 *               max_prompt_tokens), content_filter
 * Each face shows them in its own words.
 *
 * Pure functions: any thread.
 */

json_t *encode_assistant(const struct assistant_row *row);
json_t *encode_thread(const struct thread_row *row);
json_t *encode_conversation(const struct thread_row *row);
/* A message item of a thread, as thread.message. Also while it is written: status in_progress,
 * and no body yet. */
json_t *encode_message(const struct item_row *row);
/* Of a message of a thread; NULL for kinds that exist in Responses only. */
json_t *encode_annotation(const json_t *annotation);
json_t *encode_run(const struct run_row *row);
/* Its calls with their outputs, from the items that carry its id; hidden ones are left out.
 * `include` is of enum run_include. */
json_t *encode_step(const struct step_load *load, unsigned include);
/* A call of whatever kind (function_call, mcp_call, custom_tool_call, local_shell_call ...) as a
 * tool call of type "function"; a search in files as one of its own. `output` is the item with its
 * output, or NULL. NULL for an item that is no call. */
json_t *encode_tool_call(const struct item_row *call, const struct item_row *output,
                         unsigned include);
/* {"prompt_tokens","completion_tokens","total_tokens"} from a row's usage; null for NULL. */
json_t *encode_run_usage(const char *usage);
/* The same in the words of Responses. */
json_t *encode_usage(const char *usage);

/* The response object; `output` (taken) is its list of output items, see encode_item(). */
json_t *encode_response(const struct run_row *row, json_t *output);
/* What went wrong: {"code", "message"} of a run that failed or took too long, else null. The object says
 * the same in its "error", but for RUN_NO_MODEL, which is no code there. */
json_t *encode_response_error(const struct run_row *row);
/* The same run as a compaction, when that was all that was wanted. */
json_t *encode_compaction(const struct run_row *row, json_t *output);
/* An item as Responses shows it: {"id","type","status",...body}; types that have no status go
 * without. */
json_t *encode_item(const struct item_row *row);

/* The same conversation as Assistants and as Responses call it: thread_X, conv_X. */
void encode_conversation_id(const char *thread_id, char ret_id[ID_SIZE]);

json_t *encode_deleted(const char *id, const char *object);
/* {"object":"list","data":...,"first_id","last_id","has_more"}; takes the array. */
json_t *encode_list(json_t *data, bool has_more);

/* Seconds for the API; null for 0. */
json_t *encode_time(int64_t microseconds);

#endif
