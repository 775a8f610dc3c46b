#include "core/net/s3_client.h"

#include <curl/curl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/fault.h"
#include "core/base/lock.h"
#include "core/base/mem.h"
#include "core/base/sha256.h"

/*
 * libcurl signs (CURLOPT_AWS_SIGV4). Three habits of its versions decide how a request is written here. The query
 * is signed as it stands, so names without a value have their '=', and the order is the alphabet's. The hash
 * of the body is in a header that we write, because 7.88 leaves a large body unsigned. There is no
 * header with an empty value.
 *
 * A handle that has failed is closed: libcurl 7.88 may write into a freed buffer otherwise (http_client.c).
 */

#define PAUSE_NS \
    ((uint64_t)200 * 1000 * 1000) /* before the second try; then four times as long */
#define HOME_HASH ((size_t)12)    /* bytes */

struct s3_client {
    char *base; /* endpoint/bucket */
    char *signing;
    char *access_key;
    char *secret_key;
    char id[32];
    struct lock lock;
    pthread_cond_t changed; /* pauses wait for it */
    atomic_bool stopped;    /* changes under the lock */
};

/* ---- The client ---- */

static bool is_made_of(const char *text, const char *letters)
{
    return *text && !text[strspn(text, letters)];
}

#define SMALL  "abcdefghijklmnopqrstuvwxyz"
#define LARGE  "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS "0123456789"

static enum err_code check(const struct s3_options *options, struct err *err)
{
    static const char schemes[][9] = {"https://", "http://"};
    const char *host = NULL;

    for (size_t i = 0; i < COUNT_OF(schemes) && !host; i++) {
        if (strncmp(options->endpoint, schemes[i], strlen(schemes[i])) == 0)
            host = options->endpoint + strlen(schemes[i]);
    }
    if (!host || !is_made_of(host, SMALL LARGE DIGITS ".-:[]"))
        return err_set(err, ERR_INVALID,
                       "endpoint: expected http:// or https:// and a host, without a path");
    if (!is_made_of(options->bucket, SMALL LARGE DIGITS ".-_") ||
        strlen(options->bucket) > 63 || options->bucket[0] == '.')
        return err_set(err, ERR_INVALID, "bucket: that is no name of a bucket");
    if (!is_made_of(options->region, SMALL LARGE DIGITS "-_") || strlen(options->region) > 63)
        return err_set(err, ERR_INVALID, "region: that is no name of a region");
    if (!*options->access_key || !*options->secret_key)
        return err_set(err, ERR_INVALID, "the access key or the secret key is empty");
    return ERR_OK;
}

enum err_code s3_client_new(const struct s3_options *options, struct s3_client **ret_client,
                            struct err *err)
{
    enum err_code rc = check(options, err);
    uint8_t hash[SHA256_DIGEST_SIZE];
    struct s3_client *client;
    size_t at;

    if (rc)
        return rc;
    client = mem_new(struct s3_client);
    client->base = mem_printf("%s/%s", options->endpoint, options->bucket);
    client->signing = mem_printf("aws:amz:%s:s3", options->region);
    client->access_key = mem_strdup(options->access_key);
    client->secret_key = mem_strdup(options->secret_key);
    sha256_text(client->base, hash);
    at = (size_t)snprintf(client->id, sizeof(client->id), "s3_");
    for (size_t i = 0; i < HOME_HASH; i++)
        at += (size_t)snprintf(client->id + at, sizeof(client->id) - at, "%02x", hash[i]);
    lock_init(&client->lock, LOCK_S3);
    lock_cond_init(&client->changed);
    *ret_client = client;
    return ERR_OK;
}

void s3_client_free(struct s3_client *client)
{
    if (!client)
        return;
    free(client->base);
    free(client->signing);
    free(client->access_key);
    free(client->secret_key);
    lock_destroy(&client->lock);
    pthread_cond_destroy(&client->changed);
    free(client);
}

const char *s3_client_id(const struct s3_client *client)
{
    return client->id;
}

void s3_link_close(struct s3_link *link)
{
    if (link->curl)
        curl_easy_cleanup(link->curl);
    link->curl = NULL;
}

void s3_answer_clear(struct s3_answer *answer)
{
    buf_clear(&answer->text);
}

/* ---- One try ---- */

