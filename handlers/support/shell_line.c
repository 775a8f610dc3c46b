/*
 * shell_line.c -- reads a line as bash does, as far as its commands go.
 *
 * One pass with a recursion for each substitution and subshell. A construct that is not understood never stops the
 * reading, because a forbidden command may follow it.
 */

#include "handlers/support/shell_line.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/mem.h"

/* Here-documents whose text has not come yet. */
#define HERE_LIMIT 16

struct here {
    char *delimiter; /* owned */
    bool quoted, tabs;
};

struct reader {
    const char *at, *end;
    struct shell_line *line;
    unsigned depth;
    struct here here[HERE_LIMIT];
    size_t here_count;
};

static void read_list(struct reader *reader, char terminator, bool piped);

static void strange(struct reader *reader)
{
    reader->line->understood = false;
}

static char peek(const struct reader *reader, size_t ahead)
{
    return (size_t)(reader->end - reader->at) > ahead ? reader->at[ahead] : '\0';
}

/* Another text of the line, such as what is between backticks. */
static void read_text(struct reader *outer, const char *text, size_t length)
{
    struct reader inner = {
        .at = text, .end = text + length, .line = outer->line, .depth = outer->depth};

    read_list(&inner, '\0', false);
}

/* ---- Words ---- */

static void read_dollar(struct reader *reader, struct buf *text);

/* The reader is behind `(`; reads to the `)`, and adds all of it to the text. */
static void read_substitution(struct reader *reader, struct buf *text)
{
    const char *begin = reader->at;

    read_list(reader, ')', false);
    buf_add_char(text, '(');
    buf_add(text, begin, (size_t)(reader->at - begin));
}

/* Backticks: a backslash hides the next one, also a backtick. */
static void read_backticks(struct reader *reader, struct buf *text)
{
    AUTO_BUF inner = {0};

    buf_add_char(text, '`');
    for (reader->at++; reader->at < reader->end && *reader->at != '`'; reader->at++) {
        if (*reader->at == '\\' && peek(reader, 1) == '"')
            strange(reader); /* within double quotes it hides the backslash too */
        if (*reader->at == '\\' && strchr("`\\$", peek(reader, 1)) && peek(reader, 1))
            reader->at++;
        buf_add_char(&inner, *reader->at);
    }
    if (reader->at == reader->end)
        strange(reader);
    else
        reader->at++;
    buf_add(text, inner.data, inner.length);
    buf_add_char(text, '`');
    if (inner.length)
        read_text(reader, inner.data, inner.length);
}

static void read_double_quotes(struct reader *reader, struct shell_word *word, struct buf *text)
{
    for (reader->at++; reader->at < reader->end && *reader->at != '"';) {
        if (*reader->at == '\\' && reader->at + 1 < reader->end) {
            if (!strchr("$`\"\\\n", reader->at[1]))
                buf_add_char(text, '\\');
            if (reader->at[1] != '\n')
                buf_add_char(text, reader->at[1]);
            reader->at += 2;
        } else if (*reader->at == '`') {
            word->plain = false;
            read_backticks(reader, text);
        } else if (*reader->at == '$') {
            word->plain &= !strchr("({_?#!@*$-", peek(reader, 1)) &&
                           !isalnum((unsigned char)peek(reader, 1));
            read_dollar(reader, text);
        } else {
            buf_add_char(text, *reader->at++);
        }
    }
    if (reader->at == reader->end)
        strange(reader);
    else
        reader->at++;
}

static void read_single_quotes(struct reader *reader, struct buf *text)
{
    const char *end = memchr(reader->at + 1, '\'', (size_t)(reader->end - reader->at) - 1);

    if (!end) {
        strange(reader);
        end = reader->end;
    }
    buf_add(text, reader->at + 1, (size_t)(end - reader->at) - 1);
    reader->at = end < reader->end ? end + 1 : end;
}

/* False: it may run what a variable holds: ${x@P}, ${!x}, ${a[x]}, ${x:n}. */
static bool is_simple_expansion(const struct reader *reader)
{
    size_t length = peek(reader, 0) == '#';
    char next;

    while (isalnum((unsigned char)peek(reader, length)) || peek(reader, length) == '_')
        length++;
    next = peek(reader, length);
    if (next == ':')
        return peek(reader, length + 1) && strchr("-+?", peek(reader, length + 1));
    return next && strchr("}-+?#%/^,", next);
}

