#include "server/api/file_urls.h"

#include <assert.h>
#include <stdatomic.h>
#include <string.h>
#include <strings.h>

#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/domain/file_name.h"
#include "core/net/egress.h"
#include "core/net/http_client.h"
#include "server/server.h"

#define CONNECT_SECONDS 10

/* One fetch; file_fetch is what others see of it. */
struct fetch {
    struct file_fetch file;
    struct file_urls *urls;
    struct http_call *call;
    bool answered; /* a head has come */
    size_t kept;   /* bytes of it in waiting_bytes */
};

struct file_urls {
    const struct server *server;
    struct loop *loop;
    struct loop_task task;
    struct fetch *fetches;
    size_t count, taken;
    bool cancelled;
    size_t left; /* the loop's: fetches that are under way, and one while they are started */
    void (*done)(void *arg);
    void *arg;
};

static atomic_size_t live_fetches, waiting_bytes;

struct file_urls *file_urls_new(const struct server *server, struct loop *loop)
{
    struct file_urls *urls = mem_new(struct file_urls);

    urls->server = server;
    urls->loop = loop;
    return urls;
}

void file_urls_drop(struct file_fetch *file)
{
    struct fetch *fetch = CONTAINER_OF(file, struct fetch, file);

    atomic_fetch_sub(&waiting_bytes, fetch->kept);
    fetch->kept = 0;
    buf_clear(&file->bytes);
}

void file_urls_free(struct file_urls *urls)
{
    if (!urls)
        return;
    for (size_t i = 0; i < urls->count; i++) {
        struct fetch *fetch = &urls->fetches[i];

        file_urls_drop(&fetch->file);
        free(fetch->file.url);
        free(fetch->file.name);
    }
    free(urls->fetches);
    free(urls);
}

void file_urls_add(struct file_urls *urls, const char *url)
{
    urls->fetches = mem_resize(urls->fetches, urls->count + 1, sizeof(*urls->fetches));
    urls->fetches[urls->count++] = (struct fetch){.file.url = mem_strdup(url), .urls = urls};
}

struct file_fetch *file_urls_take(struct file_urls *urls)
{
    assert(urls->taken < urls->count);
    return &urls->fetches[urls->taken++].file;
}

/* ---- The name ---- */

static char *name_between(const char *begin, const char *end)
{
    size_t length = (size_t)(end - begin);

    if (!length || length > FILE_NAME_LIMIT || memchr(begin, '/', length) ||
        memchr(begin, '\\', length))
        return NULL;
    return json_clean_utf8(begin, length);
}

/* Of a simple head: attachment; filename="a.pdf". Others, such as filename*, count as none. */
static char *name_in_head(const char *disposition)
{
    static const char key[] = "filename=";
    const char *at = disposition ? strcasestr(disposition, key) : NULL;

    if (!at || at == disposition || !strchr("; \t", at[-1]))
        return NULL;
    at += strlen(key);
    if (*at == '"')
        return name_between(at + 1, at + 1 + strcspn(at + 1, "\""));
    return name_between(at, at + strcspn(at, "; \t"));
}

static char *name_in_url(const char *url)
{
    const char *host = strstr(url, "://");
    const char *path = host ? host + 3 + strcspn(host + 3, "/?#") : "";
    const char *end = path + strcspn(path, "?#");
    const char *last = end;

    while (last > path && last[-1] != '/')
        last--;
    return name_between(last, end);
}

/* ---- One fetch, on the loop ---- */

static void one_less(struct file_urls *urls)
{
    if (--urls->left == 0)
        urls->done(urls->arg);
}

/* The last thing that is done for a fetch. */
static void end(struct fetch *fetch, enum err_code rc)
{
    fetch->call = NULL;
    fetch->file.rc = rc;
    if (rc)
        file_urls_drop(&fetch->file);
    if (!rc && !fetch->file.name)
        fetch->file.name = name_in_url(fetch->file.url);
    atomic_fetch_sub(&live_fetches, 1);
    one_less(fetch->urls);
}

static void give_up(struct fetch *fetch, enum err_code rc)
{
    http_call_cancel(fetch->call);
    end(fetch, rc);
}

static enum err_code busy(struct err *err)
{
    return err_refuse(err, ERR_LIMIT, REASON_BUSY, NULL,
                      "Too many files are being fetched. Please retry your request.");
}

