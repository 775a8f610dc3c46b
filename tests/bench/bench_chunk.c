/*
 * bench_chunk.c -- what one chunk of a streamed answer costs: the scanner against jansson.
 *
 * Prints nanoseconds per chunk (the best of several rounds, which is the least disturbed one)
 * and their ratio. Nothing passes or fails here.
 */

#include <stdio.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/model/chat/chat_chunk.h"

#define ROUNDS 7

struct sample {
    const char *name;
    const char *chunk;
};

#define FRAME(content)                                                                         \
    "{\"id\":\"chatcmpl-BsZ5vTjT4mdHvvJ0d8hS2xkVQGfOa\",\"object\":\"chat.completion.chunk\"," \
    "\"created\":1752393000,\"model\":\"gpt-4.1-mini-2025-04-14\",\"service_tier\":"           \
    "\"default\","                                                                             \
    "\"system_fingerprint\":\"fp_6f2eabb9a5\",\"choices\":[{\"index\":0,\"delta\":{"           \
    "\"content\":"                                                                             \
    "\"" content "\"},\"logprobs\":null,\"finish_reason\":null}],\"obfuscation\":\"Xq3mP0w\"}"

static const struct sample samples[] = {
    {"plain", FRAME(" house")},
    {"escaped", FRAME("\\n\\u00e9\\ud83d\\ude00")},
    {"utf-8", FRAME(" \xE6\x88\xBF\xE5\xAD\x90")},
};

static size_t read_with_scanner(const struct sample *sample, size_t length)
{
    static struct buf scratch;
    const char *text;
    size_t text_length;

    return chat_chunk_scan(sample->chunk, length, &scratch, &text, &text_length) ? text_length
                                                                                 : 0;
}

static size_t read_with_jansson(const struct sample *sample, size_t length)
{
    json_auto_t *chunk = json_loadb(sample->chunk, length, 0, NULL);
    const json_t *choice = json_array_get(json_object_get(chunk, "choices"), 0);
    const json_t *delta = json_object_get(choice, "delta");

    return json_string_length(json_object_get(delta, "content"));
}

/* Where results go, so that no compiler drops the work. */
static volatile size_t bytes_read;

typedef size_t reader(const struct sample *sample, size_t length);

static double best_ns(reader *read, const struct sample *sample, unsigned count)
{
    size_t length = strlen(sample->chunk);
    double best = 0;

    for (int round = 0; round < ROUNDS; round++) {
        uint64_t start = clock_mono_ns();
        double ns;

        for (unsigned i = 0; i < count; i++)
            bytes_read = read(sample, length);
        ns = (double)(clock_mono_ns() - start) / count;
        if (round == 0 || ns < best)
            best = ns;
    }
    return best;
}

int main(void)
{
    printf("%-8s %6s %12s %12s %8s\n", "chunk", "bytes", "scanner ns", "jansson ns", "ratio");
    for (size_t i = 0; i < COUNT_OF(samples); i++) {
        double scanner = best_ns(read_with_scanner, &samples[i], 200000);
        double jansson = best_ns(read_with_jansson, &samples[i], 20000);

        printf("%-8s %6zu %12.0f %12.0f %7.1fx\n", samples[i].name, strlen(samples[i].chunk),
               scanner, jansson, jansson / scanner);
    }
    return 0;
}
