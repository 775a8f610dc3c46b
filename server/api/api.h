#ifndef RUNNEL_SERVER_API_API_H
#define RUNNEL_SERVER_API_API_H

#include "server/api/query_params.h"
#include "server/encode/encode.h"
#include "server/http/request.h"

/*
 * api.h -- every endpoint by name, grouped by the file that has it.
 *
 * endpoint_fn in server/http/request.h says how an endpoint is called and how it answers. Only
 * routes.c calls these functions, through its table.
 */

endpoint_fn api_health, api_ready, api_metrics; /* api/health.c */
endpoint_fn api_model_list, api_model_get;      /* api/models.c */
endpoint_fn api_pass_through;                   /* api/pass_through.c */
endpoint_fn api_pass_form;                      /* api/pass_form.c */
endpoint_fn api_assistant_list, api_assistant_create,
    api_assistant_get; /* assistants/assistants.c */
endpoint_fn api_assistant_modify, api_assistant_delete;
endpoint_fn api_thread_create, api_thread_get, api_thread_modify; /* assistants/threads.c */
endpoint_fn api_thread_delete;
endpoint_fn api_message_list, api_message_create, api_message_get; /* assistants/messages.c */
endpoint_fn api_message_modify, api_message_delete;
endpoint_fn api_thread_run_create, api_run_list, api_run_create,
    api_run_get; /* assistants/runs.c */
endpoint_fn api_run_modify, api_run_cancel, api_run_submit, api_run_events;
endpoint_fn api_step_list, api_step_get; /* assistants/steps.c */
endpoint_fn api_response_create, api_response_get,
    api_response_delete; /* responses/responses.c */
endpoint_fn api_response_cancel, api_response_inputs;
endpoint_fn api_response_chain, api_run_chain;             /* runnel/chain.c */
endpoint_fn api_response_compact;                          /* responses/compact.c */
endpoint_fn api_response_input_tokens;                     /* responses/input_tokens.c */
endpoint_fn api_response_connect;                          /* socket/open.c */
endpoint_fn api_conversation_create, api_conversation_get; /* responses/conversations.c */
endpoint_fn api_conversation_modify, api_conversation_delete;
endpoint_fn api_conversation_item_list, api_conversation_item_create;
endpoint_fn api_conversation_item_get, api_conversation_item_delete;
endpoint_fn api_file_create;                                /* files/file_create.c */
endpoint_fn api_file_list, api_file_get, api_file_delete;   /* files/files.c */
endpoint_fn api_file_content;                               /* files/file_content.c */
endpoint_fn api_vector_store_list, api_vector_store_create; /* vector_stores/vector_stores.c */
endpoint_fn api_vector_store_get, api_vector_store_modify, api_vector_store_delete;
endpoint_fn api_vector_store_search;                    /* vector_stores/search.c */
endpoint_fn api_store_file_list, api_store_file_create; /* vector_stores/store_files.c */
endpoint_fn api_store_file_get, api_store_file_modify, api_store_file_delete;
endpoint_fn api_store_file_content, api_file_batch_file_list;
endpoint_fn api_file_batch_create, api_file_batch_get; /* vector_stores/file_batches.c */
endpoint_fn api_file_batch_cancel;
endpoint_fn api_container_create, api_container_list; /* containers/containers.c */
endpoint_fn api_container_get, api_container_delete;
endpoint_fn api_container_file_create;                       /* containers/container_upload.c */
endpoint_fn api_container_file_list, api_container_file_get; /* containers/container_files.c */
endpoint_fn api_container_file_delete;
endpoint_fn api_container_file_content;           /* containers/container_content.c */
endpoint_fn api_upload_create, api_upload_cancel; /* files/uploads.c */
endpoint_fn api_upload_part;                      /* files/upload_part.c */
endpoint_fn api_upload_complete;                  /* files/upload_complete.c */
endpoint_fn api_retrieval_get;                    /* runnel/retrieval.c */
endpoint_fn api_vector_store_reindex;             /* runnel/reindex.c */
endpoint_fn api_tool_list;                        /* runnel/tools.c */
endpoint_fn api_skill_create, api_skill_list, api_skill_get; /* responses/skills.c */
endpoint_fn api_skill_update, api_skill_delete;
endpoint_fn api_skill_content,
    api_skill_version_content; /* responses/skill_versions.c, as the next */
endpoint_fn api_skill_version_create, api_skill_version_list, api_skill_version_get;
endpoint_fn api_skill_version_delete;
endpoint_fn api_tool_settings_get, api_tool_settings_modify; /* runnel/tool_settings.c */
endpoint_fn api_tool_settings_delete, api_tool_settings_list;
endpoint_fn api_script_put, api_script_list, api_script_get,
    api_script_delete;                                          /* runnel/scripts.c */
endpoint_fn api_prompt_create, api_prompt_list, api_prompt_get; /* runnel/prompts.c */
endpoint_fn api_prompt_delete, api_prompt_version_create;
endpoint_fn api_prompt_version_list, api_prompt_version_get;
endpoint_fn api_approval_list, api_approval_get, api_approval_decide;   /* runnel/approvals.c */
endpoint_fn api_grant_list, api_grant_get, api_grant_delete;            /* runnel/grants.c */
endpoint_fn api_variable_list, api_variable_create, api_variable_clear; /* runnel/variables.c */
endpoint_fn api_variable_stats, api_variable_get, api_variable_modify, api_variable_delete;
endpoint_fn api_thread_fork, api_thread_copy, api_thread_merge; /* runnel/thread_copies.c */

/* Answers 200 with a list object of `count` rows, each as encode(&row) renders it. `more` becomes
 * has_more. The caller frees the rows afterwards. A macro, because each kind of row has a type of
 * its own. */
#define answer_rows(request, rows, count, more, encode)             \
    do {                                                            \
        json_t *data_ = json_array();                               \
                                                                    \
        for (size_t row_ = 0; row_ < (count); row_++)               \
            json_array_append_new(data_, encode(&(rows)[row_]));    \
        request_answer((request), 200, encode_list(data_, (more))); \
    } while (0)

#endif
