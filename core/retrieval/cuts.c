/*
 * cuts.c -- reads a text once, word by word, and looks at each line when it begins.
 */

#include "core/retrieval/cuts.h"

#include <string.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/base/utf8.h"
#include "core/retrieval/kind.h"

#define WORD_LIMIT 48 /* bytes of a run of letters that is not cut */
#define SIGNS_LIMIT \
    48 /* bytes of signs that a counter counts together: it makes words of them */
#define HEADINGS_LIMIT 100000 /* those behind them have the last of them as theirs */
#define HEADING_LEVELS 6
#define HEADING_LIMIT  ((size_t)120) /* bytes of one heading in a path */
#define FENCE_LENGTH   3
#define QUARTERS       4u

struct heading {
    size_t begin;
    size_t length;
    unsigned level;
    uint32_t parent; /* 0: none; else its place from 1 */
};

struct cuts {
    const struct token_counter *counter;
    const char *text;
    size_t length;
    uint64_t row_limit;

    size_t at;           /* where the last word ends */
    uint64_t size;       /* of all before it */
    enum cut_rank joint; /* how good a cut right here would be, without a blank */
    bool ended;
    uint32_t page;

    bool in_fence;
    bool after_heading;
    struct heading *headings;
    uint32_t heading_count, heading_room;
    uint32_t heading; /* the current one, from 1 */

    /* The table, if `in_table`. */
    bool in_table;
    size_t table_lines; /* that have begun */
    bool has_rule;      /* its second line is the one of dashes */
    size_t head_begin, head_length;
    uint32_t head_size;
    size_t row_end; /* where the row that stays whole ends; 0: none does */
};

struct cuts *cuts_new(const struct token_counter *counter, const char *text, size_t length,
                      uint64_t row_limit)
{
    struct cuts *cuts = mem_new(struct cuts);

    cuts->counter = counter;
    cuts->text = text;
    cuts->length = length;
    cuts->row_limit = row_limit;
    cuts->joint = CUT_PARAGRAPH;
    cuts->page = memchr(text, '\f', length) ? 1 : 0;
    return cuts;
}

void cuts_free(struct cuts *cuts)
{
    if (!cuts)
        return;
    free(cuts->headings);
    free(cuts);
}

static uint64_t size_of(const struct cuts *cuts, const char *text, size_t length)
{
    uint64_t tokens;

    if (!cuts->counter)
        return words_quarters(text, length);
    tokens = words_tokens(cuts->counter, text, length);
    return tokens ? QUARTERS * tokens : 1; /* so that a chunk has an end */
}

/* ---- Lines ---- */

static bool is_blank(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\f' || byte == '\r';
}

/* One line, without the blanks around it. */
struct line {
    const char *text;
    size_t length;
};

/* The line that `at` lies in, from there; *ret_next is where the next one begins. */
static struct line line_at(const struct cuts *cuts, size_t at, size_t *ret_next)
{
    struct line line = {.text = cuts->text + at};
    const char *end = memchr(line.text, '\n', cuts->length - at);
    const char *page;

    line.length = end ? (size_t)(end - line.text) : cuts->length - at;
    page = memchr(line.text, '\f', line.length);
    if (page)
        line.length = (size_t)(page - line.text);
    *ret_next = at + line.length + (at + line.length < cuts->length);
    while (line.length && is_blank(line.text[line.length - 1]))
        line.length--;
    while (line.length && is_blank(*line.text)) {
        line.text++;
        line.length--;
    }
    return line;
}

static bool is_fence(struct line line)
{
    return line.length >= FENCE_LENGTH && (memcmp(line.text, "```", FENCE_LENGTH) == 0 ||
                                           memcmp(line.text, "~~~", FENCE_LENGTH) == 0);
}

/* 1 ... 6; 0: it is no heading. */
static unsigned heading_level(struct line line)
{
    unsigned level = 0;

    while (level < line.length && level <= HEADING_LEVELS && line.text[level] == '#')
        level++;
    return level <= HEADING_LEVELS && level < line.length && is_blank(line.text[level]) ? level
                                                                                        : 0;
}

