#include "server/config/yaml.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/compiler.h"
#include "core/base/json.h"
#include "core/base/yaml.h"

/*
 * From the tree of core/base/yaml.h to the JSON tree that the rest of the program knows.
 *
 * The danger of YAML is aliases. An alias is a second pointer to one value, so ten lines can describe a
 * tree with a billion leaves. Conversion therefore counts values as it visits them, and limits the
 * depth, which also ends a value that contains itself. Limits of the file's size alone would not help.
 *
 * A key that is given twice is refused. Otherwise the last one would win silently, in a file where the
 * first may be the one that the operator reads.
 */

/* The state of one conversion. */
struct reading {
    const char *name; /* of the file, for messages */
    size_t visited;   /* values so far, each time that they are visited */
};

static enum err_code convert(struct reading *reading, const struct yaml_value *value,
                             unsigned depth, json_t **ret_value, struct err *err);

/* In quotes, "null" and "" are texts like any other. */
static json_t *convert_text(const struct yaml_value *value)
{
    if (value->plain &&
        (!*value->text || strcmp(value->text, "~") == 0 || strcmp(value->text, "null") == 0))
        return json_null();
    return json_stringn(value->text, value->length);
}

static enum err_code convert_list(struct reading *reading, const struct yaml_value *list,
                                  unsigned depth, json_t **ret_value, struct err *err)
{
    json_auto_t *array = json_array();

    for (size_t i = 0; i < list->count; i++) {
        json_t *item;
        enum err_code rc = convert(reading, list->items[i], depth + 1, &item, err);

        if (rc)
            return rc;
        json_array_append_new(array, item);
    }
    *ret_value = json_incref(array);
    return ERR_OK;
}

static enum err_code convert_pair(struct reading *reading, const struct yaml_pair *pair,
                                  unsigned depth, json_t *object, struct err *err)
{
    const struct yaml_value *key = pair->key;
    json_t *value;
    enum err_code rc;

    if (key->kind != YAML_TEXT)
        return err_set(err, ERR_INVALID, "%s:%zu: a key must be a text", reading->name,
                       key->line);
    if (json_object_get(object, key->text))
        return err_set(err, ERR_INVALID, "%s:%zu: '%s' is given twice", reading->name,
                       key->line, key->text);
    rc = convert(reading, pair->value, depth + 1, &value, err);
    if (rc)
        return rc;
    json_set(object, key->text, value);
    return ERR_OK;
}

static enum err_code convert_map(struct reading *reading, const struct yaml_value *map,
                                 unsigned depth, json_t **ret_value, struct err *err)
{
    json_auto_t *object = json_object();

    for (size_t i = 0; i < map->count; i++) {
        enum err_code rc = convert_pair(reading, &map->pairs[i], depth, object, err);

        if (rc)
            return rc;
    }
    *ret_value = json_incref(object);
    return ERR_OK;
}

/* Values are counted each time they are visited, so aliases count as what they expand to. */
static enum err_code convert(struct reading *reading, const struct yaml_value *value,
                             unsigned depth, json_t **ret_value, struct err *err)
{
    if (depth > CONFIG_DEPTH_LIMIT || ++reading->visited > CONFIG_NODE_LIMIT)
        return err_set(err, ERR_INVALID, "%s:%zu: nested too deep, or too long", reading->name,
                       value->line);
    switch (value->kind) {
    case YAML_LIST: return convert_list(reading, value, depth, ret_value, err);
    case YAML_MAP: return convert_map(reading, value, depth, ret_value, err);
    case YAML_TEXT: break;
    }
    *ret_value = convert_text(value);
    return ERR_OK;
}

static enum err_code convert_tree(const char *name, const struct yaml_tree *tree,
                                  json_t **ret_tree, struct err *err)
{
    struct reading reading = {.name = name};
    const struct yaml_value *root = yaml_tree_root(tree);

    if (!root) {
        *ret_tree = json_object();
        return ERR_OK;
    }
    if (root->kind != YAML_MAP)
        return err_set(err, ERR_INVALID, "%s: expected 'key: value' lines at the top", name);
    return convert(&reading, root, 0, ret_tree, err);
}

enum err_code config_yaml_parse(const char *name, const char *text, size_t length,
                                json_t **ret_tree, struct err *err)
{
    struct yaml_tree *tree = NULL;
    struct err why = {0};
    size_t line = 0;
    enum err_code rc = yaml_tree_parse(text, length, &tree, &line, &why);

    if (rc)
        return err_set(err, rc, "%s:%zu: %s", name, line, why.text);
    rc = convert_tree(name, tree, ret_tree, err);
    yaml_tree_free(tree);
    return rc;
}