/* ${...}: only the substitutions in it are of interest. What a single quote means depends on the quotes around it. */
static void read_braces(struct reader *reader, struct buf *text)
{
    struct shell_word ignored = {.plain = true};

    if (!is_simple_expansion(reader))
        strange(reader);
    while (reader->at < reader->end && *reader->at != '}') {
        if (strchr("'<>", *reader->at))
            strange(reader);
        switch (*reader->at) {
        case '\\':
            buf_add_char(text, *reader->at++);
            if (reader->at < reader->end)
                buf_add_char(text, *reader->at++);
            break;
        case '\'': read_single_quotes(reader, text); break;
        case '"': read_double_quotes(reader, &ignored, text); break;
        case '`': read_backticks(reader, text); break;
        case '$': read_dollar(reader, text); break;
        default: buf_add_char(text, *reader->at++); break;
        }
    }
    if (reader->at == reader->end)
        strange(reader);
    else
        buf_add_char(text, *reader->at++);
}

static void read_dollar(struct reader *reader, struct buf *text)
{
    char next = peek(reader, 1);

    buf_add_char(text, *reader->at++);
    if (next == '[')
        strange(reader); /* arithmetic, as it was written once */
    if (next == '(' || next == '{') {
        if (++reader->depth > SHELL_DEPTH_LIMIT) {
            strange(reader);
            reader->depth--;
            return;
        }
        reader->at++;
        if (next == '{') {
            buf_add_char(text, '{');
            read_braces(reader, text);
        } else {
            if (peek(reader, 0) == '(')
                strange(reader);
            read_substitution(reader, text);
        }
        reader->depth--;
    }
}

/* Characters that end a word. */
static bool ends_word(char c)
{
    return strchr(" \t\n;&|<>()", c) != NULL;
}

/* Outside of quotes. False: the word ends here. */
static bool read_bare(struct reader *reader, struct shell_word *word, struct buf *text)
{
    char c = *reader->at;

    if (c == '\\') {
        word->quoted = true;
        if (peek(reader, 1) && peek(reader, 1) != '\n')
            buf_add_char(text, peek(reader, 1));
        reader->at += reader->at + 1 < reader->end ? 2 : 1;
    } else if (c == '\'' || c == '"') {
        word->quoted = true;
        if (c == '"')
            read_double_quotes(reader, word, text);
        else
            read_single_quotes(reader, text);
    } else if (c == '`') {
        word->plain = false;
        read_backticks(reader, text);
    } else if (c == '$') {
        word->plain = false;
        if (peek(reader, 1) == '\'')
            strange(reader); /* quotes in which a backslash counts */
        read_dollar(reader, text);
    } else if ((c == '<' || c == '>') && peek(reader, 1) == '(') {
        word->plain = false;
        buf_add_char(text, c);
        reader->at += 2;
        if (++reader->depth <= SHELL_DEPTH_LIMIT)
            read_substitution(reader, text);
        else
            strange(reader);
        reader->depth--;
    } else if (ends_word(c)) {
        return false;
    } else {
        /* The shell may make several words of it. */
        if (strchr("*?[{", c))
            word->plain = false;
        buf_add_char(text, c);
        reader->at++;
    }
    return true;
}

/* False: nothing is here. */
static bool read_word(struct reader *reader, struct shell_word *ret_word)
{
    struct shell_word word = {.plain = true};
    const char *begin = reader->at;
    AUTO_BUF text = {0};

    while (reader->at < reader->end && read_bare(reader, &word, &text))
        ;
    if (reader->at == begin)
        return false;
    buf_add(&text, "", 0);
    word.text = buf_take(&text);
    *ret_word = word;
    return true;
}

/* ---- Commands ---- */

static void add_word(struct shell_command *command, struct shell_word word)
{
    command->words = mem_resize(command->words, command->count + 1, sizeof(*command->words));
    command->words[command->count++] = word;
}

static void clear_command(struct shell_command *command)
{
    for (size_t i = 0; i < command->count; i++)
        free(command->words[i].text);
    for (size_t i = 0; i < command->redirect_count; i++)
        free(command->redirects[i].target.text);
    free(command->words);
    free(command->redirects);
    *command = (struct shell_command){0};
}

/* Takes the command, unless it is empty. */
static void end_command(struct reader *reader, struct shell_command *command)
{
    struct shell_line *line = reader->line;

    if (!command->count && !command->redirect_count)
        return;
    if (line->count == SHELL_COMMANDS_LIMIT) {
        strange(reader);
        clear_command(command);
        return;
    }
    line->commands = mem_resize(line->commands, line->count + 1, sizeof(*line->commands));
    line->commands[line->count++] = *command;
    *command = (struct shell_command){0};
}