/* How many times a row is divided; 0: the line is no row. */
static size_t row_cells(struct line line)
{
    size_t cells = 0;
    bool spaced = line.length && *line.text == '|';

    for (size_t i = 0; i < line.length; i++) {
        if (line.text[i] != '|' || (i && line.text[i - 1] == '\\'))
            continue;
        if (i && i + 1 < line.length) {
            cells++;
            spaced = spaced || (line.text[i - 1] == ' ' && line.text[i + 1] == ' ');
        }
    }
    return spaced && cells ? cells : 0;
}

/* The line of dashes under the header of a table: | --- | :-: | */
static bool is_rule(struct line line)
{
    bool dash = false, bar = false;

    for (size_t i = 0; i < line.length; i++) {
        dash = dash || line.text[i] == '-';
        bar = bar || line.text[i] == '|';
        if (!strchr("-|: ", line.text[i]))
            return false;
    }
    return dash && bar;
}

static void add_heading(struct cuts *cuts, struct line line, unsigned level)
{
    struct heading heading = {.level = level, .parent = cuts->heading};

    if (cuts->heading_count == HEADINGS_LIMIT)
        return;
    if (cuts->heading_count == cuts->heading_room) {
        cuts->heading_room = cuts->heading_room ? 2 * cuts->heading_room : 16;
        cuts->headings =
            mem_resize(cuts->headings, cuts->heading_room, sizeof(*cuts->headings));
    }
    while (heading.parent && cuts->headings[heading.parent - 1].level >= level)
        heading.parent = cuts->headings[heading.parent - 1].parent;
    line.text += level;
    line.length -= level;
    while (line.length &&
           (is_blank(line.text[line.length - 1]) || line.text[line.length - 1] == '#'))
        line.length--;
    while (line.length && is_blank(*line.text)) {
        line.text++;
        line.length--;
    }
    heading.begin = (size_t)(line.text - cuts->text);
    heading.length = line.length;
    cuts->headings[cuts->heading_count++] = heading;
    cuts->heading = cuts->heading_count;
}

/* A table begins with this line, if the next one belongs to the same. */
static bool begins_table(const struct cuts *cuts, struct line line, size_t next, bool *ret_rule)
{
    size_t cells = row_cells(line), behind;
    struct line second;

    if (!cells || next >= cuts->length)
        return false;
    second = line_at(cuts, next, &behind);
    *ret_rule = is_rule(second);
    return *ret_rule || row_cells(second) == cells;
}

static void end_table(struct cuts *cuts)
{
    cuts->in_table = false;
    cuts->head_length = 0;
    cuts->head_size = 0;
}

/* Measures the header of a table that begins here. */
static void begin_table(struct cuts *cuts, struct line line, size_t next)
{
    uint64_t size;

    cuts->in_table = true;
    cuts->table_lines = 0;
    cuts->head_begin = (size_t)(line.text - cuts->text);
    cuts->head_length = line.length;
    if (cuts->has_rule) {
        struct line rule = line_at(cuts, next, &next);

        cuts->head_length = (size_t)(rule.text + rule.length - line.text);
    }
    /* With the newline behind it. */
    size = size_of(cuts, line.text, cuts->head_length) + QUARTERS;
    if (size > cuts->row_limit / 4) {
        cuts->head_length = 0;
        size = 0;
    }
    cuts->head_size = (uint32_t)size;
}

/* The place of the current line in its table, from 0: the header; the rule counts as the header. */
static bool in_header(const struct cuts *cuts)
{
    return cuts->table_lines <= (cuts->has_rule ? 2u : 1u);
}

/* Looks at the line whose first word begins at `at`. Returns how good a cut before it is. */
static enum cut_rank begin_line(struct cuts *cuts, size_t at, enum cut_rank rank)
{
    size_t next;
    struct line line = line_at(cuts, at, &next);
    unsigned level = cuts->in_fence ? 0 : heading_level(line);
    bool after_heading = cuts->after_heading;