static enum err_code read_all(int fd, const char *path, struct buf *ret_text, struct err *err)
{
    for (;;) {
        ssize_t got = read(fd, buf_reserve(ret_text, 65536), 65536);

        if (got < 0)
            return err_set(err, ERR_INVALID, "cannot read %s: %s", path, strerror(errno));
        if (!got)
            return ERR_OK;
        buf_added(ret_text, (size_t)got);
        if (ret_text->length > CONFIG_FILE_LIMIT)
            return err_set(err, ERR_INVALID, "%s is larger than %zu bytes", path,
                           CONFIG_FILE_LIMIT);
    }
}

enum err_code config_yaml_read(const char *path, json_t **ret_tree, struct err *err)
{
    AUTO_BUF text = {0};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    enum err_code rc;

    if (fd < 0)
        return err_set(err, ERR_INVALID, "cannot open %s: %s", path, strerror(errno));
    rc = read_all(fd, path, &text, err);
    close(fd);
    if (rc)
        return rc;
    return config_yaml_parse(path, text.data ? text.data : "", text.length, ret_tree, err);
}

/* ---- Sections ---- */

/*
 * The form of each section, as tables: its keys, their shapes, and which are required. A section of a
 * feature that this version does not have is in the tables too, so that one file serves several
 * versions and every key of it is still checked. What a table cannot say, SHAPE_ANY, is checked by the
 * file that reads the section.
 *
 * Scalars are texts in the tree. YAML's own rules turn `no` into false, 0800 into an error or a number,
 * and 1_000 into 1000, depending on the version. The reader of a value knows what it expects: config.c
 * parses numbers with their bounds, and a switch is parsed here.
 */

enum shape {
    SHAPE_TEXT,
    SHAPE_SWITCH, /* true or false */
    SHAPE_TEXTS,  /* a list of texts */
    SHAPE_ANY,    /* checked by the reader of the section */
    SHAPE_MAP,    /* of `keys` */
    SHAPE_MAPS,   /* a list of those */
};

struct key {
    const char *name;
    enum shape shape;
    bool required;
    const struct key *keys; /* ends with a row without name */
};