/* name=value, name+=value */
static bool is_assignment(const char *text)
{
    size_t length = 0;

    if (!isalpha((unsigned char)*text) && *text != '_')
        return false;
    while (isalnum((unsigned char)text[length]) || text[length] == '_')
        length++;
    length += text[length] == '+';
    return text[length] == '=';
}

/* Words behind which, or instead of which, a command begins. */
static bool is_passed_over(const char *text)
{
    static const char *const words[] = {"if", "then", "elif", "else", "fi", "while", "until",
                                        "do", "done", "!",    "{",    "}",  "time",  "esac"};

    for (size_t i = 0; i < COUNT_OF(words); i++) {
        if (strcmp(text, words[i]) == 0)
            return true;
    }
    return false;
}

static bool is_not_understood(const char *text)
{
    static const char *const words[] = {"case", "function", "[[", "select", "coproc"};

    for (size_t i = 0; i < COUNT_OF(words); i++) {
        if (strcmp(text, words[i]) == 0)
            return true;
    }
    return false;
}

static void take_word(struct reader *reader, struct shell_command *command)
{
    struct shell_word word;

    if (!read_word(reader, &word)) {
        /* A NUL cannot be here, and all else is a word or an operator. */
        reader->at++;
        return;
    }
    if (!command->count && !word.quoted && is_passed_over(word.text)) {
        free(word.text);
        return;
    }
    if (!command->count && !word.quoted && is_not_understood(word.text))
        strange(reader);
    if (command->count == command->assignments && is_assignment(word.text))
        command->assignments++;
    add_word(command, word);
    /* A function, or an array. */
    if (peek(reader, 0) == '(')
        strange(reader);
}

/* ---- Redirections ---- */

static void add_here(struct reader *reader, const struct shell_word *word, bool tabs)
{
    if (reader->here_count == HERE_LIMIT) {
        strange(reader);
        return;
    }
    reader->here[reader->here_count++] =
        (struct here){mem_strdup(word->text), word->quoted, tabs};
}

/* Where texts were announced, and the end comes before them. */
static void miss_here_documents(struct reader *reader)
{
    if (reader->here_count)
        strange(reader);
    while (reader->here_count)
        free(reader->here[--reader->here_count].delimiter);
}

/* Only the substitutions in it are of interest. */
static void read_here_text(struct reader *reader, const char *text, const char *end)
{
    struct reader inner = {
        .at = text, .end = end, .line = reader->line, .depth = reader->depth};
    AUTO_BUF ignored = {0};

    while (inner.at < inner.end) {
        if (*inner.at == '`')
            read_backticks(&inner, &ignored);
        else if (*inner.at == '$')
            read_dollar(&inner, &ignored);
        else
            inner.at += *inner.at == '\\' && inner.at + 1 < inner.end ? 2 : 1;
        buf_reset(&ignored);
    }
    miss_here_documents(&inner);
}

/* Behind a line break: the texts that the line has announced. */
static void read_here_documents(struct reader *reader)
{
    for (size_t i = 0; i < reader->here_count; i++) {
        struct here *here = &reader->here[i];
        const char *begin = reader->at, *end = NULL;

        while (!end && reader->at < reader->end) {
            const char *line = reader->at;
            const char *stop = memchr(line, '\n', (size_t)(reader->end - line));
            size_t length;

            stop = stop ? stop : reader->end;
            if (!here->quoted && stop > line && stop[-1] == '\\')
                strange(reader); /* the next line belongs to it */
            reader->at = stop < reader->end ? stop + 1 : stop;
            while (here->tabs && line < stop && *line == '\t')
                line++;
            length = (size_t)(stop - line);
            if (length == strlen(here->delimiter) && memcmp(line, here->delimiter, length) == 0)
                end = line;
        }
        if (!end)
            strange(reader);
        if (!here->quoted)
            read_here_text(reader, begin, end ? end : reader->end);
        free(here->delimiter);
    }
    reader->here_count = 0;
}

static void skip_blanks(struct reader *reader)
{
    while (reader->at < reader->end) {
        if (*reader->at == ' ' || *reader->at == '\t')
            reader->at++;
        else if (*reader->at == '\\' && peek(reader, 1) == '\n')
            reader->at += 2;
        else
            return;
    }
}

static bool is_descriptor(const struct shell_word *word)
{
    return word->plain && (strcmp(word->text, "-") == 0 ||
                           (*word->text && !word->text[strspn(word->text, "0123456789-")]));
}