struct trial {
    const struct s3_request *request;
    struct s3_answer *answer;
    CURL *curl;
    size_t got; /* bytes of the object */
    bool overflows;
};

static long status_of(CURL *curl)
{
    long status = 0;

    (void)curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    return status;
}

static size_t take_body(char *bytes, size_t one, size_t size, void *arg)
{
    struct trial *trial = arg;
    const struct s3_request *request = trial->request;

    (void)one;
    if (request->count && status_of(trial->curl) == 206) {
        if (size > request->count - trial->got) {
            trial->overflows = true;
            return 0;
        }
        memcpy((char *)request->ret_bytes + trial->got, bytes, size);
        trial->got += size;
        return size;
    }
    if (size > S3_TEXT_LIMIT - trial->answer->text.length) {
        trial->overflows = true;
        return 0;
    }
    buf_add(&trial->answer->text, bytes, size);
    return size;
}

static size_t take_header(char *line, size_t one, size_t size, void *arg)
{
    static const char name[] = "etag:";
    struct trial *trial = arg;
    size_t begin = strlen(name), end = size;

    (void)one;
    if (size <= begin || !curl_strnequal(line, name, begin))
        return size;
    while (begin < end && (line[begin] == ' ' || line[begin] == '\t'))
        begin++;
    while (end > begin && (unsigned char)line[end - 1] <= ' ')
        end--;
    if (end - begin < sizeof(trial->answer->etag)) {
        memcpy(trial->answer->etag, line + begin, end - begin);
        trial->answer->etag[end - begin] = '\0';
    }
    return size;
}

static struct curl_slist *headers_of(const struct s3_request *request)
{
    uint8_t hash[SHA256_DIGEST_SIZE];
    char line[32 + 2 * SHA256_DIGEST_SIZE];
    size_t at = (size_t)snprintf(line, sizeof(line), "x-amz-content-sha256: ");
    struct curl_slist *headers;

    sha256_bytes(request->body ? request->body : "", request->length, hash);
    for (size_t i = 0; i < sizeof(hash); i++)
        at += (size_t)snprintf(line + at, sizeof(line) - at, "%02x", hash[i]);
    headers = curl_slist_append(NULL, line);
    return request->body ? curl_slist_append(headers, "Content-Type: application/octet-stream")
                         : headers;
}

/* libcurl looks here with each piece, and once a second without any. */
static int look_whether_stopped(void *client, curl_off_t to_get, curl_off_t got,
                                curl_off_t to_send, curl_off_t sent)
{
    (void)to_get;
    (void)got;
    (void)to_send;
    (void)sent;
    return ((const struct s3_client *)client)->stopped;
}

static CURLcode set_up(const struct s3_client *client, struct trial *trial, const char *url,
                       struct curl_slist *headers)
{
    const struct s3_request *request = trial->request;
    bool brief = request->patience == S3_BRIEF;
    CURL *curl = trial->curl;
    CURLcode rc = CURLE_OK;
    char range[48];

#define SET(option, value) rc = rc ? rc : curl_easy_setopt(curl, option, value)
    curl_easy_reset(curl);
    SET(CURLOPT_URL, url);
    SET(CURLOPT_CUSTOMREQUEST, request->method);
    SET(CURLOPT_HTTPHEADER, headers);
    SET(CURLOPT_AWS_SIGV4, client->signing);
    SET(CURLOPT_USERNAME, client->access_key);
    SET(CURLOPT_PASSWORD, client->secret_key);
    SET(CURLOPT_PROTOCOLS_STR, "http,https");
    SET(CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    SET(CURLOPT_PROXY, "");
    SET(CURLOPT_NOSIGNAL, 1L);
    SET(CURLOPT_NOPROGRESS, 0L);
    SET(CURLOPT_XFERINFOFUNCTION, look_whether_stopped);
    SET(CURLOPT_XFERINFODATA, client);
    SET(CURLOPT_USERAGENT, "runnel");
    SET(CURLOPT_EXPECT_100_TIMEOUT_MS, 1L);
    SET(CURLOPT_CONNECTTIMEOUT, (long)(brief ? S3_BRIEF_SECONDS / 2 : S3_CONNECT_SECONDS));
    SET(CURLOPT_TIMEOUT, (long)(brief ? S3_BRIEF_SECONDS : S3_REQUEST_SECONDS));
    SET(CURLOPT_LOW_SPEED_LIMIT, 1L);
    SET(CURLOPT_LOW_SPEED_TIME, (long)S3_SILENCE_SECONDS);
    SET(CURLOPT_WRITEFUNCTION, take_body);
    SET(CURLOPT_WRITEDATA, trial);
    SET(CURLOPT_HEADERFUNCTION, take_header);
    SET(CURLOPT_HEADERDATA, trial);
    if (request->body) {
        SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->length);
        SET(CURLOPT_POSTFIELDS, request->body);
    }
    if (request->count) {
        snprintf(range, sizeof(range), "%llu-%llu", (unsigned long long)request->from,
                 (unsigned long long)(request->from + request->count - 1));
        SET(CURLOPT_RANGE, range);
    }
#undef SET
    return rc;
}

