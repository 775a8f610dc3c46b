#include <math.h>
#include <sodium.h>
#include <stdint.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/compiler.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "server/fakemodel/reply_internal.h"
#include "server/fakemodel/vector.h"
#include "server/fakemodel/words.h"

/*
 * fakemodel/samples.c -- answers for endpoints that return something else than the words of a model:
 * vectors, verdicts, pictures, sound.
 *
 * No script has to spell these out. Each answer is computed from the request, so that an application
 * which uses it makes sense: texts with common words are near each other, a text that names a category is
 * flagged for it, a longer text takes longer to say. A script can still make them late, or fail.
 */

#define PICTURE_LIMIT 10 /* `n` of OpenAI's */
#define PARTIAL_LIMIT 3

#define SOUND_RATE     8000 /* bytes a second, each one sample */
#define SOUND_WORD     800  /* bytes for each word */
#define SOUND_LIMIT    2000 /* words */
#define SOUND_PITCH    440.0
#define SOUND_HEAD     44
#define BASE64_VARIANT sodium_base64_VARIANT_ORIGINAL

/* One pixel. */
static const char picture[] = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+"
                              "M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

static char *base64(const void *bytes, size_t length)
{
    size_t room = sodium_base64_encoded_len(length, BASE64_VARIANT);
    char *text = mem_zeroed(room, 1);

    return sodium_bin2base64(text, room, bytes, length, BASE64_VARIANT);
}

static json_int_t words_of(const json_t *text)
{
    return json_is_string(text) ? words_count(json_string_value(text))
                                : (json_int_t)json_array_size(text);
}

/* The texts of a member that is one of them or a list of them. New reference. */
static json_t *list_of(json_t *value)
{
    bool is_list = json_is_array(value) && !json_is_integer(json_array_get(value, 0));

    return is_list ? json_incref(value) : json_build("[O*]", value);
}

/* ---- vectors ---- */

static json_t *vector_value(const json_t *text, size_t length, bool packed)
{
    AUTO_FREE float *vector = mem_new_array(float, length);
    json_t *list;

    vector_of(text, vector, length);
    if (packed) { /* numbers as the processor has them: little-endian, as the API says */
        AUTO_FREE char *bytes = base64(vector, length * sizeof(*vector));

        return json_string(bytes);
    }
    list = json_array();
    for (size_t i = 0; i < length; i++)
        json_array_append_new(list, json_real((double)vector[i]));
    return list;
}

static json_t *embeddings(const struct prompt *prompt)
{
    json_auto_t *input = list_of(json_object_get(prompt->body, "input"));
    json_int_t length = json_get_int(prompt->body, "dimensions", VECTOR_LENGTH);
    bool packed = !strcmp(json_get_string(prompt->body, "encoding_format", ""), "base64");
    json_t *data = json_array();
    json_int_t read = 0;
    json_t *text;
    size_t i;

    if (length < 1 || length > VECTOR_LENGTH_LIMIT)
        length = VECTOR_LENGTH;
    json_array_foreach (input, i, text) {
        read += words_of(text);
        json_array_append_new(data, json_build("{ss sI so}", "object", "embedding", "index",
                                               (json_int_t)i, "embedding",
                                               vector_value(text, (size_t)length, packed)));
    }
    return json_build("{ss so ss s{sI sI}}", "object", "list", "data", data, "model",
                      prompt->model, "usage", "prompt_tokens", read, "total_tokens", read);
}

/* Cohere's and Jina's form: a document is a text, or an object with one. */
static json_t *rerank_result(json_t *document, size_t index, const json_t *query, bool shown)
{
    const json_t *text =
        json_is_object(document) ? json_object_get(document, "text") : document;
    json_t *result = json_build("{sI sf}", "index", (json_int_t)index, "relevance_score",
                                vector_likeness(query, text));

    if (shown)
        json_set(result, "document",
                 json_is_object(document) ? json_incref(document)
                                          : json_build("{sO}", "text", document));
    return result;
}

static double score_of(const json_t *result)
{
    return json_real_value(json_object_get(result, "relevance_score"));
}

/* Inserts a result behind those that are as good. */
static void insert_result(json_t *results, json_t *result)
{
    size_t place = json_array_size(results);

    while (place && score_of(json_array_get(results, place - 1)) < score_of(result))
        place--;
    json_array_insert_new(results, place, result);
}

