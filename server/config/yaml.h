#ifndef RUNNEL_SERVER_CONFIG_YAML_H
#define RUNNEL_SERVER_CONFIG_YAML_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/base/err.h"

/*
 * config/yaml.h -- the YAML file as a tree of JSON, and the rules for its sections.
 *
 * core/base/yaml.h reads the file. In the tree every scalar is a string, as it was written; only a
 * plain null, ~ or an empty value is null. The reader of a setting decides what its text means.
 */

#define CONFIG_FILE_LIMIT  ((size_t)1 << 20) /* bytes */
#define CONFIG_DEPTH_LIMIT 16                /* nested lists and mappings */
#define CONFIG_NODE_LIMIT  20000             /* values, with aliases expanded */

/* Reads a file whose top is a mapping; an empty file is an empty mapping. A key that is given twice, and a tree
 * beyond the limits, is ERR_INVALID with file and line. The caller owns *ret_tree. */
enum err_code config_yaml_read(const char *path, json_t **ret_tree, struct err *err) MUST_CHECK;

/* The same from memory. `name` is the name of the file in messages. */
enum err_code config_yaml_parse(const char *name, const char *text, size_t length,
                                json_t **ret_tree, struct err *err) MUST_CHECK;

/* Checks one section of the file. ERR_NOT_FOUND if `name` is no section. ERR_INVALID with the path of a key that is
 * unknown, missing or of the wrong shape. */
enum err_code config_section_check(const char *name, json_t *value, struct err *err) MUST_CHECK;

/* Reads true/false, on/off, yes/no or 1/0, in upper or lower case. Returns false for any other text. */
bool config_switch_parse(const char *word, bool *ret_on);

#endif
