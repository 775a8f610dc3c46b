#ifndef RUNNEL_SERVER_PARAMS_ASSISTANTS_MESSAGES_H
#define RUNNEL_SERVER_PARAMS_ASSISTANTS_MESSAGES_H

#include <jansson.h>

#include "core/base/err.h"
#include "core/domain/rows.h"
#include "server/params/assistants/run_params.h"

/*
 * messages.h -- messages of the Assistants API into items, for threads, runs and messages alike.
 *
 * A message of a thread is an item of type "message" in the Responses vocabulary. Its body is
 * {"role","content":[...],"attachments":[...]}: content parts are input_text {text}, input_image
 * {image_url|file_id, detail} for user messages and output_text {text, annotations, logprobs} or
 * refusal {refusal} for the assistant's. encode_message() turns them into text, image_url,
 * image_file and refusal parts.
 *
 * A message that ended early says why in its body: "runnel":{"incomplete_reason":"run_failed"} (or
 * max_tokens, content_filter, run_cancelled, run_expired).
 */

#define MESSAGE_TEXT_LIMIT       ((size_t)256000)
#define MESSAGE_PART_LIMIT       ((size_t)500)
#define MESSAGE_ATTACHMENT_LIMIT ((size_t)500)

/* Checks one CreateMessageRequest with the API's errors and fills in *ret_item (id, role, body,
 * metadata, status, times; thread_id as given, "" allowed). `path` is "" or e.g. "messages[0]". */
enum err_code message_decode(const json_t *message, const char *path, const char *thread_id,
                             struct item_row *ret_item, struct err *err) MUST_CHECK;

/* A list of them, e.g. additional_messages under `key`; absent or null gives none. The caller
 * frees with item_rows_free(). */
enum err_code messages_decode(const json_t *object, const char *path, const char *key,
                              const char *thread_id, struct item_row **ret_items,
                              size_t *ret_count, struct err *err) MUST_CHECK;

/* `thread` is {messages, tool_resources, metadata, runnel} of createThread and createThreadAndRun. */
enum err_code thread_decode(const json_t *thread, const char *path,
                            struct thread_row *ret_thread, struct item_row **ret_messages,
                            size_t *ret_count, struct err *err) MUST_CHECK;

#endif