static json_t *rerank(const struct prompt *prompt)
{
    const json_t *documents = json_object_get(prompt->body, "documents");
    const json_t *query = json_object_get(prompt->body, "query");
    json_int_t top =
        json_get_int(prompt->body, "top_n", (json_int_t)json_array_size(documents));
    bool shown = json_get_bool(prompt->body, "return_documents", false);
    json_t *results = json_array();
    json_int_t read = words_of(query);
    json_t *document;
    size_t i;

    json_array_foreach (documents, i, document) {
        read += words_of(document);
        insert_result(results, rerank_result(document, i, query, shown));
    }
    while ((json_int_t)json_array_size(results) > top && json_array_size(results))
        json_array_remove(results, json_array_size(results) - 1);
    return json_build("{ss ss so s{sI}}", "id", "rerank-1", "model", prompt->model, "results",
                      results, "usage", "total_tokens", read);
}

/* ---- pages that a search has found ---- */

static json_t *web_pages(const struct prompt *prompt)
{
    static const char *const urls[] = {"https://example.org/one", "https://www.example.net/two",
                                       "https://example.com/three"};
    const char *query = json_get_string(prompt->body, "q", "");
    json_t *results = json_array();

    for (size_t i = 0; i < COUNT_OF(urls); i++) {
        AUTO_FREE char *title = mem_printf("%s, page %zu", query, i + 1);
        AUTO_FREE char *text = mem_printf("What page %zu says about %s.", i + 1, query);

        json_array_append_new(results,
                              json_build("{ss ss ss sn ss}", "url", urls[i], "title", title,
                                         "content", text, "publishedDate", "engine", "script"));
    }
    return json_build("{ss si so s[] s[] s[] s[] s[]}", "query", query, "number_of_results", 0,
                      "results", results, "answers", "corrections", "infoboxes", "suggestions",
                      "unresponsive_engines");
}

/* ---- verdicts ---- */

static const char *const categories[] = {
    "harassment",
    "harassment/threatening",
    "hate",
    "hate/threatening",
    "illicit",
    "illicit/violent",
    "self-harm",
    "self-harm/instructions",
    "self-harm/intent",
    "sexual",
    "sexual/minors",
    "violence",
    "violence/graphic",
};

/* A text may be an item of a list: {"type": "text", "text": ...}. A picture is harmless. */
static json_t *verdict(const json_t *input)
{
    const char *text =
        json_is_string(input) ? json_string_value(input) : json_get_string(input, "text", "");
    json_t *flags = json_object();
    json_t *scores = json_object();
    json_t *types = json_object();
    bool flagged = false;

    for (size_t i = 0; i < COUNT_OF(categories); i++) {
        bool named = strcasestr(text, categories[i]) != NULL;

        flagged |= named;
        json_set_bool(flags, categories[i], named);
        json_set(scores, categories[i], json_real(named ? 0.99 : 0.01));
        json_set(types, categories[i], json_build("[s]", "text"));
    }
    return json_build("{sb so so so}", "flagged", flagged, "categories", flags,
                      "category_scores", scores, "category_applied_input_types", types);
}

static json_t *moderation(const struct prompt *prompt)
{
    json_auto_t *input = list_of(json_object_get(prompt->body, "input"));
    json_t *results = json_array();
    json_t *text;
    size_t i;

    json_array_foreach (input, i, text)
        json_array_append_new(results, verdict(text));
    return json_build("{ss ss so}", "id", "modr-1", "model",
                      *prompt->model ? prompt->model : "omni-moderation-latest", "results",
                      results);
}

/* ---- pictures ---- */

static json_t *picture_usage(void)
{
    return json_build("{si si si s{si si}}", "input_tokens", 1, "output_tokens", 1,
                      "total_tokens", 2, "input_tokens_details", "text_tokens", 1,
                      "image_tokens", 0);
}

static json_int_t now(void)
{
    return clock_wall_us() / US_PER_SECOND;
}

static json_t *pictures(const struct prompt *prompt)
{
    json_int_t count = json_get_int(prompt->body, "n", 1);
    json_t *data = json_array();

    for (json_int_t i = 0; i < count && i < PICTURE_LIMIT; i++)
        json_array_append_new(data, json_build("{ss}", "b64_json", picture));
    return json_build("{sI so so}", "created", now(), "data", data, "usage", picture_usage());
}

/* Adds an event of a stream, which has a name only in the API of pictures. Takes the data. */
static void add_event(struct reply *reply, const char *name, json_t *data)
{
    json_array_append_new(reply->pieces, json_build("{ss* so}", "name", name, "data", data));
}

