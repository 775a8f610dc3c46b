/*
 * computer, computer_use_preview -- a mouse and a keyboard on the client's side.
 *
 * The server moves nothing. A call of the older tool is one action, a call of the newer one several
 * in a row. The client answers either with a picture of the screen.
 *
 * Nine actions have different members. They are a table, and make_action() copies what the table allows.
 * A member that the table does not have is dropped, and a missing or wrong one is an error for the model:
 * a click without a place must not become a click at 0,0.
 *
 * Both tools have one type of item. Which of them made a stored call shows in its body: a list of actions,
 * or one action.
 */

#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/tool/arguments.h"
#include "handlers/handlers.h"

#define ACTION                                                                             \
    "{\"type\": \"object\", \"description\": \"Places are pixels from the top left.\","    \
    " \"required\": [\"type\"], \"properties\": {"                                         \
    "  \"type\": {\"type\": \"string\", \"enum\": [\"click\", \"double_click\", \"drag\"," \
    "   \"keypress\", \"move\", \"screenshot\", \"scroll\", \"type\", \"wait\"]},"         \
    "  \"button\": {\"type\": \"string\","                                                 \
    "   \"enum\": [\"left\", \"right\", \"wheel\", \"back\", \"forward\"],"                \
    "   \"description\": \"Of a click.\"},"                                                \
    "  \"x\": {\"type\": \"integer\"}, \"y\": {\"type\": \"integer\"},"                    \
    "  \"scroll_x\": {\"type\": \"integer\"}, \"scroll_y\": {\"type\": \"integer\"},"      \
    "  \"path\": {\"type\": \"array\", \"description\": \"Of a drag.\","                   \
    "   \"items\": {\"type\": \"object\", \"required\": [\"x\", \"y\"], \"properties\":"   \
    "    {\"x\": {\"type\": \"integer\"}, \"y\": {\"type\": \"integer\"}}}},"              \
    "  \"keys\": {\"type\": \"array\", \"items\": {\"type\": \"string\"},"                 \
    "   \"description\": \"To press, or to hold meanwhile.\"},"                            \
    "  \"text\": {\"type\": \"string\", \"description\": \"To type.\"}}}"

static const char many[] =
    "{\"type\": \"object\", \"additionalProperties\": false,"
    " \"required\": [\"actions\"],"
    " \"properties\": {\"actions\": {\"type\": \"array\","
    " \"description\": \"Done one after another.\", \"items\": " ACTION "}}}";
static const char one[] = "{\"type\": \"object\", \"additionalProperties\": false,"
                          " \"required\": [\"action\"],"
                          " \"properties\": {\"action\": " ACTION "}}";

/* ---- Required and optional members of each action ---- */

enum member_kind {
    INTEGER,
    STRING,
    STRINGS,
    POINTS,
};

struct member {
    const char *key;
    enum member_kind kind;
    bool needed;
};

/* clang-format off */
static const struct action {
    const char *type;
    struct member members[5];
} actions[] = {
    {"click",        {{"x", INTEGER, true}, {"y", INTEGER, true}, {"button", STRING, false}, {"keys", STRINGS, false}}},
    {"double_click", {{"x", INTEGER, true}, {"y", INTEGER, true}, {"keys", STRINGS, false}}},
    {"drag",         {{"path", POINTS, true}, {"keys", STRINGS, false}}},
    {"keypress",     {{"keys", STRINGS, true}}},
    {"move",         {{"x", INTEGER, true}, {"y", INTEGER, true}, {"keys", STRINGS, false}}},
    {"screenshot",   {{0}}},
    {"scroll",       {{"x", INTEGER, true}, {"y", INTEGER, true}, {"scroll_x", INTEGER, false},
                      {"scroll_y", INTEGER, false}, {"keys", STRINGS, false}}},
    {"type",         {{"text", STRING, true}}},
    {"wait",         {{0}}},
};
/* clang-format on */

static const struct action *find_action(const char *type)
{
    for (size_t i = 0; i < COUNT_OF(actions); i++) {
        if (strcmp(actions[i].type, type) == 0)
            return &actions[i];
    }
    return NULL;
}

static bool is_strings(const json_t *value)
{
    size_t i;
    json_t *word;

    json_array_foreach (value, i, word) {
        if (!json_is_string(word))
            return false;
    }
    return json_is_array(value);
}

static bool is_points(const json_t *value)
{
    size_t i;
    json_t *point;

    json_array_foreach (value, i, point) {
        if (!json_is_integer(json_object_get(point, "x")) ||
            !json_is_integer(json_object_get(point, "y")))
            return false;
    }
    return json_is_array(value);
}

static bool is_of_kind(const json_t *value, enum member_kind kind)
{
    switch (kind) {
    case INTEGER: return json_is_integer(value);
    case STRING: return json_is_string(value);
    case STRINGS: return is_strings(value);
    case POINTS: return is_points(value);
    }
    return false;
}