static void on_head(void *arg, const struct http_head *head)
{
    struct fetch *fetch = arg;
    struct err *err = &fetch->file.err;

    fetch->answered = true;
    if (head->status >= 300 && head->status < 400)
        give_up(fetch, err_set(err, ERR_INVALID,
                               "its server answered with a redirect (status %d), and redirects "
                               "are not followed.",
                               head->status));
    else if (head->status != 200)
        give_up(fetch,
                err_set(err, ERR_INVALID, "its server answered with status %d.", head->status));
    else
        fetch->file.name = name_in_head(http_call_header(fetch->call, "Content-Disposition"));
}

static void on_data(void *arg, const char *bytes, size_t size)
{
    struct fetch *fetch = arg;
    struct file_fetch *file = &fetch->file;

    if (file->bytes.length + size > FILE_URL_BYTES_LIMIT) {
        give_up(fetch, err_set(&file->err, ERR_INVALID, "it has more than %zu bytes.",
                               FILE_URL_BYTES_LIMIT));
        return;
    }
    fetch->kept += size;
    if (atomic_fetch_add(&waiting_bytes, size) + size > FILE_URLS_WAITING_LIMIT) {
        give_up(fetch, busy(&file->err));
        return;
    }
    buf_add(&file->bytes, bytes, size);
}

/* The client's own sentence, and not the network's, which may name addresses. */
static void on_done(void *arg, enum err_code rc, const struct err *error)
{
    struct fetch *fetch = arg;
    struct err *err = &fetch->file.err;

    if (!rc)
        end(fetch, ERR_OK);
    else if (error->reason == REASON_ADDRESS)
        end(fetch, err_set(err, ERR_INVALID, "its address is not one of the public internet."));
    else if (rc == ERR_TIMEOUT)
        end(fetch, err_set(err, ERR_INVALID, "it took too long: %d seconds are the limit.",
                           FILE_URL_SECONDS));
    else if (fetch->answered)
        end(fetch, err_set(err, ERR_INVALID, "the answer of its server broke off."));
    else
        end(fetch, err_set(err, ERR_INVALID, "its server could not be reached."));
}

static void start(struct fetch *fetch)
{
    static const char *const headers[] = {"User-Agent: runnel", "Accept: */*", NULL};
    const struct http_request request = {
        .method = "GET",
        .url = fetch->file.url,
        .headers = headers,
        .timeouts = {.connect = CONNECT_SECONDS * NS_PER_SECOND,
                     .total = FILE_URL_SECONDS * NS_PER_SECOND},
        .egress = &fetch->urls->server->config->egress,
        .on_head = on_head,
        .on_data = on_data,
        .on_done = on_done,
        .arg = fetch,
    };
    struct err why;

    if (atomic_fetch_add(&live_fetches, 1) >= FILE_URLS_AT_ONCE) {
        end(fetch, busy(&fetch->file.err));
        return;
    }
    if (egress_url_check(fetch->file.url, &why))
        end(fetch, err_set(&fetch->file.err, ERR_INVALID, "%s.", why.text));
    else
        fetch->call = http_call_start(fetch->urls->loop, &request);
}

/* ---- All of them ---- */

static void start_all(struct loop_task *task)
{
    struct file_urls *urls = CONTAINER_OF(task, struct file_urls, task);

    urls->left = 1;
    for (size_t i = 0; i < urls->count && !urls->cancelled; i++) {
        urls->left++;
        start(&urls->fetches[i]);
    }
    one_less(urls);
}

void file_urls_start(struct file_urls *urls, void (*done)(void *arg), void *arg)
{
    urls->done = done;
    urls->arg = arg;
    urls->task.run = start_all;
    loop_post(urls->loop, &urls->task);
}

void file_urls_cancel(struct file_urls *urls)
{
    urls->cancelled = true;
    if (!urls->left) /* start_all() comes */
        return;
    urls->left++;
    for (size_t i = 0; i < urls->count; i++) {
        struct fetch *fetch = &urls->fetches[i];

        if (fetch->call)
            give_up(fetch, err_set(&fetch->file.err, ERR_CANCELLED, "the client has left"));
    }
    one_less(urls);
}