/* clang-format off */
static const struct key upstream_keys[] = {
    {"name",    SHAPE_TEXT,  true,  NULL},
    {"url",     SHAPE_TEXT,  true,  NULL},
    {"api_key", SHAPE_TEXT,  false, NULL},
    {"models",  SHAPE_TEXTS, false, NULL},
    {"dialect", SHAPE_TEXT,  false, NULL},
    {"inputs",  SHAPE_TEXTS, false, NULL},
    {"reasoning", SHAPE_TEXT, false, NULL},
    {"passes",  SHAPE_TEXTS, false, NULL},
    {"context_tokens",  SHAPE_TEXT, false, NULL},
    {"tokenizer",       SHAPE_TEXT, false, NULL},
    {"tokenizer_split", SHAPE_TEXT, false, NULL},
    {0},
};
static const struct key embeddings_keys[] = {
    {"upstream",         SHAPE_TEXT, true,  NULL},
    {"model",            SHAPE_TEXT, true,  NULL},
    {"dimensions",       SHAPE_TEXT, false, NULL},
    {"query_prefix",     SHAPE_TEXT, false, NULL},
    {"document_prefix",  SHAPE_TEXT, false, NULL},
    {"max_input_tokens", SHAPE_TEXT, false, NULL},
    {"reindex",          SHAPE_TEXT, false, NULL},
    {0},
};
static const struct key rerank_keys[] = {
    {"url",         SHAPE_TEXT, true,  NULL},
    {"api_key_env", SHAPE_TEXT, false, NULL},
    {"model",       SHAPE_TEXT, false, NULL},
    {"dialect",     SHAPE_TEXT, false, NULL},
    {0},
};
static const struct key images_keys[] = {
    {"upstream",     SHAPE_TEXT, true,  NULL},
    {"model",        SHAPE_TEXT, true,  NULL},
    {"dialect",      SHAPE_TEXT, false, NULL},
    {"max_bytes",    SHAPE_TEXT, false, NULL},
    {"max_pictures", SHAPE_TEXT, false, NULL},
    {"calls",        SHAPE_TEXT, false, NULL},
    {"timeout",      SHAPE_TEXT, false, NULL},
    {0},
};
static const struct key ocr_keys[] = {
    {"upstream", SHAPE_TEXT, true,  NULL},
    {"model",    SHAPE_TEXT, true,  NULL},
    {"timeout",  SHAPE_TEXT, false, NULL},
    {0},
};
static const struct key retrieval_keys[] = {
    {"tokenizer",       SHAPE_TEXT, true,  NULL},
    {"tokenizer_split", SHAPE_TEXT, false, NULL},
    {0},
};
static const struct key rewrite_keys[] = {
    {"model", SHAPE_TEXT, true, NULL},
    {0},
};
static const struct key mcp_server_keys[] = {
    {"name",              SHAPE_TEXT,   true,  NULL},
    {"url",               SHAPE_TEXT,   false, NULL},
    {"description",       SHAPE_TEXT,   false, NULL},
    {"authorization",     SHAPE_TEXT,   false, NULL},
    {"authorization_env", SHAPE_TEXT,   false, NULL},
    {"headers",           SHAPE_ANY,    false, NULL},
    {"allowed_tools",     SHAPE_ANY,    false, NULL},
    {"require_approval",  SHAPE_ANY,    false, NULL},
    {"resources",         SHAPE_SWITCH, false, NULL},
    {"prompts",           SHAPE_SWITCH, false, NULL},
    {"internal",          SHAPE_SWITCH, false, NULL},
    {"command",           SHAPE_TEXTS,  false, NULL},
    {"environment",       SHAPE_ANY,    false, NULL},
    {"network",           SHAPE_TEXTS,  false, NULL},
    {"folder",            SHAPE_TEXT,   false, NULL},
    {"memory",            SHAPE_TEXT,   false, NULL},
    {0},
};
static const struct key webhook_keys[] = {
    {"project",    SHAPE_TEXT, false, NULL},
    {"url",        SHAPE_TEXT, true,  NULL},
    {"secret",     SHAPE_TEXT, false, NULL},
    {"secret_env", SHAPE_TEXT, false, NULL},
    {0},
};
static const struct key tools_keys[] = {
    {"groups",      SHAPE_ANY,    false, NULL},
    {"permissions", SHAPE_ANY,    false, NULL},
    {"taint",       SHAPE_SWITCH, false, NULL},
    {0},
};
static const struct key mask_keys[] = {
    {"pattern",     SHAPE_TEXT, true,  NULL},
    {"replacement", SHAPE_TEXT, false, NULL},
    {"flags",       SHAPE_TEXT, false, NULL},
    {0},
};
static const struct key hooks_keys[] = {
    {"before_send", SHAPE_MAPS, false, mask_keys},
    {0},
};
static const struct key network_keys[] = {
    {"allow_internal_hosts", SHAPE_TEXTS, false, NULL},
    {0},
};
static const struct key root_keys[] = {
    {"name",     SHAPE_TEXT,   true,  NULL},
    {"path",     SHAPE_TEXT,   true,  NULL},
    {"writable", SHAPE_SWITCH, false, NULL},
    {0},
};
static const struct key sandbox_network_keys[] = {
    {"allowed_domains", SHAPE_TEXTS, true, NULL},
    {0},
};
static const struct key sandbox_keys[] = {
    {"roots",   SHAPE_MAPS, false, root_keys},
    {"network", SHAPE_MAP,  false, sandbox_network_keys},
    {0},
};
static const struct key s3_keys[] = {
    {"endpoint",       SHAPE_TEXT, true,  NULL},
    {"bucket",         SHAPE_TEXT, true,  NULL},
    {"region",         SHAPE_TEXT, false, NULL},
    {"access_key_env", SHAPE_TEXT, true,  NULL},
    {"secret_key_env", SHAPE_TEXT, true,  NULL},
    {0},
};
static const struct key files_keys[] = {
    {"s3", SHAPE_MAP, false, s3_keys},
    {"check_command", SHAPE_TEXTS, false, NULL},
    {"check_folder",  SHAPE_TEXT,  false, NULL},
    {"check_timeout", SHAPE_TEXT,  false, NULL},
    {"check_memory",  SHAPE_TEXT,  false, NULL},
    {0},
};
static const struct key web_search_keys[] = {
    {"provider",    SHAPE_TEXT, true,  NULL},
    {"name",        SHAPE_TEXT, false, NULL},
    {"url",         SHAPE_TEXT, false, NULL},
    {"api_key_env", SHAPE_TEXT, false, NULL},
    {"timeout",     SHAPE_TEXT, false, NULL},
    {"method",      SHAPE_TEXT, false, NULL},
    {"headers",     SHAPE_ANY,  false, NULL},
    {"parameters",  SHAPE_ANY,  false, NULL},
    {"freshness",   SHAPE_TEXT, false, NULL},
    {"results",     SHAPE_TEXT, false, NULL},
    {"fields",      SHAPE_ANY,  false, NULL},
    {0},
};
static const struct key sections[] = {
    {"upstreams",   SHAPE_MAPS, false, upstream_keys},
    {"embeddings",  SHAPE_MAP,  false, embeddings_keys},
    {"rerank",      SHAPE_MAP,  false, rerank_keys},
    {"rewrite",     SHAPE_MAP,  false, rewrite_keys},
    {"retrieval",   SHAPE_MAP,  false, retrieval_keys},
    {"images",      SHAPE_MAP,  false, images_keys},
    {"ocr",         SHAPE_MAP,  false, ocr_keys},
    {"mcp_servers", SHAPE_MAPS, false, mcp_server_keys},
    {"tools",       SHAPE_MAP,  false, tools_keys},
    {"approval_webhooks", SHAPE_MAPS, false, webhook_keys},
    {"files",       SHAPE_MAP,  false, files_keys},
    {"hooks",       SHAPE_MAP,  false, hooks_keys},
    {"network",     SHAPE_MAP,  false, network_keys},
    {"sandbox",     SHAPE_MAP,  false, sandbox_keys},
    {"web_search",  SHAPE_MAPS, false, web_search_keys},
    {0},
};
/* clang-format on */

