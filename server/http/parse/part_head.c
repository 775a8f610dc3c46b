#include "server/http/parse/part_head.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "core/base/buf.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "server/http/parse/header_param.h"

#define BLANKS " \t"

void part_head_clear(struct part_head *head)
{
    free(head->name);
    free(head->filename);
    free(head->type);
    *head = (struct part_head){0};
}

static enum err_code malformed(struct err *err)
{
    return err_set(err, ERR_INVALID, "the head of a part is not well-formed");
}

/* ---- Values ---- */

static int hex_digit(char digit)
{
    if (digit >= '0' && digit <= '9')
        return digit - '0';
    digit |= 0x20;
    return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

/* The byte of %XX; -1 if it is none. `left` bytes are there. */
static int percent_byte(const char *at, size_t left)
{
    int high = left >= 3 && at[0] == '%' ? hex_digit(at[1]) : -1;
    int low = high >= 0 ? hex_digit(at[2]) : -1;

    return low < 0 ? -1 : high << 4 | low;
}

/* Everything else keeps its backslash: an old browser sends C:\notes.txt. */
static bool is_escaped(const char *at, size_t left)
{
    return left >= 2 && at[0] == '\\' && (at[1] == '"' || at[1] == '\\');
}

static char *take_text(const struct header_param *param)
{
    AUTO_BUF text = {0};

    for (size_t i = 0; i < param->value_length; i++) {
        size_t left = param->value_length - i;
        int byte = percent_byte(param->value + i, left);

        if (param->quoted && is_escaped(param->value + i, left)) {
            i++;
        } else if (byte == '"' || byte == '\r' || byte == '\n') {
            buf_add_char(&text, (char)byte);
            i += 2;
            continue;
        }
        buf_add_char(&text, param->value[i]);
    }
    return json_clean_utf8(text.data ? text.data : "", text.length);
}

/* UTF-8'language'percent-encoded. NULL: it is something else. */
static char *take_extended(const struct header_param *param)
{
    static const char charset[] = "UTF-8'";
    const char *end = param->value + param->value_length;
    const char *at = param->value + strlen(charset);
    AUTO_BUF text = {0};

    if (param->quoted || param->value_length < strlen(charset) ||
        strncasecmp(param->value, charset, strlen(charset)) != 0)
        return NULL;
    at = memchr(at, '\'', (size_t)(end - at));
    if (!at)
        return NULL;
    for (at++; at < end; at++) {
        int byte = percent_byte(at, (size_t)(end - at));

        if (*at == '%' && byte < 0)
            return NULL;
        buf_add_char(&text, byte < 0 ? *at : (char)byte);
        at += byte < 0 ? 0 : 2;
    }
    return json_clean_utf8(text.data ? text.data : "", text.length);
}

/* ---- Headers ---- */

/* What is in a head while it is read. */
struct taken {
    struct part_head *head;
    char *plain_filename;
    bool disposition, encoding;
};

static enum err_code take_param(struct taken *taken, const struct header_param *param,
                                struct err *err)
{
    char **place = header_param_is(param, "name")        ? &taken->head->name
                   : header_param_is(param, "filename")  ? &taken->plain_filename
                   : header_param_is(param, "filename*") ? &taken->head->filename
                                                         : NULL;

    if (!place)
        return ERR_OK;
    if (*place)
        return malformed(err);
    *place = place == &taken->head->filename ? take_extended(param) : take_text(param);
    return *place ? ERR_OK : malformed(err);
}

static enum err_code take_disposition(struct taken *taken, const char *value, struct err *err)
{
    static const char form[] = "form-data";
    const char *at = header_params(value);
    struct header_param param;
    enum err_code rc = ERR_OK;

    if (taken->disposition || strcspn(value, ";" BLANKS) != strlen(form) ||
        strncasecmp(value, form, strlen(form)) != 0)
        return malformed(err);
    taken->disposition = true;
    while (!rc && header_param_next(&at, &param))
        rc = take_param(taken, &param, err);
    return rc || !*at ? rc : malformed(err);
}

static enum err_code take_type(struct taken *taken, const char *value, struct err *err)
{
    if (taken->head->type)
        return malformed(err);
    taken->head->type = json_clean_utf8(value, strlen(value));
    return ERR_OK;
}

/* RFC 7578, section 4.7: deprecated, and the bytes of a part are what they are. */
static enum err_code take_encoding(struct taken *taken, const char *value, struct err *err)
{
    if (taken->encoding)
        return malformed(err);
    taken->encoding = true;
    if (strcasecmp(value, "binary") == 0 || strcasecmp(value, "8bit") == 0 ||
        strcasecmp(value, "7bit") == 0)
        return ERR_OK;
    return err_set(err, ERR_INVALID, "a part has a Content-Transfer-Encoding");
}

/* clang-format off */
static const struct {
    const char *name;
    enum err_code (*take)(struct taken *taken, const char *value, struct err *err);
} headers[] = {
    {"Content-Disposition",       take_disposition},
    {"Content-Type",              take_type},
    {"Content-Transfer-Encoding", take_encoding},
};
/* clang-format on */

/* A line that begins with a blank would continue the one before. */
static enum err_code take_line(struct taken *taken, char *line, struct err *err)
{
    char *colon = strchr(line, ':');
    char *value = colon ? colon + 1 + strspn(colon + 1, BLANKS) : NULL;
    char *end = line + strlen(line);

    if (!colon || colon == line || strcspn(line, BLANKS) < (size_t)(colon - line))
        return malformed(err);
    *colon = '\0';
    while (end > value && strchr(BLANKS, end[-1]))
        *--end = '\0';
    for (size_t i = 0; i < COUNT_OF(headers); i++)
        if (strcasecmp(line, headers[i].name) == 0)
            return headers[i].take(taken, value, err);
    return ERR_OK;
}

/* Besides the ends of lines. */
static bool has_control(const char *line, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (((unsigned char)line[i] < 0x20 && line[i] != '\t') || line[i] == 0x7F)
            return true;
    return false;
}

static enum err_code take_lines(struct taken *taken, const char *text, size_t length,
                                struct err *err)
{
    enum err_code rc = ERR_OK;

    for (size_t at = 0; !rc && at < length;) {
        const char *end = memmem(text + at, length - at, "\r\n", 2);
        size_t size = end ? (size_t)(end - text) - at : length - at;
        AUTO_FREE char *line = mem_strndup(text + at, size);

        rc = has_control(line, size) ? malformed(err) : take_line(taken, line, err);
        at += size + 2;
    }
    return rc;
}

enum err_code part_head_parse(const char *text, size_t length, struct part_head *ret_head,
                              struct err *err)
{
    struct part_head head = {0};
    struct taken taken = {.head = &head};
    enum err_code rc = take_lines(&taken, text, length, err);

    if (!rc && !head.name)
        rc = err_set(err, ERR_INVALID, "a part has no name");
    if (!rc && !head.filename)
        head.filename = TAKE(taken.plain_filename);
    free(taken.plain_filename);
    if (rc)
        part_head_clear(&head);
    else
        *ret_head = head;
    return rc;
}
