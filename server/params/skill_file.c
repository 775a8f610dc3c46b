#include "server/params/skill_file.h"

#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/domain/variable.h"
#include "server/complaint.h"
#include "server/config/yaml.h"

/*
 * A SKILL.md is Markdown behind a YAML front matter, in the format that skills have elsewhere, so that
 * the same file works here unchanged. Other tools put more keys into the front matter; they are stored
 * with the text and have no effect.
 *
 * Both parts are stored as one text, with the offset of the instructions beside it. What a client
 * uploaded is what it downloads, byte for byte, and the model reads from the offset on. A row with the
 * parts in columns would have to write YAML again, and not the same YAML.
 *
 * The name becomes a part of ids that the model writes ("Rule/skills/<name>"), hence its narrow
 * alphabet. The description is one line because it goes into a list of one line a skill, which is all
 * that the model sees before it decides to read a skill. A line break in it could forge an entry of
 * that list.
 */

static enum err_code wrong(const char *param, const char *what, struct err *err)
{
    return err_invalid(err, "invalid_value", param, "Invalid '%s': %s.", param, what);
}

/* The start of the next line; NULL after the last. */
static const char *next_line(const char *line)
{
    const char *end = strchr(line, '\n');

    return end ? end + 1 : NULL;
}

/* Three dashes and no more, but for blanks that an editor left. */
static bool is_dashes(const char *line)
{
    return strncmp(line, "---", 3) == 0 && line[3 + strspn(line + 3, " \t\r")] == '\n';
}

/* The line of dashes that ends the front matter; NULL if it is never ended. */
static const char *find_end(const char *first)
{
    const char *line = first;

    while (line && !is_dashes(line))
        line = next_line(line);
    return line;
}

bool skill_name_fits(const char *name)
{
    size_t length = strlen(name);

    return length && length <= SKILL_NAME_LIMIT &&
           strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == length && name[0] != '-' &&
           name[length - 1] != '-';
}

/* Without trailing blanks and line ends: YAML leaves them at the end of a folded text ("description: >"). */
static size_t trimmed_length(const char *text)
{
    size_t length = strlen(text);

    while (length && strchr(" \n", text[length - 1]))
        length--;
    return length;
}

bool skill_description_fits(const char *text)
{
    size_t length = trimmed_length(text);

    for (size_t i = 0; i < length; i++)
        if ((unsigned char)text[i] < ' ' || text[i] == 127)
            return false;
    return length && variable_length(text) <= SKILL_DESCRIPTION_LIMIT;
}

static enum err_code read_matter(const char *text, size_t length, const char *param,
                                 struct skill_row *row, struct err *err)
{
    json_auto_t *matter = NULL;
    const char *name;
    const char *description;
    struct err why;

    if (config_yaml_parse("SKILL.md", text, length, &matter, &why))
        return wrong(param, why.text, err);
    name = json_get_string(matter, "name", "");
    description = json_get_string(matter, "description", "");
    if (!skill_name_fits(name))
        return wrong(param,
                     "the front matter needs a 'name' of at most 64 small letters, digits and "
                     "hyphens",
                     err);
    if (!skill_description_fits(description))
        return wrong(param,
                     "the front matter needs a 'description', one line of at most 1024 "
                     "characters",
                     err);
    row->name = mem_strdup(name);
    row->description = mem_strndup(description, trimmed_length(description));
    return ERR_OK;
}

enum err_code skill_file_parse(const char *content, const char *param,
                               struct skill_row *ret_row, struct err *err)
{
    const char *matter = is_dashes(content) ? next_line(content) : NULL;
    const char *end = matter ? find_end(matter) : NULL;
    const char *prompt = end ? next_line(end) : NULL;
    enum err_code rc;

    if (!prompt)
        return wrong(param,
                     "expected the text of a SKILL.md, which begins with its front matter "
                     "between two lines of '---'",
                     err);
    if (!prompt[strspn(prompt, " \t\r\n")])
        return wrong(param, "there are no instructions behind the front matter", err);
    /* The time that reading YAML takes may grow with the square of the length. */
    if ((size_t)(end - matter) > SKILL_MATTER_LIMIT)
        return wrong(param, "the front matter is longer than 8192 bytes", err);
    rc = read_matter(matter, (size_t)(end - matter), param, ret_row, err);
    if (rc)
        return rc;
    ret_row->content = mem_strdup(content);
    ret_row->prompt_at = (size_t)(prompt - content);
    return ERR_OK;
}