/* Adds defaults for members that clients rely on. */
static void add_usual(json_t *action, const char *type)
{
    static const char *const scrolls[] = {"scroll_x", "scroll_y"};

    if (strcmp(type, "click") == 0 && !json_object_get(action, "button"))
        json_set_string(action, "button", "left");
    if (strcmp(type, "double_click") == 0 && !json_object_get(action, "keys"))
        json_set(action, "keys", json_null());
    for (size_t i = 0; i < COUNT_OF(scrolls); i++) {
        if (strcmp(type, "scroll") == 0 && !json_object_get(action, scrolls[i]))
            json_set_int(action, scrolls[i], 0);
    }
}

/* The action with its own members and no others. */
static enum err_code make_action(const json_t *given, json_t **ret_action, struct err *err)
{
    const char *type = json_get_string(given, "type", "");
    const struct action *known = find_action(type);
    json_auto_t *action = json_build("{s:s}", "type", type);

    if (!known)
        return err_set(err, ERR_INVALID,
                       "The 'type' of an action must be click, double_click, drag, keypress, "
                       "move, screenshot, scroll, type or wait.");
    for (size_t i = 0; i < COUNT_OF(known->members) && known->members[i].key; i++) {
        const struct member *member = &known->members[i];
        json_t *value = json_object_get(given, member->key);

        if (is_of_kind(value, member->kind))
            json_object_set(action, member->key, value);
        else if (member->needed || !json_absent(value))
            return err_set(err, ERR_INVALID, "The action '%s' needs a proper '%s'.", type,
                           member->key);
    }
    add_usual(action, type);
    *ret_action = json_incref(action);
    return ERR_OK;
}

/* ---- Calls ---- */

static void show(struct tool_announcement *ret, const char *key, json_t *value)
{
    ret->fields = json_build("{s:o, s:[]}", key, value, "pending_safety_checks");
}

static enum err_code announce_many(const char *name, const char *arguments,
                                   struct tool_announcement *ret, struct err *err)
{
    json_auto_t *object = NULL;
    json_auto_t *made = json_array();
    size_t i;
    json_t *given;
    enum err_code rc = tool_arguments_read(name, NULL, arguments, NULL, &object, err);

    if (rc)
        return rc;
    if (!json_array_size(json_object_get(object, "actions")))
        return err_set(err, ERR_INVALID, "'actions' must be a list of at least one action.");
    json_array_foreach (json_object_get(object, "actions"), i, given) {
        json_t *action = NULL;

        rc = make_action(given, &action, err);
        if (rc)
            return rc;
        json_array_append_new(made, action);
    }
    show(ret, "actions", json_incref(made));
    return ERR_OK;
}

/* Some models leave out the object around the action. */
static enum err_code announce_one(const char *name, const char *arguments,
                                  struct tool_announcement *ret, struct err *err)
{
    json_auto_t *object = NULL;
    json_t *action = NULL;
    const json_t *given;
    enum err_code rc = tool_arguments_read(name, NULL, arguments, NULL, &object, err);

    if (rc)
        return rc;
    given = json_object_get(object, "action");
    rc = make_action(json_is_object(given) ? given : object, &action, err);
    if (!rc)
        show(ret, "action", action);
    return rc;
}

static json_t *init_display(const struct tool_context *context)
{
    AUTO_FREE char *text = mem_printf(
        "Uses the mouse and the keyboard of the user's computer (%s, a screen of %lld by %lld "
        "pixels) and returns a picture of the screen.",
        json_get_string(context->entry, "environment", "unknown"),
        (long long)json_get_int(context->entry, "display_width", 0),
        (long long)json_get_int(context->entry, "display_height", 0));

    return json_build("{s:s}", "description", text);
}

/* ---- The way back ---- */

static bool is_batch(const json_t *body)
{
    return json_is_array(json_object_get(body, "actions"));
}

static const char *name_of(const json_t *body)
{
    return is_batch(body) ? "computer" : "computer_use_preview";
}

static json_t *arguments_of(const json_t *body)
{
    const char *key = is_batch(body) ? "actions" : "action";

    return json_build("{s:O}", key, json_object_get(body, key));
}

/* A picture of the screen is a picture. */
static json_t *output_of(const json_t *body, const char *status)
{
    json_t *output = json_object_get(body, "output");
    json_t *image;

    (void)status;
    if (!json_is_object(output))
        return json_incref(output);
    image = json_copy(output);
    json_set_string(image, "type", "input_image");
    return json_build("[o]", image);
}

/* Of both tools: a call of the newer one has a list of actions. */
static const struct tool_item item = {
    .type = "computer_call",
    .name = name_of,
    .arguments = arguments_of,
    .output = output_of,
};

const struct tool_handler computer_handler = {
    .name = "computer",
    .description = "Uses the mouse and the keyboard of the user's computer, one action after "
                   "another, and returns a picture of the screen.",
    .parameters = many,
    .announce = announce_many,
    .item = &item,
};

const struct tool_handler computer_use_preview_handler = {
    .name = "computer_use_preview",
    .alias = "computer_use",
    .parameters = one,
    .announce = announce_one,
    .item = &item,
    .init = init_display,
};
