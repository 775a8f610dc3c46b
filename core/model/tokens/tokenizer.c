/*
 * tokenizer.c -- counts the tokens of texts, messages and requests.
 *
 * Counts decide what fits into a model's context and into a client's budget, before a request is
 * sent. The upstream's own count comes only with its answer, which is too late.
 *
 * A vocabulary belongs to a model, so none is part of this program: the operator names a file in
 * tiktoken's format, and the expression that splits text for it. The well-known expressions are
 * here as tiktoken has them. Text that the expression does not match is a piece of its own, so every
 * byte is counted.
 *
 * Without a file the count is an estimate by the length of characters in UTF-8. It needs no table
 * and no setting, and it never fails.
 *
 * Only numbers leave this file. Token ids would cost memory and are never needed.
 */

#define PCRE2_CODE_UNIT_WIDTH 8

#include "core/model/tokens/tokenizer.h"

#include <errno.h>
#include <fcntl.h>
#include <pcre2.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/model/tokens/ranks.h"

struct tokenizer {
    struct ranks *ranks;
    pcre2_code *split;
    uint32_t number;
};

/* ---- How text is split ---- */

/* clang-format off */
static const struct {
    const char *name;
    const char *expression;
} splits[] = {
    {"r50k",
     "'(?:[sdmt]|ll|ve|re)| ?\\p{L}++| ?\\p{N}++| ?[^\\s\\p{L}\\p{N}]++|\\s++$|\\s+(?!\\S)|\\s"},
    {"p50k",
     "'(?:[sdmt]|ll|ve|re)| ?\\p{L}++| ?\\p{N}++| ?[^\\s\\p{L}\\p{N}]++|\\s++$|\\s+(?!\\S)|\\s"},
    {"cl100k",
     "'(?i:[sdmt]|ll|ve|re)|[^\\r\\n\\p{L}\\p{N}]?+\\p{L}++|\\p{N}{1,3}+"
     "| ?[^\\s\\p{L}\\p{N}]++[\\r\\n]*+|\\s++$|\\s*[\\r\\n]|\\s+(?!\\S)|\\s"},
    {"o200k",
     "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+"
     "(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
     "|[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*"
     "(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
     "|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"},
};
/* clang-format on */

static const char *last_segment(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* The expression that `split` names or is, or else the one that the file's name begins with, or NULL. */
static const char *find_split(const char *split, const char *path)
{
    const char *file = last_segment(path);

    for (size_t i = 0; i < COUNT_OF(splits); i++) {
        const char *name = splits[i].name;

        if (split ? strcmp(split, name) == 0 : strncmp(file, name, strlen(name)) == 0)
            return splits[i].expression;
    }
    return split;
}

static enum err_code compile(const char *path, const char *split, pcre2_code **ret_code,
                             struct err *err)
{
    const char *expression = find_split(split, path);
    pcre2_code *code;
    int number;
    size_t at;

    if (!expression)
        return err_set(err, ERR_INVALID,
                       "%s: its name does not tell how its text is split: r50k, cl100k, o200k "
                       "or an expression of your own",
                       path);
    code = pcre2_compile((PCRE2_SPTR)expression, PCRE2_ZERO_TERMINATED, PCRE2_UTF | PCRE2_UCP,
                         &number, &at, NULL);
    if (!code) {
        PCRE2_UCHAR why[128];

        (void)pcre2_get_error_message(number, why, sizeof(why));
        return err_set(err, ERR_INVALID, "%s: how its text is split: %s, at %zu", path,
                       (const char *)why, at);
    }
    (void)pcre2_jit_compile(code, PCRE2_JIT_COMPLETE); /* if that fails, matching is slower */
    *ret_code = code;
    return ERR_OK;
}

/* ---- Loading ---- */

/* FNV-1a */
#define NUMBER_FIRST 2166136261u
static uint32_t number_of(uint32_t number, const char *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++)
        number = (number ^ (unsigned char)bytes[i]) * 16777619u;
    return number;
}