struct key_path {
    char text[200];
};

static struct key_path path_key(const char *path, const char *key)
{
    struct key_path longer;

    (void)snprintf(longer.text, sizeof(longer.text), "%s.%s", path, key);
    return longer;
}

static struct key_path path_index(const char *path, size_t index)
{
    struct key_path longer;

    (void)snprintf(longer.text, sizeof(longer.text), "%s[%zu]", path, index);
    return longer;
}

static const struct key *find_key(const struct key *keys, const char *name)
{
    for (; keys->name; keys++)
        if (strcmp(keys->name, name) == 0)
            return keys;
    return NULL;
}

static enum err_code check(const char *path, const struct key *key, json_t *value,
                           struct err *err);

static enum err_code check_map(const char *path, const struct key *keys, json_t *map,
                               struct err *err)
{
    const char *name;
    json_t *value;

    if (!json_is_object(map))
        return err_set(err, ERR_INVALID, "%s: expected keys and values", path);
    json_object_foreach (map, name, value) {
        const struct key *key = find_key(keys, name);
        struct key_path here = path_key(path, name);
        enum err_code rc;

        if (!key)
            return err_set(err, ERR_INVALID, "unknown key: %s", here.text);
        rc = check(here.text, key, value, err);
        if (rc)
            return rc;
    }
    for (; keys->name; keys++)
        if (keys->required && json_absent(json_object_get(map, keys->name)))
            return err_set(err, ERR_INVALID, "%s: '%s' is missing", path, keys->name);
    return ERR_OK;
}

static enum err_code check_list(const char *path, const struct key *key, json_t *list,
                                struct err *err)
{
    if (!json_is_array(list))
        return err_set(err, ERR_INVALID, "%s: expected a list", path);
    for (size_t i = 0; i < json_array_size(list); i++) {
        struct key_path here = path_index(path, i);
        json_t *value = json_array_get(list, i);
        enum err_code rc = ERR_OK;

        if (key->shape == SHAPE_MAPS)
            rc = check_map(here.text, key->keys, value, err);
        else if (!json_is_string(value))
            rc = err_set(err, ERR_INVALID, "%s: expected a text", here.text);
        if (rc)
            return rc;
    }
    return ERR_OK;
}

bool config_switch_parse(const char *word, bool *ret_on)
{
    static const char *const words[][2] = {
        {"false", "true"}, {"off", "on"}, {"no", "yes"}, {"0", "1"}};

    for (size_t i = 0; i < COUNT_OF(words); i++) {
        for (int on = 0; on < 2; on++) {
            if (strcasecmp(words[i][on], word) != 0)
                continue;
            *ret_on = on;
            return true;
        }
    }
    return false;
}

static enum err_code check_switch(const char *path, json_t *value, struct err *err)
{
    const char *word = json_string_value(value);
    bool on;

    if (word && config_switch_parse(word, &on))
        return ERR_OK;
    return err_set(err, ERR_INVALID, "%s: expected true or false", path);
}

/* A key without a value counts as absent. */
static enum err_code check(const char *path, const struct key *key, json_t *value,
                           struct err *err)
{
    if (json_is_null(value))
        return ERR_OK;
    switch (key->shape) {
    case SHAPE_TEXT:
        if (!json_is_string(value))
            return err_set(err, ERR_INVALID, "%s: expected a text", path);
        return ERR_OK;
    case SHAPE_SWITCH: return check_switch(path, value, err);
    case SHAPE_TEXTS:
    case SHAPE_MAPS: return check_list(path, key, value, err);
    case SHAPE_MAP: return check_map(path, key->keys, value, err);
    case SHAPE_ANY: break;
    }
    return ERR_OK;
}

enum err_code config_section_check(const char *name, json_t *value, struct err *err)
{
    const struct key *section = find_key(sections, name);

    if (!section)
        return err_set(err, ERR_NOT_FOUND, "unknown key: %s", name);
    return check(name, section, value, err);
}
