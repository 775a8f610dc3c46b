/*
 * item_type.c -- one row for each type: name, prefix of ids, kind, statuses, what it answers.
 *
 * Names were compared in forty-seven files before this table. Now a name is parsed where an item is read,
 * and code asks for a fact ("is it an output?"), so a new type is a row instead of a search for places.
 *
 * The prefixes are OpenAI's. The statuses are as well: of a message OpenAI shows no "failed", so a message
 * that failed is "incomplete" for clients.
 *
 * The first three rows stand for names that are not in the table. Their kinds follow from the end of the
 * name, so a call of a hosted tool that only its handler knows is still treated as a call.
 */

#include "core/domain/item_type.h"

#include <string.h>

#include "core/base/compiler.h"

/* clang-format off */

#define PLAIN       ITEM_KIND_PLAIN
#define CLIENT_CALL ITEM_KIND_CLIENT_CALL
#define SERVER_CALL ITEM_KIND_SERVER_CALL
#define HOSTED_CALL ITEM_KIND_HOSTED_CALL
#define OUTPUT      ITEM_KIND_OUTPUT

#define USUAL       ITEM_STATUSES_USUAL
#define FAILED      ITEM_STATUSES_FAILED
#define WHOLE       ITEM_STATUSES_WHOLE
#define ENDED       ITEM_STATUSES_ENDED
#define CLOSED      ITEM_STATUSES_CLOSED
#define NONE        ITEM_STATUSES_NONE

static const struct fact {
    const char *name;
    const char *prefix;
    enum item_kind kind;
    enum item_statuses statuses;
    enum item_type answers;
    bool brings_tools;
} facts[ITEM_TYPE_COUNT] = {
    [ITEM_OTHER]                   = {"",                        "item_",  PLAIN,       USUAL,  ITEM_OTHER,             false},
    [ITEM_OTHER_CALL]              = {"",                        "item_",  HOSTED_CALL, FAILED, ITEM_OTHER,             false},
    [ITEM_OTHER_OUTPUT]            = {"",                        "item_",  OUTPUT,      USUAL,  ITEM_OTHER_CALL,        false},
    [ITEM_MESSAGE]                 = {"message",                 "msg_",   PLAIN,       USUAL,  ITEM_OTHER,             false},
    [ITEM_REFERENCE]               = {"item_reference",          "item_",  PLAIN,       NONE,   ITEM_OTHER,             false},
    [ITEM_REASONING]               = {"reasoning",               "rs_",    PLAIN,       NONE,   ITEM_OTHER,             false},
    [ITEM_COMPACTION]              = {"compaction",              "cmp_",   PLAIN,       NONE,   ITEM_OTHER,             false},
    [ITEM_FUNCTION_CALL]           = {"function_call",           "fc_",    CLIENT_CALL, USUAL,  ITEM_OTHER,             false},
    [ITEM_FUNCTION_CALL_OUTPUT]    = {"function_call_output",    "fco_",   OUTPUT,      USUAL,  ITEM_FUNCTION_CALL,     false},
    [ITEM_CUSTOM_TOOL_CALL]        = {"custom_tool_call",        "ctc_",   CLIENT_CALL, USUAL,  ITEM_OTHER,             false},
    [ITEM_CUSTOM_TOOL_CALL_OUTPUT] = {"custom_tool_call_output", "ctco_",  OUTPUT,      USUAL,  ITEM_CUSTOM_TOOL_CALL,  false},
    [ITEM_LOCAL_SHELL_CALL]        = {"local_shell_call",        "lsh_",   CLIENT_CALL, USUAL,  ITEM_OTHER,             false},
    [ITEM_LOCAL_SHELL_CALL_OUTPUT] = {"local_shell_call_output", "lsho_",  OUTPUT,      USUAL,  ITEM_LOCAL_SHELL_CALL,  false},
    [ITEM_SHELL_CALL]              = {"shell_call",              "sh_",    CLIENT_CALL, USUAL,  ITEM_OTHER,             false},
    [ITEM_SHELL_CALL_OUTPUT]       = {"shell_call_output",       "sho_",   OUTPUT,      USUAL,  ITEM_SHELL_CALL,        false},
    [ITEM_APPLY_PATCH_CALL]        = {"apply_patch_call",        "apc_",   CLIENT_CALL, USUAL,  ITEM_OTHER,             false},
    [ITEM_APPLY_PATCH_CALL_OUTPUT] = {"apply_patch_call_output", "apco_",  OUTPUT,      ENDED,  ITEM_APPLY_PATCH_CALL,  false},
    [ITEM_COMPUTER_CALL]           = {"computer_call",           "cu_",    CLIENT_CALL, USUAL,  ITEM_OTHER,             false},
    [ITEM_COMPUTER_CALL_OUTPUT]    = {"computer_call_output",    "cuo_",   OUTPUT,      FAILED, ITEM_COMPUTER_CALL,     false},
    [ITEM_TOOL_SEARCH_CALL]        = {"tool_search_call",        "tsc_",   CLIENT_CALL, USUAL,  ITEM_OTHER,             false},
    [ITEM_TOOL_SEARCH_OUTPUT]      = {"tool_search_output",      "tso_",   OUTPUT,      USUAL,  ITEM_TOOL_SEARCH_CALL,  true},
    [ITEM_ADDITIONAL_TOOLS]        = {"additional_tools",        "at_",    PLAIN,       NONE,   ITEM_OTHER,             true},
    [ITEM_CONFIGURATION_UPDATE]    = {"configuration_update",    "cfg_",   PLAIN,       NONE,   ITEM_OTHER,             false},
    [ITEM_PROGRAM]                 = {"program",                 "cm_",    CLIENT_CALL, NONE,   ITEM_OTHER,             false},
    [ITEM_PROGRAM_OUTPUT]          = {"program_output",          "cmo_",   OUTPUT,      CLOSED, ITEM_PROGRAM,           false},
    [ITEM_MCP_LIST_TOOLS]          = {"mcp_list_tools",          "mcpl_",  PLAIN,       NONE,   ITEM_OTHER,             false},
    [ITEM_MCP_CALL]                = {"mcp_call",                "mcp_",   SERVER_CALL, FAILED, ITEM_OTHER,             false},
    [ITEM_MCP_APPROVAL_REQUEST]    = {"mcp_approval_request",    "mcpr_",  PLAIN,       NONE,   ITEM_OTHER,             false},
    [ITEM_MCP_APPROVAL_RESPONSE]   = {"mcp_approval_response",   "mcpa_",  PLAIN,       NONE,   ITEM_OTHER,             false},
    [ITEM_FILE_SEARCH_CALL]        = {"file_search_call",        "fs_",    HOSTED_CALL, FAILED, ITEM_OTHER,             false},
    [ITEM_WEB_SEARCH_CALL]         = {"web_search_call",         "ws_",    HOSTED_CALL, WHOLE,  ITEM_OTHER,             false},
    [ITEM_CODE_INTERPRETER_CALL]   = {"code_interpreter_call",   "ci_",    HOSTED_CALL, FAILED, ITEM_OTHER,             false},
    [ITEM_IMAGE_GENERATION_CALL]   = {"image_generation_call",   "ig_",    HOSTED_CALL, WHOLE,  ITEM_OTHER,             false},
};
/* clang-format on */

