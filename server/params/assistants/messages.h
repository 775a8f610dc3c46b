#ifndef RUNNEL_SERVER_PARAMS_ASSISTANTS_MESSAGES_H
#define RUNNEL_SERVER_PARAMS_ASSISTANTS_MESSAGES_H

#include <jansson.h>

#include "core/base/err.h"
#include "core/domain/rows.h"
#include "server/params/assistants/run_params.h"

/*
 * messages.h -- turns messages of the Assistants API into items: for the endpoints of messages, of threads
 * and of runs.
 *
 * A message of a thread is stored as an item of type "message", in the form of the Responses API. Its body is
 * {"role","content":[...],"attachments":[...]}: content parts are input_text {text}, input_image
 * {image_url|file_id, detail} for user messages and output_text {text, annotations, logprobs} or
 * refusal {refusal} for the assistant's. encode_message() turns them back into text, image_url,
 * image_file and refusal parts.
 *
 * A message that ended early has the reason in its body: "runnel":{"incomplete_reason":"run_failed"} (or
 * max_tokens, content_filter, run_cancelled, run_expired).
 *
 * Pure functions, apart from the clock and fresh ids: any thread.
 */

#define MESSAGE_TEXT_LIMIT       ((size_t)256000) /* characters of one text part */
#define MESSAGE_PART_LIMIT       ((size_t)500)
#define MESSAGE_ATTACHMENT_LIMIT ((size_t)500)

/* Checks one CreateMessageRequest, with the API's complaints, and fills in *ret_item: a new id, role, body,
 * metadata, status, times, and thread_id (which may be ""). `path` is "", or such as "messages[0]". The
 * caller clears the row. */
enum err_code message_decode(const json_t *message, const char *path, const char *thread_id,
                             struct item_row *ret_item, struct err *err) MUST_CHECK;

/* A list of messages under `key`, such as additional_messages. Absent or null is an empty list. The caller
 * frees the rows with item_rows_free(); after an error there is nothing to free. */
enum err_code messages_decode(const json_t *object, const char *path, const char *key,
                              const char *thread_id, struct item_row **ret_items,
                              size_t *ret_count, struct err *err) MUST_CHECK;

/* A new thread with its messages, from {messages, tool_resources, metadata, runnel}: the body of createThread,
 * or the member `thread` of createThreadAndRun. */
enum err_code thread_decode(const json_t *thread, const char *path,
                            struct thread_row *ret_thread, struct item_row **ret_messages,
                            size_t *ret_count, struct err *err) MUST_CHECK;

#endif