enum err_code tokenizer_parse(const char *name, const char *split, const char *text,
                              size_t length, struct tokenizer **ret_tokenizer, struct err *err)
{
    struct tokenizer *tokenizer = mem_new(struct tokenizer);
    enum err_code rc = compile(name, split, &tokenizer->split, err);

    if (!rc)
        rc = ranks_parse(name, text, length, &tokenizer->ranks, err);
    if (rc) {
        tokenizer_free(tokenizer);
        return rc;
    }
    tokenizer->number = number_of(number_of(NUMBER_FIRST, text, length), split ? split : "",
                                  split ? strlen(split) : 0);
    *ret_tokenizer = tokenizer;
    return ERR_OK;
}

uint32_t tokenizer_number(const struct tokenizer *tokenizer)
{
    return tokenizer->number ? tokenizer->number : 1;
}

static enum err_code read_file(int fd, const char *path, struct buf *ret_text, struct err *err)
{
    for (;;) {
        ssize_t got = read(fd, buf_reserve(ret_text, 1 << 16), 1 << 16);

        if (got < 0)
            return err_set(err, ERR_INVALID, "cannot read %s: %s", path, strerror(errno));
        if (!got)
            return ERR_OK;
        buf_added(ret_text, (size_t)got);
        if (ret_text->length > RANKS_FILE_LIMIT)
            return err_set(err, ERR_INVALID, "%s is larger than %zu bytes", path,
                           RANKS_FILE_LIMIT);
    }
}

enum err_code tokenizer_load(const char *path, const char *split,
                             struct tokenizer **ret_tokenizer, struct err *err)
{
    AUTO_BUF text = {0};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    enum err_code rc;

    if (fd < 0)
        return err_set(err, ERR_INVALID, "cannot open %s: %s", path, strerror(errno));
    rc = read_file(fd, path, &text, err);
    close(fd);
    if (rc)
        return rc;
    return tokenizer_parse(path, split, text.data ? text.data : "", text.length, ret_tokenizer,
                           err);
}

void tokenizer_free(struct tokenizer *tokenizer)
{
    if (!tokenizer)
        return;
    ranks_free(tokenizer->ranks);
    pcre2_code_free(tokenizer->split);
    free(tokenizer);
}

/* ---- Text ---- */

/* In quarters of a token, by the length of each character in UTF-8. */
static int64_t estimate(const char *text, size_t length)
{
    int64_t quarters = 0;

    for (size_t i = 0; i < length; i++) {
        unsigned char byte = (unsigned char)text[i];

        if (byte >= 0xf0)
            quarters += 8;
        else if (byte >= 0xe0)
            quarters += 4;
        else if (byte >= 0xc0)
            quarters += 2;
        else if (byte < 0x80)
            quarters += 1;
    }
    return (quarters + 3) / 4;
}

/* Text that the expression does not match, or takes too long for, is a piece, too. */
static int64_t count_pieces(const struct tokenizer *tokenizer, const char *text, size_t length)
{
    pcre2_match_data *match = pcre2_match_data_create(1, NULL);
    const size_t *found = pcre2_get_ovector_pointer(match);
    size_t at = 0, count = 0;

    while (at < length) {
        int groups = pcre2_match(tokenizer->split, (PCRE2_SPTR)text, length, at,
                                 PCRE2_NO_UTF_CHECK, match, NULL);
        bool moved = groups >= 0 && found[1] > at;

        if (!moved)
            break;
        count += ranks_count(tokenizer->ranks, text + at, found[0] - at);
        count += ranks_count(tokenizer->ranks, text + found[0], found[1] - found[0]);
        at = found[1];
    }
    count += ranks_count(tokenizer->ranks, text + at, length - at);
    pcre2_match_data_free(match);
    return (int64_t)count;
}

static atomic_uint_least64_t counted_bytes;

uint64_t tokenizer_bytes(void)
{
    return atomic_load_explicit(&counted_bytes, memory_order_relaxed);
}