    cuts->after_heading = level > 0;
    cuts->row_end = 0;
    if (is_fence(line)) {
        cuts->in_fence = !cuts->in_fence;
        end_table(cuts);
        return after_heading ? CUT_BLANK : rank;
    }
    if (level) {
        end_table(cuts);
        add_heading(cuts, line, level);
        return after_heading ? CUT_BLANK : CUT_HEADING;
    }
    if (cuts->in_table && (!row_cells(line) || rank == CUT_PARAGRAPH))
        end_table(cuts);
    if (!cuts->in_table && !cuts->in_fence && begins_table(cuts, line, next, &cuts->has_rule))
        begin_table(cuts, line, next);
    if (cuts->in_table) {
        cuts->table_lines++;
        if (size_of(cuts, line.text, line.length) + cuts->head_size <= cuts->row_limit)
            cuts->row_end = at + line.length;
        if (cuts->table_lines > 1 && cuts->table_lines <= (cuts->has_rule ? 3u : 2u))
            return CUT_BLANK; /* a header without a row */
    }
    return after_heading ? CUT_BLANK : rank;
}

/* ---- Words ---- */

static bool ends_sentence(uint32_t point)
{
    return point == '.' || point == '!' || point == '?' || point == 0x3002 || point == 0xFF01 ||
           point == 0xFF0E || point == 0xFF1B || point == 0xFF1F || point == 0xFF61;
}

/* Stands behind the end of a sentence, and belongs to it. */
static bool closes(uint32_t point)
{
    return point == '"' || point == '\'' || point == ')' || point == ']' || point == 0xBB ||
           point == 0x2019 || point == 0x201D || point == 0x3009 || point == 0x300B ||
           point == 0x300D || point == 0x300F || point == 0x3011 || point == 0xFF09;
}

/* Punctuation of Chinese and Japanese, which stands without blanks. */
static bool is_wide_mark(uint32_t point)
{
    return (point >= 0x3001 && point <= 0x3003) || (point >= 0x3008 && point <= 0x301F) ||
           (point >= 0xFF01 && point <= 0xFF0F) || (point >= 0xFF1A && point <= 0xFF1F) ||
           point == 0xFF5E || point == 0xFF61 || point == 0xFF64 || point == 0x2026 ||
           point == 0x201D || point == 0x2019;
}

/* Opening brackets: the only wide marks that begin something. */
static bool opens(uint32_t point)
{
    return point == 0x3008 || point == 0x300A || point == 0x300C || point == 0x300E ||
           point == 0x3010 || point == 0x3014 || point == 0x3016 || point == 0xFF08;
}

/* Where the word at `at` ends; how good a cut there is, if no blank follows. */
static size_t word_end(const struct cuts *cuts, size_t at, enum cut_rank *ret_joint)
{
    size_t begin = at, limit = cuts->counter ? SIGNS_LIMIT : 1;
    enum cut_rank joint = CUT_LETTERS;
    bool opened = false;

    while (at < cuts->length && !is_blank(cuts->text[at])) {
        uint32_t point;
        size_t size = utf8_take(cuts->text + at, cuts->length - at, &point);
        enum kind kind = point < 0x80 ? KIND_LETTER : kind_of(point);
        bool sign = kind == KIND_RUN || opens(point);
        bool stays = kind == KIND_MARK || (is_wide_mark(point) && !opens(point)) || opened;

        if (at - begin >= 4 * (size_t)WORD_LIMIT)
            break; /* marks upon marks */
        if (at > begin && !stays) {
            if (sign && (joint != CUT_SIGNS || opens(point) || at - begin >= limit)) {
                joint = joint == CUT_LETTERS ? CUT_SIGNS : joint;
                break;
            }
            if (!sign && (joint != CUT_LETTERS || at - begin >= WORD_LIMIT))
                break;
        }
        if (ends_sentence(point) && point >= 0x80)
            joint = CUT_SENTENCE;
        else if (is_wide_mark(point) && point > 0x3000 && !closes(point))
            joint = CUT_BLANK;
        else if (sign)
            joint = CUT_SIGNS;
        opened = opens(point);
        at += size;
    }
    *ret_joint = joint;
    return at;
}