static json_t *picture_event(const char *type)
{
    return json_build("{ss ss sI ss ss ss ss}", "type", type, "b64_json", picture, "created_at",
                      now(), "size", "1024x1024", "quality", "low", "background", "opaque",
                      "output_format", "png");
}

static void picture_events(struct reply *reply, const struct prompt *prompt)
{
    const char *kind = strstr(prompt->path, "generations") ? "image_generation" : "image_edit";
    json_int_t count = json_get_int(prompt->body, "partial_images", 0);
    AUTO_FREE char *partial = mem_printf("%s.partial_image", kind);
    AUTO_FREE char *completed = mem_printf("%s.completed", kind);
    json_t *last = picture_event(completed);

    for (json_int_t i = 0; i < count && i < PARTIAL_LIMIT; i++) {
        json_t *event = picture_event(partial);

        json_set_int(event, "partial_image_index", i);
        add_event(reply, partial, event);
    }
    json_set(last, "usage", picture_usage());
    add_event(reply, completed, last);
}

/* ---- sound ---- */

static void add_number(struct buf *out, uint32_t number, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        buf_add_char(out, (char)(number >> (8 * i) & 0xff));
}

/* The head of a WAV file: one channel of unsigned bytes. */
static void add_head(struct buf *out, uint32_t length)
{
    buf_add_text(out, "RIFF");
    add_number(out, length + SOUND_HEAD - 8, 4);
    buf_add_text(out, "WAVEfmt ");
    add_number(out, 16, 4); /* bytes of this part */
    add_number(out, 1, 2);  /* not compressed */
    add_number(out, 1, 2);  /* channels */
    add_number(out, SOUND_RATE, 4);
    add_number(out, SOUND_RATE, 4); /* bytes a second */
    add_number(out, 1, 2);          /* bytes of a sample */
    add_number(out, 8, 2);          /* its bits */
    buf_add_text(out, "data");
    add_number(out, length, 4);
}

/* A tone for each word, whatever format was asked for. */
static void add_sound(struct buf *out, const struct prompt *prompt)
{
    json_int_t words = words_count(prompt->user);
    size_t length = SOUND_WORD * (size_t)(words < SOUND_LIMIT ? words : SOUND_LIMIT);

    add_head(out, (uint32_t)length);
    for (size_t i = 0; i < length; i++) {
        bool pause = i % SOUND_WORD > SOUND_WORD * 3 / 4;
        double turn = 2 * M_PI * SOUND_PITCH * (double)i / SOUND_RATE;

        buf_add_char(out, (char)(unsigned char)(128 + (pause ? 0 : 64 * sin(turn))));
    }
}

static bool speech(struct reply *reply, const struct prompt *prompt)
{
    add_sound(&reply->body, prompt);
    reply->content_type = "audio/wav";
    return true;
}

static void speech_events(struct reply *reply, const struct prompt *prompt)
{
    AUTO_BUF sound = {0};
    json_int_t words = words_count(prompt->user);

    add_sound(&sound, prompt);
    for (size_t at = 0; at < sound.length; at += SOUND_WORD) {
        size_t left = sound.length - at;
        AUTO_FREE char *bytes = base64(sound.data + at, left < SOUND_WORD ? left : SOUND_WORD);

        add_event(reply, NULL,
                  json_build("{ss ss}", "type", "speech.audio.delta", "audio", bytes));
    }
    add_event(reply, NULL,
              json_build("{ss s{sI sI sI}}", "type", "speech.audio.done", "usage",
                         "input_tokens", words, "output_tokens", words, "total_tokens",
                         2 * words));
}

/* ---- what was said ---- */

/* The file is not listened to: the words say which one came. */
static char *transcript(const struct prompt *prompt)
{
    const json_t *file = json_object_get(prompt->body, "file");

    return mem_printf("A recording of %lld bytes: %s",
                      (long long)json_get_int(file, "bytes", 0),
                      json_get_string(file, "filename", "?"));
}

/* As if a second were 16,000 bytes. */
static double seconds_of(const struct prompt *prompt)
{
    const json_t *file = json_object_get(prompt->body, "file");

    return (double)json_get_int(file, "bytes", 0) / 16000;
}

static json_t *transcript_usage(const struct prompt *prompt)
{
    return json_build("{ss sI}", "type", "duration", "seconds",
                      (json_int_t)ceil(seconds_of(prompt)));
}

