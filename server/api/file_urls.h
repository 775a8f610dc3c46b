#ifndef RUNNEL_SERVER_API_FILE_URLS_H
#define RUNNEL_SERVER_API_FILE_URLS_H

#include <stddef.h>

#include "core/base/buf.h"
#include "core/base/err.h"

/*
 * file_urls.h -- files that a request names by their URLs, fetched on a run loop, all at once.
 *
 * A client has chosen the URL: so egress.h says where it may lead, at every address. No redirect is followed. A
 * failure is a sentence for the client, which says what went wrong and nothing about networks that it cannot see.
 *
 *   any thread   file_urls_new(), file_urls_add() for each, then file_urls_start()
 *   loop         fetches, until file_urls_cancel() if that is called; then done()
 *   any thread   file_urls_take() for each, in the same order; file_urls_free()
 */

/* Of one file: bytes, and seconds from the start to the last byte. */
#define FILE_URL_BYTES_LIMIT ((size_t)50 << 20)
#define FILE_URL_SECONDS     30

/* Of the whole server: fetches, and fetched bytes that wait to be read. Beyond, a fetch fails with ERR_LIMIT. */
#define FILE_URLS_AT_ONCE       256
#define FILE_URLS_WAITING_LIMIT ((size_t)512 << 20)

struct file_urls;
struct loop;
struct server;

struct file_fetch {
    char *url;
    struct buf bytes;
    char *name; /* by its head, or the last part of its path; NULL: neither has one */
    /* ERR_OK; ERR_LIMIT: too much at once; ERR_INVALID: the text is the second half of a sentence. */
    enum err_code rc;
    struct err err;
};

/* `loop`: which one fetches. */
struct file_urls *file_urls_new(const struct server *server, struct loop *loop);
/* Not once done() was called on another thread and it may still run. NULL is fine. */
void file_urls_free(struct file_urls *urls);

void file_urls_add(struct file_urls *urls, const char *url); /* copied */

/* Calls done() once, on a loop, which does not touch `urls` afterwards. Never, if the server stops before: then
 * nothing is freed either. At least one was added. */
void file_urls_start(struct file_urls *urls, void (*done)(void *arg), void *arg);

/* On the loop, after file_urls_start(): the fetches are given up, and done() is called at once or soon. After done()
 * nothing happens. */
void file_urls_cancel(struct file_urls *urls);

/* The next one, in the order of file_urls_add(). Borrowed. */
struct file_fetch *file_urls_take(struct file_urls *urls);

/* Lets its bytes go: they no longer wait. */
void file_urls_drop(struct file_fetch *file);

#endif