int64_t tokenizer_count(const struct tokenizer *tokenizer, const char *text, size_t length)
{
    atomic_fetch_add_explicit(&counted_bytes, length, memory_order_relaxed);
    return tokenizer ? count_pieces(tokenizer, text, length) : estimate(text, length);
}

/* ---- Chat Completions ---- */

static int64_t count_string(const struct tokenizer *tokenizer, const json_t *value)
{
    if (!json_is_string(value))
        return 0;
    return tokenizer_count(tokenizer, json_string_value(value), json_string_length(value));
}

static int64_t count_json(const struct tokenizer *tokenizer, const json_t *value)
{
    AUTO_FREE char *text = value ? json_text(value) : NULL;

    return text ? tokenizer_count(tokenizer, text, strlen(text)) : 0;
}

/* A text in base64 has three quarters of its length; other files cost a fixed number. */
static int64_t count_file(const json_t *file)
{
    const char *data = json_get_string(file, "file_data", "");

    if (strncmp(data, "data:text/", 10) == 0)
        return (int64_t)strlen(data) * 3 / 16;
    return TOKENS_OF_FILE;
}

/* The pages of a file are as many pictures. */
static int64_t count_image(const json_t *image)
{
    int64_t pages = json_get_int(image, "pages", 1);

    return pages * (strcmp(json_get_string(image, "detail", "auto"), "low") == 0
                        ? TOKENS_OF_LOW_IMAGE
                        : TOKENS_OF_IMAGE);
}

static int64_t count_part(const struct tokenizer *tokenizer, const json_t *part)
{
    const char *type = json_get_string(part, "type", "");

    if (strcmp(type, "image_url") == 0)
        return count_image(json_object_get(part, "image_url"));
    if (strcmp(type, "file") == 0)
        return count_file(json_object_get(part, "file"));
    return count_string(tokenizer, json_object_get(part, "text"));
}

int64_t tokenizer_count_content(const struct tokenizer *tokenizer, const json_t *content)
{
    int64_t count = count_string(tokenizer, content);
    size_t i;
    json_t *part;

    json_array_foreach (content, i, part)
        count += count_part(tokenizer, part);
    return count;
}

int64_t tokenizer_count_message(const struct tokenizer *tokenizer, const json_t *message)
{
    int64_t count = TOKENS_OF_MESSAGE;
    size_t i;
    json_t *call;

    count += tokenizer_count_content(tokenizer, json_object_get(message, "content"));
    count += count_string(tokenizer, json_object_get(message, "reasoning_content"));
    count += count_string(tokenizer, json_object_get(message, "reasoning"));
    count += count_json(tokenizer, json_object_get(message, "reasoning_details"));
    json_array_foreach (json_object_get(message, "tool_calls"), i, call) {
        const json_t *function = json_object_get(call, "function");

        count += TOKENS_OF_MESSAGE + count_string(tokenizer, json_object_get(function, "name"));
        count += count_string(tokenizer, json_object_get(function, "arguments"));
    }
    return count;
}

int64_t tokenizer_count_messages(const struct tokenizer *tokenizer, const json_t *messages)
{
    int64_t count = 0;
    size_t i;
    json_t *message;

    json_array_foreach (messages, i, message)
        count += tokenizer_count_message(tokenizer, message);
    return count;
}

int64_t tokenizer_count_frame(const struct tokenizer *tokenizer, const json_t *request)
{
    int64_t count = TOKENS_OF_ANSWER;
    size_t i;
    json_t *tool;

    json_array_foreach (json_object_get(request, "tools"), i, tool)
        count += TOKENS_OF_MESSAGE + count_json(tokenizer, json_object_get(tool, "function"));
    return count + count_json(tokenizer, json_object_get(request, "response_format"));
}

int64_t tokenizer_count_request(const struct tokenizer *tokenizer, const json_t *request)
{
    return tokenizer_count_messages(tokenizer, json_object_get(request, "messages")) +
           tokenizer_count_frame(tokenizer, request);
}