/* clang-format off */
static const struct {
    const char *operator; /* longer ones first */
    enum shell_redirect_kind kind;
} operators[] = {
    {"<<<", SHELL_READS},  {"<<-", SHELL_READS}, {"<<", SHELL_READS},      {"<&", SHELL_DUPLICATES},
    {"<>",  SHELL_WRITES}, {"<",   SHELL_READS}, {"&>>", SHELL_WRITES},    {"&>", SHELL_WRITES},
    {">>",  SHELL_WRITES}, {">|",  SHELL_WRITES}, {">&", SHELL_DUPLICATES}, {">", SHELL_WRITES},
};
/* clang-format on */

/* False: no redirection is here. */
static bool take_redirect(struct reader *reader, struct shell_command *command)
{
    const char *at = reader->at;
    struct shell_redirect redirect;
    size_t i;

    while (at < reader->end && isdigit((unsigned char)*at))
        at++;
    for (i = 0; i < COUNT_OF(operators); i++) {
        size_t length = strlen(operators[i].operator);

        if ((size_t)(reader->end - at) >= length &&
            memcmp(at, operators[i].operator, length) == 0)
            break;
    }
    if (i == COUNT_OF(operators) || (*at == '&' && at > reader->at))
        return false;
    if ((*at == '<' || *at == '>') && at + 1 < reader->end && at[1] == '(')
        return false;
    reader->at = at + strlen(operators[i].operator);
    skip_blanks(reader);
    redirect.kind = operators[i].kind;
    if (!read_word(reader, &redirect.target)) {
        strange(reader);
        return true;
    }
    if (redirect.kind == SHELL_DUPLICATES && !is_descriptor(&redirect.target))
        redirect.kind = *operators[i].operator== '>' ? SHELL_WRITES : SHELL_READS;
    if (strcmp(operators[i].operator, "<<") == 0 || strcmp(operators[i].operator, "<<-") == 0)
        add_here(reader, &redirect.target, operators[i].operator[2] == '-');
    command->redirects = mem_resize(command->redirects, command->redirect_count + 1,
                                    sizeof(*command->redirects));
    command->redirects[command->redirect_count++] = redirect;
    return true;
}

/* ---- Lists ---- */

static void skip_comment(struct reader *reader)
{
    while (reader->at < reader->end && *reader->at != '\n')
        reader->at++;
}

static void read_subshell(struct reader *reader, bool piped)
{
    reader->at++;
    if (++reader->depth <= SHELL_DEPTH_LIMIT)
        read_list(reader, ')', piped);
    else
        strange(reader);
    reader->depth--;
}

/* ; & && || | |& and line breaks. True: the next command reads the output of this one. */
static bool take_separator(struct reader *reader)
{
    char c = *reader->at++;
    bool piped = c == '|' && peek(reader, 0) != '|';

    if (c == '\n')
        read_here_documents(reader);
    else if (reader->at < reader->end && (*reader->at == c || (piped && *reader->at == '&')))
        reader->at++;
    return piped;
}

/* Up to the terminator, which is taken, or to the end. `piped`: what is in it reads the output of another command. */
static void read_list(struct reader *reader, char terminator, bool piped)
{
    struct shell_command command = {.piped = piped};
    bool ended = false;

    if (reader->here_count)
        strange(reader); /* its line breaks are not those that the texts follow */
    while (!ended && reader->at < reader->end) {
        char c;

        skip_blanks(reader);
        if (reader->at == reader->end)
            break;
        c = *reader->at;
        if (take_redirect(reader, &command))
            continue;
        if (c == '#') {
            skip_comment(reader);
        } else if (c == ')' || c == ';' || c == '&' || c == '|' || c == '\n') {
            end_command(reader, &command);
            if (c == ')') {
                reader->at++;
                ended = terminator == ')';
                if (!ended)
                    strange(reader);
            } else {
                /* A line break behind a pipe keeps it. */
                bool now = take_separator(reader);

                piped = now || (c == '\n' && piped);
            }
            command.piped = piped;
        } else if (c == '(') {
            if (command.count)
                strange(reader);
            read_subshell(reader, piped);
        } else {
            take_word(reader, &command);
            piped = command.count ? false : piped;
        }
    }
    if (!ended && terminator)
        strange(reader);
    end_command(reader, &command);
    if (!terminator)
        miss_here_documents(reader);
    else if (reader->here_count)
        strange(reader);
}

void shell_line_parse(const char *text, struct shell_line *ret_line)
{
    struct shell_line line = {.understood = true};
    struct reader reader = {.at = text, .end = text + strlen(text), .line = &line};

    read_list(&reader, '\0', false);
    *ret_line = line;
}

void shell_line_clear(struct shell_line *line)
{
    for (size_t i = 0; i < line->count; i++)
        clear_command(&line->commands[i]);
    free(line->commands);
    *line = (struct shell_line){0};
}