const char *item_type_name(enum item_type type)
{
    return facts[type].name;
}

static bool ends_with(const char *name, const char *end)
{
    size_t length = strlen(name);
    size_t size = strlen(end);

    return length > size && strcmp(name + length - size, end) == 0;
}

enum item_type item_type_parse(const char *name)
{
    for (enum item_type type = ITEM_MESSAGE; type < ITEM_TYPE_COUNT; type++) {
        if (strcmp(name, facts[type].name) == 0)
            return type;
    }
    if (ends_with(name, "_call"))
        return ITEM_OTHER_CALL;
    return ends_with(name, "_call_output") ? ITEM_OTHER_OUTPUT : ITEM_OTHER;
}

const char *item_type_prefix(enum item_type type)
{
    return facts[type].prefix;
}

enum item_kind item_type_kind(enum item_type type)
{
    return facts[type].kind;
}

enum item_statuses item_type_statuses(enum item_type type)
{
    return facts[type].statuses;
}

enum item_type item_type_answers(enum item_type type)
{
    return facts[type].answers;
}

bool item_type_is_call(enum item_type type)
{
    switch (facts[type].kind) {
    case ITEM_KIND_CLIENT_CALL:
    case ITEM_KIND_SERVER_CALL:
    case ITEM_KIND_HOSTED_CALL: return true;
    case ITEM_KIND_PLAIN:
    case ITEM_KIND_OUTPUT: return false;
    }
    return false;
}

bool item_type_is_client_call(enum item_type type)
{
    return facts[type].kind == ITEM_KIND_CLIENT_CALL;
}

bool item_type_is_output(enum item_type type)
{
    return facts[type].kind == ITEM_KIND_OUTPUT;
}

bool item_type_brings_tools(enum item_type type)
{
    return facts[type].brings_tools;
}

bool item_type_makes_calls(enum item_type type)
{
    return type == ITEM_PROGRAM;
}