/* The word that ends at `end` ends a sentence. */
static bool is_sentence_end(const struct cuts *cuts, size_t begin, size_t end)
{
    while (end > begin) {
        size_t last = end - 1;
        uint32_t point;

        while (last > begin && !utf8_begins(cuts->text[last]))
            last--;
        utf8_take(cuts->text + last, end - last, &point);
        if (ends_sentence(point))
            return true;
        if (!closes(point))
            return false;
        end = last;
    }
    return false;
}

/* Skips the blanks behind the last word; returns how good a cut behind them is. Sets *ret_line where a line
 * begins. */
static enum cut_rank skip_blanks(struct cuts *cuts, size_t *at, bool *ret_line)
{
    size_t begin = *at, newlines = 0;
    bool page = false;

    for (; *at < cuts->length && is_blank(cuts->text[*at]); (*at)++) {
        newlines += cuts->text[*at] == '\n';
        if (cuts->text[*at] == '\f') {
            page = true;
            cuts->page++;
        }
    }
    *ret_line = newlines || page || begin == 0;
    if (*at == begin)
        return cuts->joint;
    if (page || newlines > 1)
        return CUT_PARAGRAPH;
    if (newlines)
        return CUT_LINE;
    return cuts->joint == CUT_SENTENCE ? CUT_SENTENCE : CUT_BLANK;
}

bool cuts_next(struct cuts *cuts, struct cut *ret_cut)
{
    size_t at = cuts->at, end;
    uint64_t size = cuts->size, blanks = 0;
    enum cut_rank rank;
    bool line;

    if (cuts->ended)
        return false;
    rank = skip_blanks(cuts, &at, &line);
    /* A counter counts a blank with the word behind it, as models do. */
    if (!cuts->counter || at - cuts->at > WORD_LIMIT)
        blanks = size_of(cuts, cuts->text + cuts->at, at - cuts->at);
    if (at == cuts->length) {
        cuts->ended = true;
        rank = CUT_END;
    } else if (line) {
        rank = begin_line(cuts, at, rank);
    }
    *ret_cut = (struct cut){
        .rank = rank,
        .stop = cuts->at,
        .at = at,
        .size = size,
        .size_at = size + blanks,
        .page = cuts->page,
        .heading = cuts->heading,
    };
    if (cuts->in_table && !in_header(cuts)) {
        ret_cut->head_begin = cuts->head_begin;
        ret_cut->head_length = cuts->head_length;
        ret_cut->head_size = cuts->head_size;
    }
    if (cuts->ended)
        return true;
    if (cuts->row_end > at) {
        end = cuts->row_end;
        cuts->joint = CUT_LINE;
    } else {
        end = word_end(cuts, at, &cuts->joint);
        if (end == cuts->length || is_blank(cuts->text[end]))
            cuts->joint = is_sentence_end(cuts, at, end) ? CUT_SENTENCE : CUT_BLANK;
    }
    cuts->size = cuts->counter && !blanks
                     ? size + size_of(cuts, cuts->text + cuts->at, end - cuts->at)
                     : size + blanks + size_of(cuts, cuts->text + at, end - at);
    cuts->at = end;
    return true;
}

/* ---- Headings ---- */

char *cuts_heading(const struct cuts *cuts, uint32_t heading, size_t limit)
{
    static const char between[] = " > ";
    const struct heading *path[HEADING_LEVELS];
    struct buf text = {0};
    size_t depth = 0, length = 0;

    for (; heading && depth < HEADING_LEVELS; heading = path[depth - 1]->parent) {
        const struct heading *here = &cuts->headings[heading - 1];

        length += (depth ? sizeof(between) - 1 : 0) +
                  (here->length < HEADING_LIMIT ? here->length : HEADING_LIMIT);
        if (length > limit)
            break;
        path[depth++] = here;
    }
    while (depth-- > 0) {
        const char *from = cuts->text + path[depth]->begin;

        buf_add(&text, from,
                path[depth]->length <= HEADING_LIMIT ? path[depth]->length
                                                     : utf8_fit(from, HEADING_LIMIT));
        if (depth)
            buf_add_text(&text, between);
    }
    return buf_take(&text);
}