static json_t *transcription(const struct prompt *prompt)
{
    AUTO_FREE char *text = transcript(prompt);
    bool verbose =
        strcmp(json_get_string(prompt->body, "response_format", ""), "verbose_json") == 0;

    if (!verbose)
        return json_build("{ss so}", "text", text, "usage", transcript_usage(prompt));
    return json_build("{ss ss sf ss s[] so}", "task",
                      strstr(prompt->path, "translations") ? "translate" : "transcribe",
                      "language", "english", "duration", seconds_of(prompt), "text", text,
                      "segments", "usage", transcript_usage(prompt));
}

/* The formats that are no JSON. */
static bool transcript_bytes(struct reply *reply, const struct prompt *prompt)
{
    const char *format = json_get_string(prompt->body, "response_format", "json");
    AUTO_FREE char *text = transcript(prompt);

    if (strcmp(format, "text") == 0)
        buf_addf(&reply->body, "%s\n", text);
    else if (strcmp(format, "srt") == 0)
        buf_addf(&reply->body, "1\n00:00:00,000 --> 00:00:01,000\n%s\n\n", text);
    else if (strcmp(format, "vtt") == 0)
        buf_addf(&reply->body, "WEBVTT\n\n00:00:00.000 --> 00:00:01.000\n%s\n\n", text);
    else
        return false;
    reply->content_type = "text/plain; charset=utf-8";
    return true;
}

static void transcript_events(struct reply *reply, const struct prompt *prompt)
{
    AUTO_FREE char *text = transcript(prompt);

    for (const char *word = text; *word;) {
        size_t length = strcspn(word, " ");
        AUTO_FREE char *delta = mem_strndup(word, length + (word[length] == ' '));

        add_event(reply, NULL,
                  json_build("{ss ss}", "type", "transcript.text.delta", "delta", delta));
        word += strlen(delta);
    }
    add_event(reply, NULL,
              json_build("{ss ss s{ss sI sI sI}}", "type", "transcript.text.done", "text", text,
                         "usage", "type", "tokens", "input_tokens", (json_int_t)1,
                         "output_tokens", words_count(text), "total_tokens",
                         1 + words_count(text)));
}

/* ---- which one ---- */

/* clang-format off */
static const struct sample {
    const char *path;
    json_t *(*whole)(const struct prompt *prompt);
    bool (*bytes)(struct reply *reply, const struct prompt *prompt);
    void (*events)(struct reply *reply, const struct prompt *prompt);
} samples[] = {
    {"/v1/embeddings",         embeddings, NULL,   NULL},
    {"/v1/rerank",             rerank,     NULL,   NULL},
    {"/v1/moderations",        moderation, NULL,   NULL},
    {"/search",                web_pages,  NULL,   NULL},
    {"/v1/images/generations", pictures,   NULL,   picture_events},
    {"/v1/audio/speech",       NULL,       speech, speech_events},
    {"/v1/images/edits",       pictures,   NULL,   picture_events},
    {"/v1/images/variations",  pictures,   NULL,   NULL},
    {"/v1/audio/transcriptions", transcription, transcript_bytes, transcript_events},
    {"/v1/audio/translations", transcription, transcript_bytes, NULL},
};
/* clang-format on */

static const struct sample *find_sample(const char *path)
{
    for (size_t i = 0; i < COUNT_OF(samples); i++)
        if (!strcmp(path, samples[i].path))
            return &samples[i];
    return NULL;
}

static void make_pieces(struct reply *reply, const struct prompt *prompt)
{
    const struct sample *sample = find_sample(prompt->path);

    if (prompt->stream && sample->events)
        sample->events(reply, prompt);
}

static bool make_bytes(struct reply *reply, const struct prompt *prompt)
{
    const struct sample *sample = find_sample(prompt->path);

    return sample->bytes && sample->bytes(reply, prompt);
}

static json_t *make_whole(struct reply *reply, const struct prompt *prompt)
{
    (void)reply;
    return find_sample(prompt->path)->whole(prompt);
}

static void add_piece(struct reply *reply, struct buf *out, json_t *piece)
{
    reply_add_event(reply, out, json_get_string(piece, "name", NULL),
                    json_incref(json_object_get(piece, "data")));
}

const struct reply_shape reply_sample = {
    .id_prefix = "sample-",
    .make_pieces = make_pieces,
    .whole = make_whole,
    .whole_bytes = make_bytes,
    .whole_error = reply_whole_error,
    .begin = reply_add_nothing,
    .piece = add_piece,
    .finish = reply_add_nothing,
    .usage = reply_add_nothing,
    .error = reply_add_error,
};
