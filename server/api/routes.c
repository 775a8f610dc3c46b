#include "server/http/routes.h"

#include "core/base/compiler.h"
#include "server/api/api.h"

/*
 * The whole HTTP surface: one row for each method and path.
 *
 * Routing is a table, and not a registration by each family at start: all paths are visible at
 * once, a lint can read them, and a path that hides another stands next to it. The first row that
 * matches wins, so "/v1/threads/runs" stands above "/v1/threads/{thread}" (router.h). A row is found
 * by comparing from the top. A hundred comparisons of short strings cost less than one query.
 *
 * The fourth column is the operationId of openapi.yaml, also the label in /metrics. For OpenAI's own
 * operations it is spelled as OpenAI's document spells it, mistakes included.
 *
 * tests/lint/openapi.py fails when this table and openapi.yaml disagree about a method, a path or an
 * operation. `runnel routes` prints the table for it.
 */

/* clang-format off */
const struct route routes[] = {
    {"GET",    "/healthz",                                            api_health,             "health",                 ROUTE_PUBLIC},
    {"GET",    "/readyz",                                             api_ready,              "ready",                  ROUTE_PUBLIC},
    {"GET",    "/metrics",                                            api_metrics,            "metrics",                ROUTE_PUBLIC},

    {"GET",    "/v1/models",                                          api_model_list,         "listModels",             0},
    {"GET",    "/v1/models/{model...}",                               api_model_get,          "retrieveModel",          0},
    {"POST",   "/v1/chat/completions",                                api_pass_through,       "createChatCompletion",   ROUTE_KEEP_BODY},
    {"POST",   "/v1/completions",                                     api_pass_through,       "createCompletion",       ROUTE_KEEP_BODY},
    {"POST",   "/v1/embeddings",                                      api_pass_through,       "createEmbedding",        ROUTE_KEEP_BODY},
    {"POST",   "/v1/moderations",                                     api_pass_through,       "createModeration",       ROUTE_KEEP_BODY},
    {"POST",   "/v1/rerank",                                          api_pass_through,       "createRerank",           ROUTE_KEEP_BODY},
    {"POST",   "/v1/images/generations",                              api_pass_through,       "createImage",            ROUTE_KEEP_BODY},
    {"POST",   "/v1/images/edits",                                    api_pass_form,          "createImageEdit",        ROUTE_STREAMED},
    {"POST",   "/v1/images/variations",                               api_pass_form,          "createImageVariation",   ROUTE_STREAMED},
    {"POST",   "/v1/audio/transcriptions",                            api_pass_form,          "createTranscription",    ROUTE_STREAMED},
    {"POST",   "/v1/audio/translations",                              api_pass_form,          "createTranslation",      ROUTE_STREAMED},
    {"POST",   "/v1/audio/speech",                                    api_pass_through,       "createSpeech",           ROUTE_KEEP_BODY},

    {"GET",    "/v1/assistants",                                      api_assistant_list,     "listAssistants",         0},
    {"POST",   "/v1/assistants",                                      api_assistant_create,   "createAssistant",        0},
    {"GET",    "/v1/assistants/{assistant}",                          api_assistant_get,      "getAssistant",           0},
    {"POST",   "/v1/assistants/{assistant}",                          api_assistant_modify,   "modifyAssistant",        0},
    {"DELETE", "/v1/assistants/{assistant}",                          api_assistant_delete,   "deleteAssistant",        0},

    {"POST",   "/v1/threads",                                         api_thread_create,      "createThread",           ROUTE_BODY_OPTIONAL},
    {"POST",   "/v1/threads/runs",                                    api_thread_run_create,  "createThreadAndRun",     0},
    {"GET",    "/v1/threads/{thread}",                                api_thread_get,         "getThread",              0},
    {"POST",   "/v1/threads/{thread}",                                api_thread_modify,      "modifyThread",           ROUTE_BODY_OPTIONAL},
    {"DELETE", "/v1/threads/{thread}",                                api_thread_delete,      "deleteThread",           0},

    {"GET",    "/v1/threads/{thread}/messages",                       api_message_list,       "listMessages",           0},
    {"POST",   "/v1/threads/{thread}/messages",                       api_message_create,     "createMessage",          0},
    {"GET",    "/v1/threads/{thread}/messages/{message}",             api_message_get,        "getMessage",             0},
    {"POST",   "/v1/threads/{thread}/messages/{message}",             api_message_modify,     "modifyMessage",          ROUTE_BODY_OPTIONAL},
    {"DELETE", "/v1/threads/{thread}/messages/{message}",             api_message_delete,     "deleteMessage",          0},

    {"GET",    "/v1/threads/{thread}/runs",                           api_run_list,           "listRuns",               0},
    {"POST",   "/v1/threads/{thread}/runs",                           api_run_create,         "createRun",              0},
    {"GET",    "/v1/threads/{thread}/runs/{run}",                     api_run_get,            "getRun",                 0},
    {"POST",   "/v1/threads/{thread}/runs/{run}",                     api_run_modify,         "modifyRun",              ROUTE_BODY_OPTIONAL},
    {"POST",   "/v1/threads/{thread}/runs/{run}/cancel",              api_run_cancel,         "cancelRun",              ROUTE_BODY_OPTIONAL},
    {"POST",   "/v1/threads/{thread}/runs/{run}/submit_tool_outputs", api_run_submit,         "submitToolOuputsToRun",  0},
    {"GET",    "/v1/threads/{thread}/runs/{run}/events",              api_run_events,         "followRun",              0},
    {"GET",    "/v1/threads/{thread}/runs/{run}/steps",               api_step_list,          "listRunSteps",           0},
    {"GET",    "/v1/threads/{thread}/runs/{run}/steps/{step}",        api_step_get,           "getRunStep",             0},

    {"POST",   "/v1/conversations",                                   api_conversation_create,      "createConversation",      ROUTE_BODY_OPTIONAL},
    {"GET",    "/v1/conversations/{conversation}",                    api_conversation_get,         "getConversation",         0},
    {"POST",   "/v1/conversations/{conversation}",                    api_conversation_modify,      "updateConversation",      0},
    {"DELETE", "/v1/conversations/{conversation}",                    api_conversation_delete,      "deleteConversation",      0},
    {"GET",    "/v1/conversations/{conversation}/items",              api_conversation_item_list,   "listConversationItems",   0},
    {"POST",   "/v1/conversations/{conversation}/items",              api_conversation_item_create, "createConversationItems", 0},
    {"GET",    "/v1/conversations/{conversation}/items/{item}",       api_conversation_item_get,    "getConversationItem",     0},
    {"DELETE", "/v1/conversations/{conversation}/items/{item}",       api_conversation_item_delete, "deleteConversationItem",  0},

    {"GET",    "/v1/responses",                                       api_response_connect,   "connectResponses",       0},
    {"POST",   "/v1/responses",                                       api_response_create,    "createResponse",         0},
    {"POST",   "/v1/responses/compact",                               api_response_compact,   "Compactconversation",    0},
    {"POST",   "/v1/responses/input_tokens",                          api_response_input_tokens, "Getinputtokencounts", ROUTE_BODY_OPTIONAL},
    {"GET",    "/v1/responses/{response}",                            api_response_get,       "getResponse",            0},
    {"DELETE", "/v1/responses/{response}",                            api_response_delete,    "deleteResponse",         0},
    {"POST",   "/v1/responses/{response}/cancel",                     api_response_cancel,    "cancelResponse",         ROUTE_BODY_OPTIONAL},
    {"GET",    "/v1/responses/{response}/input_items",                api_response_inputs,    "listInputItems",         0},

    {"GET",    "/v1/files",                                           api_file_list,          "listFiles",              0},
    {"POST",   "/v1/files",                                           api_file_create,        "createFile",             ROUTE_STREAMED},
    {"GET",    "/v1/files/{file}",                                    api_file_get,           "retrieveFile",           0},
    {"DELETE", "/v1/files/{file}",                                    api_file_delete,        "deleteFile",             0},
    {"GET",    "/v1/files/{file}/content",                            api_file_content,       "downloadFile",           0},

    {"POST",   "/v1/uploads",                                         api_upload_create,      "createUpload",           0},
    {"POST",   "/v1/uploads/{upload}/parts",                          api_upload_part,        "addUploadPart",          ROUTE_STREAMED},
    {"POST",   "/v1/uploads/{upload}/complete",                       api_upload_complete,    "completeUpload",         0},
    {"POST",   "/v1/uploads/{upload}/cancel",                         api_upload_cancel,      "cancelUpload",           ROUTE_BODY_OPTIONAL},

    {"GET",    "/v1/containers",                                      api_container_list,     "ListContainers",         0},
    {"POST",   "/v1/containers",                                      api_container_create,   "CreateContainer",        0},
    {"GET",    "/v1/containers/{container}",                          api_container_get,      "RetrieveContainer",      0},
    {"DELETE", "/v1/containers/{container}",                          api_container_delete,   "DeleteContainer",        0},
    {"GET",    "/v1/containers/{container}/files",                    api_container_file_list, "ListContainerFiles",    0},
    {"POST",   "/v1/containers/{container}/files",                    api_container_file_create, "CreateContainerFile", ROUTE_STREAMED | ROUTE_FORM},
    {"GET",    "/v1/containers/{container}/files/{file}",             api_container_file_get, "RetrieveContainerFile",  0},
    {"DELETE", "/v1/containers/{container}/files/{file}",             api_container_file_delete, "DeleteContainerFile", 0},
    {"GET",    "/v1/containers/{container}/files/{file}/content",     api_container_file_content, "RetrieveContainerFileContent", 0},

    {"GET",    "/v1/vector_stores",                                               api_vector_store_list,   "listVectorStores",       0},
    {"POST",   "/v1/vector_stores",                                               api_vector_store_create, "createVectorStore",      ROUTE_BODY_OPTIONAL},
    {"GET",    "/v1/vector_stores/{store}",                                       api_vector_store_get,    "getVectorStore",         0},
    {"POST",   "/v1/vector_stores/{store}",                                       api_vector_store_modify, "modifyVectorStore",      0},
    {"DELETE", "/v1/vector_stores/{store}",                                       api_vector_store_delete, "deleteVectorStore",      0},
    {"POST",   "/v1/vector_stores/{store}/search",                                api_vector_store_search, "searchVectorStore",      0},
    {"GET",    "/v1/vector_stores/{store}/files",                                 api_store_file_list,     "listVectorStoreFiles",   0},
    {"POST",   "/v1/vector_stores/{store}/files",                                 api_store_file_create,   "createVectorStoreFile",  0},
    {"GET",    "/v1/vector_stores/{store}/files/{file}",                          api_store_file_get,      "getVectorStoreFile",     0},
    {"POST",   "/v1/vector_stores/{store}/files/{file}",                          api_store_file_modify,   "updateVectorStoreFileAttributes", 0},
    {"DELETE", "/v1/vector_stores/{store}/files/{file}",                          api_store_file_delete,   "deleteVectorStoreFile",  0},
    {"GET",    "/v1/vector_stores/{store}/files/{file}/content",                  api_store_file_content,  "retrieveVectorStoreFileContent", 0},
    {"POST",   "/v1/vector_stores/{store}/file_batches",                          api_file_batch_create,   "createVectorStoreFileBatch", 0},
    {"GET",    "/v1/vector_stores/{store}/file_batches/{batch}",                  api_file_batch_get,      "getVectorStoreFileBatch", 0},
    {"POST",   "/v1/vector_stores/{store}/file_batches/{batch}/cancel",           api_file_batch_cancel,   "cancelVectorStoreFileBatch", ROUTE_BODY_OPTIONAL},
    {"GET",    "/v1/vector_stores/{store}/file_batches/{batch}/files",            api_file_batch_file_list, "listFilesInVectorStoreBatch", 0},
    {"POST",   "/v1/vector_stores/{store}/files_batches",                         api_file_batch_create,   "createVectorStoreFileBatchAlias", 0},
    {"GET",    "/v1/vector_stores/{store}/files_batches/{batch}",                 api_file_batch_get,      "getVectorStoreFileBatchAlias", 0},
    {"POST",   "/v1/vector_stores/{store}/files_batches/{batch}/cancel",          api_file_batch_cancel,   "cancelVectorStoreFileBatchAlias", ROUTE_BODY_OPTIONAL},
    {"GET",    "/v1/vector_stores/{store}/files_batches/{batch}/files",           api_file_batch_file_list, "listFilesInVectorStoreBatchAlias", 0},

    {"GET",    "/v1/skills",                                          api_skill_list,         "listSkills",             0},
    {"POST",   "/v1/skills",                                          api_skill_create,       "createSkill",            ROUTE_FORM},
    {"GET",    "/v1/skills/{skill}",                                  api_skill_get,          "getSkill",               0},
    {"POST",   "/v1/skills/{skill}",                                  api_skill_update,       "updateSkill",            0},
    {"DELETE", "/v1/skills/{skill}",                                  api_skill_delete,       "deleteSkill",            0},
    {"GET",    "/v1/skills/{skill}/content",                          api_skill_content,      "getSkillContent",        0},
    {"POST",   "/v1/skills/{skill}/versions",                         api_skill_version_create, "createSkillVersion",   ROUTE_FORM},
    {"GET",    "/v1/skills/{skill}/versions",                         api_skill_version_list, "listSkillVersions",      0},
    {"GET",    "/v1/skills/{skill}/versions/{version}",               api_skill_version_get,  "getSkillVersion",        0},
    {"DELETE", "/v1/skills/{skill}/versions/{version}",               api_skill_version_delete, "deleteSkillVersion",   0},
    {"GET",    "/v1/skills/{skill}/versions/{version}/content",       api_skill_version_content, "getSkillVersionContent", 0},

    {"GET",    "/v1/runnel/tools",                                    api_tool_list,          "listTools",              0},
    {"GET",    "/v1/runnel/retrieval",                                api_retrieval_get,      "getRetrieval",           0},
    {"POST",   "/v1/runnel/vector_stores/{store}/reindex",            api_vector_store_reindex, "reindexVectorStore",   ROUTE_BODY_OPTIONAL},
    {"GET",    "/v1/runnel/tool_settings",                            api_tool_settings_get,    "getToolSettings",      0},
    {"POST",   "/v1/runnel/tool_settings",                            api_tool_settings_modify, "modifyToolSettings",   0},
    {"DELETE", "/v1/runnel/tool_settings",                            api_tool_settings_delete, "deleteToolSettings",   0},
    {"GET",    "/v1/runnel/tool_settings/users",                      api_tool_settings_list,   "listToolSettings",     0},
    {"GET",    "/v1/runnel/scripts",                                  api_script_list,        "listScripts",            0},
    {"POST",   "/v1/runnel/scripts",                                  api_script_put,         "putScript",              0},
    {"GET",    "/v1/runnel/scripts/{script}",                         api_script_get,         "getScript",              0},
    {"DELETE", "/v1/runnel/scripts/{script}",                         api_script_delete,      "deleteScript",           0},
    {"GET",    "/v1/runnel/prompts",                                  api_prompt_list,        "listPrompts",            0},
    {"POST",   "/v1/runnel/prompts",                                  api_prompt_create,      "createPrompt",           0},
    {"GET",    "/v1/runnel/prompts/{prompt}",                         api_prompt_get,         "getPrompt",              0},
    {"DELETE", "/v1/runnel/prompts/{prompt}",                         api_prompt_delete,      "deletePrompt",           0},
    {"GET",    "/v1/runnel/prompts/{prompt}/versions",                api_prompt_version_list,   "listPromptVersions",  0},
    {"POST",   "/v1/runnel/prompts/{prompt}/versions",                api_prompt_version_create, "createPromptVersion", 0},
    {"GET",    "/v1/runnel/prompts/{prompt}/versions/{version}",      api_prompt_version_get,    "getPromptVersion",    0},

    {"GET",    "/v1/runnel/responses/{response}/chain",               api_response_chain,     "getResponseChain",       0},
    {"GET",    "/v1/runnel/threads/{thread}/runs/{run}/chain",        api_run_chain,          "getRunChain",            0},

    {"GET",    "/v1/runnel/approvals",                                api_approval_list,      "listApprovals",          0},
    {"GET",    "/v1/runnel/approvals/{approval}",                     api_approval_get,       "getApproval",            0},
    {"POST",   "/v1/runnel/approvals/{approval}",                     api_approval_decide,    "decideApproval",         0},
    {"GET",    "/v1/runnel/approval_grants",                          api_grant_list,         "listApprovalGrants",     0},
    {"GET",    "/v1/runnel/approval_grants/{grant}",                  api_grant_get,          "getApprovalGrant",       0},
    {"DELETE", "/v1/runnel/approval_grants/{grant}",                  api_grant_delete,       "deleteApprovalGrant",    0},

    {"POST",   "/v1/runnel/threads/{thread}/fork",                    api_thread_fork,        "forkThread",             ROUTE_BODY_OPTIONAL},
    {"POST",   "/v1/runnel/threads/{from}/copy_to/{to}",              api_thread_copy,        "copyThread",             ROUTE_BODY_OPTIONAL},
    {"POST",   "/v1/runnel/threads/{from}/merge_to/{to}",             api_thread_merge,       "mergeThread",            ROUTE_BODY_OPTIONAL},

    {"GET",    "/v1/runnel/threads/{thread}/variables",                            api_variable_list,       "listThreadVariables",           0},
    {"POST",   "/v1/runnel/threads/{thread}/variables",                            api_variable_create,     "createThreadVariable",          0},
    {"DELETE", "/v1/runnel/threads/{thread}/variables",                            api_variable_clear,      "clearThreadVariables",          0},
    {"GET",    "/v1/runnel/threads/{thread}/variables/stats",                      api_variable_stats,      "getThreadVariableStats",        0},
    {"GET",    "/v1/runnel/threads/{thread}/variables/{variable}",                 api_variable_get,        "getThreadVariable",             0},
    {"POST",   "/v1/runnel/threads/{thread}/variables/{variable}",                 api_variable_modify,     "modifyThreadVariable",          0},
    {"DELETE", "/v1/runnel/threads/{thread}/variables/{variable}",                 api_variable_delete,     "deleteThreadVariable",          0},

    {"GET",    "/v1/runnel/conversations/{conversation}/variables",                api_variable_list,       "listConversationVariables",     0},
    {"POST",   "/v1/runnel/conversations/{conversation}/variables",                api_variable_create,     "createConversationVariable",    0},
    {"DELETE", "/v1/runnel/conversations/{conversation}/variables",                api_variable_clear,      "clearConversationVariables",    0},
    {"GET",    "/v1/runnel/conversations/{conversation}/variables/stats",          api_variable_stats,      "getConversationVariableStats",  0},
    {"GET",    "/v1/runnel/conversations/{conversation}/variables/{variable}",     api_variable_get,        "getConversationVariable",       0},
    {"POST",   "/v1/runnel/conversations/{conversation}/variables/{variable}",     api_variable_modify,     "modifyConversationVariable",    0},
    {"DELETE", "/v1/runnel/conversations/{conversation}/variables/{variable}",     api_variable_delete,     "deleteConversationVariable",    0},

    {"GET",    "/v1/runnel/responses/{response}/variables",                        api_variable_list,       "listResponseVariables",         0},
    {"POST",   "/v1/runnel/responses/{response}/variables",                        api_variable_create,     "createResponseVariable",        0},
    {"DELETE", "/v1/runnel/responses/{response}/variables",                        api_variable_clear,      "clearResponseVariables",        0},
    {"GET",    "/v1/runnel/responses/{response}/variables/stats",                  api_variable_stats,      "getResponseVariableStats",      0},
    {"GET",    "/v1/runnel/responses/{response}/variables/{variable}",             api_variable_get,        "getResponseVariable",           0},
    {"POST",   "/v1/runnel/responses/{response}/variables/{variable}",             api_variable_modify,     "modifyResponseVariable",        0},
    {"DELETE", "/v1/runnel/responses/{response}/variables/{variable}",             api_variable_delete,     "deleteResponseVariable",        0},
};
/* clang-format on */

const size_t route_count = COUNT_OF(routes);