/* ERR_UPSTREAM if it may help to try again. */
static enum err_code judge(const struct trial *trial, CURLcode rc, struct err *err)
{
    int status = trial->answer->status;

    if (trial->overflows)
        return err_set(err, ERR_UPSTREAM, "S3 sent more than was asked for");
    if (rc)
        return err_set(err, ERR_UPSTREAM, "S3 is away: %s", curl_easy_strerror(rc));
    if (status == 429 || (status >= 500 && status != 501 && status != 507) || status < 200)
        return err_set(err, ERR_UPSTREAM, "S3 is away: it answered %d", status);
    if (status == 206 && trial->got < trial->request->count)
        return err_set(err, ERR_UPSTREAM, "S3 sent fewer bytes than were asked for");
    return ERR_OK;
}

static enum err_code try_once(const struct s3_client *client, struct s3_link *link,
                              struct trial *trial, const char *url, struct err *err)
{
    struct curl_slist *headers = headers_of(trial->request);
    CURLcode rc;
    enum err_code judged;

    buf_reset(&trial->answer->text);
    trial->answer->etag[0] = '\0';
    trial->answer->status = 0;
    if (!link->curl)
        link->curl = curl_easy_init();
    trial->curl = link->curl;
    trial->got = 0;
    trial->overflows = false;
    rc = link->curl ? set_up(client, trial, url, headers) : CURLE_OUT_OF_MEMORY;
    if (!rc && FAULT("s3.send"))
        rc = CURLE_SEND_ERROR;
    if (!rc)
        rc = curl_easy_perform(link->curl);
    if (!rc && FAULT("s3.receive"))
        rc = CURLE_RECV_ERROR;
    if (!rc)
        trial->answer->status = (int)status_of(link->curl);
    buf_add(&trial->answer->text, "", 1);
    trial->answer->text.length--;
    judged = judge(trial, rc, err);
    if (rc)
        s3_link_close(link);
    curl_slist_free_all(headers);
    return judged;
}

/* ---- As often as it helps ---- */

static void pause_for(struct s3_client *client, uint64_t ns)
{
    uint64_t deadline = clock_mono_ns() + ns;

    lock_acquire(&client->lock);
    while (!client->stopped && lock_wait_until(&client->lock, &client->changed, deadline))
        ;
    lock_release(&client->lock);
}

void s3_client_stop(struct s3_client *client)
{
    lock_acquire(&client->lock);
    client->stopped = true;
    pthread_cond_broadcast(&client->changed);
    lock_release(&client->lock);
}

enum err_code s3_client_send(struct s3_client *client, struct s3_link *link,
                             const struct s3_request *request, struct s3_answer *ret_answer,
                             struct err *err)
{
    const char *query = request->query;
    AUTO_FREE char *url = mem_printf("%s%s%s%s%s", client->base, *request->key ? "/" : "",
                                     request->key, query ? "?" : "", query ? query : "");
    struct trial trial = {.request = request, .answer = ret_answer};
    unsigned tries = request->patience == S3_BRIEF ? 1 : S3_TRIES;
    uint64_t pause = PAUSE_NS;
    enum err_code rc = ERR_OK;

    *ret_answer = (struct s3_answer){0};
    while (ret_answer->tries < tries && !(ret_answer->tries && client->stopped)) {
        if (ret_answer->tries++) {
            pause_for(client, pause);
            pause *= 4;
        }
        rc = try_once(client, link, &trial, url, err);
        if (rc != ERR_UPSTREAM)
            return rc;
    }
    return rc;
}
