/*
 * Bytes in a bucket of S3: an object for each blob.
 *
 *   up to a part       PUT, when all bytes are there
 *   more               begin an upload ─▶ PUT each part ─▶ complete the upload: readable from now on
 *   read               GET of a range, a little more than was asked for
 *   remove             abort what was begun for this name ─▶ DELETE
 *
 * The row is there before the first request, so what a crash leaves is found by its name: the object, and
 * uploads that will not be completed. Those are asked for by the object's name, and not kept in the row, because
 * a crash may come between S3's answer and our note of it.
 *
 * An answer may be lost on its way, and the request be made twice. A part is simply replaced. Of two beginnings
 * one upload is left over, and is aborted at the end. A second completion finds no such upload: then the object
 * is looked at.
 *
 * Memory: a part for each blob that is written, but no more than it has, and S3_BUFFERS for all together. And
 * S3_AHEAD for each that is read.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/fault.h"
#include "core/base/lock.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/blob/blob.h"
#include "core/blob/place.h"
#include "core/blob/s3_xml.h"
#include "core/net/s3_client.h"

#define PART       ((size_t)8 << 20) /* bytes; S3 takes no smaller ones than 5 MiB but the last */
#define PART_LIMIT 10000             /* S3's */
#define FIRST_ROOM ((size_t)64 << 10)  /* bytes of a buffer that grows */
#define S3_BUFFERS ((size_t)256 << 20) /* bytes of all buffers of writers together */
#define S3_AHEAD   ((size_t)256 << 10)
#define ID_ROOM    ((size_t)1024) /* of an upload; S3 names no limit */
#define LIST_LIMIT 100            /* uploads of one name that are aborted in one go */
#define KEY_SIZE   (ID_SIZE + 8)

struct s3 {
    struct s3_client *client;
    struct lock lock;
    size_t buffered; /* guarded by lock */
};

struct writing {
    struct s3 *s3;
    struct s3_link link;
    char *bytes; /* of the part that is being collected */
    size_t length, room;
    char *upload; /* its id; NULL: not begun */
    char (*etags)[S3_ETAG_SIZE];
    size_t parts;
    bool doubtful; /* there may be another upload of the same name */
};

struct reading {
    struct s3_link link;
    char *bytes;
    uint64_t from;
    size_t length;
};

static void key_of(const char *id, char ret_key[KEY_SIZE])
{
    (void)snprintf(ret_key, KEY_SIZE, "runnel/%s", id);
}

/* Everything but letters, digits and -._~, as signatures demand. The caller frees. */
static char *escaped(const char *text)
{
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
    struct buf out = {0};

    for (; *text; text++) {
        if (strchr(plain, *text))
            buf_add_char(&out, *text);
        else
            buf_addf(&out, "%%%02X", (unsigned char)*text);
    }
    buf_add_char(&out, '\0');
    return buf_take(&out);
}

/* ---- Answers ---- */

/* S3's word for it: "NoSuchKey" ... "" without one, or if it does not look like one. */
static void word_of(const struct s3_answer *answer, char ret_word[64])
{
    const struct s3_span text = {answer->text.data, answer->text.length};

    if (!s3_xml_text(text, "Code", ret_word, 64) ||
        ret_word[strspn(ret_word,
                        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789")])
        ret_word[0] = '\0';
}

/* What an answer means that is no success. */
static enum err_code refused(const struct s3_answer *answer, const char *what, struct err *err)
{
    char word[64];

    word_of(answer, word);
    if (answer->status == 507 || strcmp(word, "QuotaExceeded") == 0 ||
        strcmp(word, "XMinioStorageFull") == 0)
        return blob_full(err);
    if (strcmp(word, "RequestTimeTooSkewed") == 0)
        return err_set(err, ERR_INTERNAL,
                       "cannot %s: the clocks of this server and of S3 differ too much", what);
    return err_set(err, ERR_INTERNAL, "cannot %s: S3 answered %d %s", what, answer->status,
                   word);
}

static bool is_done(const struct s3_answer *answer)
{
    return answer->status >= 200 && answer->status < 300;
}

/* A removal is confirmed by an answer without a body. Something between us and S3 may say 200, too. */
static bool is_removed(const struct s3_answer *answer)
{
    return (is_done(answer) && !answer->text.length) || answer->status == 404;
}

/* One request about the object whose answer must be a success. */
static enum err_code ask(struct s3 *s3, struct s3_link *link, const struct s3_request *request,
                         const char *what, struct s3_answer *answer, struct err *err)
{
    enum err_code rc = s3_client_send(s3->client, link, request, answer, err);

    return rc || is_done(answer) ? rc : refused(answer, what, err);
}

/* ---- Uploads that will not be completed ---- */

static enum err_code abort_upload(struct s3 *s3, struct s3_link *link, const char *key,
                                  const char *upload, struct err *err)
{
    AUTO_FREE char *id = escaped(upload);
    AUTO_FREE char *query = mem_printf("uploadId=%s", id);
    const struct s3_request request = {
        .method = "DELETE", .key = key, .query = query, .patience = S3_BRIEF};
    struct s3_answer answer;
    enum err_code rc = s3_client_send(s3->client, link, &request, &answer, err);

    if (!rc && !is_removed(&answer))
        rc = refused(&answer, "abort an upload", err);
    s3_answer_clear(&answer);
    return rc;
}

/* Aborts what the list has for this very name. */
static enum err_code abort_listed(struct s3 *s3, struct s3_link *link, const char *key,
                                  struct s3_span text, struct err *err)
{
    struct s3_span list, upload;
    enum err_code rc = ERR_OK;

    if (!s3_xml_next(&text, "ListMultipartUploadsResult", &list))
        return err_set(err, ERR_UPSTREAM, "S3 answered something else than a list of uploads");
    while (!rc && s3_xml_next(&list, "Upload", &upload)) {
        char id[ID_ROOM], name[KEY_SIZE];

        if (s3_xml_text(upload, "Key", name, sizeof(name)) && strcmp(name, key) == 0 &&
            s3_xml_text(upload, "UploadId", id, sizeof(id)))
            rc = abort_upload(s3, link, key, id, err);
    }
    return rc;
}

/* A server that cannot list uploads (501) has none to abort. */
static enum err_code abort_uploads(struct s3 *s3, struct s3_link *link, const char *key,
                                   struct err *err)
{
    AUTO_FREE char *prefix = escaped(key);
    AUTO_FREE char *query = mem_printf("max-uploads=%d&prefix=%s&uploads=", LIST_LIMIT, prefix);
    const struct s3_request request = {
        .method = "GET", .key = "", .query = query, .patience = S3_BRIEF};
    struct s3_answer answer;
    enum err_code rc = s3_client_send(s3->client, link, &request, &answer, err);

    if (!rc && is_done(&answer))
        rc = abort_listed(s3, link, key, (struct s3_span){answer.text.data, answer.text.length},
                          err);
    else if (!rc && answer.status != 501)
        rc = refused(&answer, "list uploads", err);
    s3_answer_clear(&answer);
    return rc;
}

/* ---- Writing ---- */

static enum err_code begin(const struct blob_name *name, void **ret_state, struct err *err)
{
    struct writing *writing = mem_new(struct writing);

    (void)err;
    writing->s3 = name->ground->s3;
    *ret_state = writing;
    return ERR_OK;
}

static void give_back(struct s3 *s3, size_t bytes)
{
    lock_acquire(&s3->lock);
    s3->buffered -= bytes;
    lock_release(&s3->lock);
}

/* Room for a byte more, twice as much as there was. */
static enum err_code grow(struct writing *writing, struct err *err)
{
    struct s3 *s3 = writing->s3;
    size_t room = writing->room ? 2 * writing->room : FIRST_ROOM;
    size_t more = room - writing->room;
    bool fits;

    lock_acquire(&s3->lock);
    fits = more <= S3_BUFFERS - s3->buffered && !FAULT("s3.buffers");
    s3->buffered += fits ? more : 0;
    lock_release(&s3->lock);
    if (!fits)
        return err_refuse(err, ERR_LIMIT, REASON_BUSY, NULL,
                          "Too many files are being stored at once. Try again later.");
    writing->bytes = mem_resize(writing->bytes, room, 1);
    writing->room = room;
    return ERR_OK;
}

static enum err_code begin_upload(const char *key, struct writing *writing, struct err *err)
{
    const struct s3_request request = {.method = "POST", .key = key, .query = "uploads="};
    struct s3_answer answer;
    char id[ID_ROOM];
    enum err_code rc =
        ask(writing->s3, &writing->link, &request, "begin an upload", &answer, err);

    writing->doubtful |= answer.tries > 1;
    if (!rc && !s3_xml_text((struct s3_span){answer.text.data, answer.text.length}, "UploadId",
                            id, sizeof(id)))
        rc = err_set(err, ERR_UPSTREAM, "S3 began an upload and did not name it");
    if (!rc)
        writing->upload = mem_strdup(id);
    s3_answer_clear(&answer);
    return rc;
}

/* What S3 has taken has an ETag. */
static enum err_code put(struct writing *writing, const struct s3_request *request,
                         struct s3_answer *answer, struct err *err)
{
    enum err_code rc = ask(writing->s3, &writing->link, request, "write", answer, err);

    if (!rc && !*answer->etag)
        rc = err_set(err, ERR_UPSTREAM, "S3 did not confirm what it was sent");
    return rc;
}

static enum err_code send_part(const struct blob_name *name, struct writing *writing,
                               struct err *err)
{
    char key[KEY_SIZE];
    enum err_code rc = ERR_OK;

    key_of(name->id, key);
    if (writing->parts == PART_LIMIT)
        return err_set(err, ERR_TOO_LARGE, "A file in S3 has at most %zu bytes.",
                       PART * PART_LIMIT);
    if (!writing->upload)
        rc = begin_upload(key, writing, err);
    if (!rc) {
        AUTO_FREE char *id = escaped(writing->upload);
        AUTO_FREE char *query =
            mem_printf("partNumber=%zu&uploadId=%s", writing->parts + 1, id);
        const struct s3_request request = {.method = "PUT",
                                           .key = key,
                                           .query = query,
                                           .body = writing->bytes,
                                           .length = writing->length};
        struct s3_answer answer;

        rc = put(writing, &request, &answer, err);
        if (!rc) {
            writing->etags =
                mem_resize(writing->etags, writing->parts + 1, sizeof(*writing->etags));
            memcpy(writing->etags[writing->parts++], answer.etag, sizeof(answer.etag));
            writing->length = 0;
        }
        s3_answer_clear(&answer);
    }
    return rc;
}

static enum err_code add(const struct blob_name *name, void *state, const void *bytes,
                         size_t size, struct err *err)
{
    struct writing *writing = state;
    enum err_code rc = ERR_OK;

    for (size_t at = 0; !rc && at < size;) {
        size_t count = size - at;

        /* A full part waits for the byte behind it: the last part must not be empty. */
        if (writing->length == PART)
            rc = send_part(name, writing, err);
        else if (writing->length == writing->room)
            rc = grow(writing, err);
        if (rc)
            break;
        if (count > writing->room - writing->length)
            count = writing->room - writing->length;
        memcpy(writing->bytes + writing->length, (const char *)bytes + at, count);
        writing->length += count;
        at += count;
    }
    return rc;
}

/* The list of parts. ETags have quotation marks, which may stand in text. The caller frees. */
static char *list_of(const struct writing *writing)
{
    struct buf list = {0};

    buf_add_text(&list, "<CompleteMultipartUpload>");
    for (size_t i = 0; i < writing->parts; i++) {
        buf_addf(&list, "<Part><PartNumber>%zu</PartNumber><ETag>", i + 1);
        for (const char *at = writing->etags[i]; *at; at++) {
            if (*at == '&' || *at == '<' || *at == '>')
                buf_addf(&list, "&#%d;", *at);
            else
                buf_add_char(&list, *at);
        }
        buf_add_text(&list, "</ETag></Part>");
    }
    buf_add_text(&list, "</CompleteMultipartUpload>");
    buf_add_char(&list, '\0');
    return buf_take(&list);
}

/* The upload was completed before, if the object is there. */
static enum err_code look_at_object(const char *key, struct writing *writing, struct err *err)
{
    char byte;
    const struct s3_request request = {
        .method = "GET", .key = key, .count = 1, .ret_bytes = &byte};
    struct s3_answer answer;
    enum err_code rc =
        ask(writing->s3, &writing->link, &request, "complete an upload", &answer, err);

    s3_answer_clear(&answer);
    return rc;
}

/* S3 may say 200 first, and in the body that it has failed. A completion that was sent twice, also by libcurl over a
 * connection that was closed meanwhile, finds no upload. */
static enum err_code complete(const char *key, struct writing *writing, struct err *err)
{
    AUTO_FREE char *list = list_of(writing);
    AUTO_FREE char *id = escaped(writing->upload);
    AUTO_FREE char *query = mem_printf("uploadId=%s", id);
    const struct s3_request request = {
        .method = "POST", .key = key, .query = query, .body = list, .length = strlen(list)};
    struct s3_answer answer;
    char word[64], etag[256];
    enum err_code rc =
        s3_client_send(writing->s3->client, &writing->link, &request, &answer, err);

    word_of(&answer, word);
    if (!rc && answer.status == 404)
        rc = look_at_object(key, writing, err);
    else if (!rc && (!is_done(&answer) || *word))
        rc = refused(&answer, "complete an upload", err);
    else if (!rc && !s3_xml_text((struct s3_span){answer.text.data, answer.text.length}, "ETag",
                                 etag, sizeof(etag)))
        rc = err_set(err, ERR_UPSTREAM, "S3 did not say whether it completed an upload");
    s3_answer_clear(&answer);
    return rc;
}

static enum err_code put_whole(const char *key, struct writing *writing, struct err *err)
{
    const struct s3_request request = {.method = "PUT",
                                       .key = key,
                                       .body = writing->bytes ? writing->bytes : "",
                                       .length = writing->length};
    struct s3_answer answer;
    enum err_code rc = put(writing, &request, &answer, err);

    s3_answer_clear(&answer);
    return rc;
}

static enum err_code finish(const struct blob_name *name, void *state, struct err *err)
{
    struct writing *writing = state;
    char key[KEY_SIZE];
    enum err_code rc;

    key_of(name->id, key);
    if (!writing->upload)
        return put_whole(key, writing, err);
    rc = send_part(name, writing, err);
    if (!rc)
        rc = complete(key, writing, err);
    /* If it cannot be aborted now, it goes with the object. */
    if (!rc && writing->doubtful)
        (void)abort_uploads(writing->s3, &writing->link, key, NULL);
    return rc;
}

/* What was not completed is removed by name. */
static void end(void *state)
{
    struct writing *writing = state;

    give_back(writing->s3, writing->room);
    s3_link_close(&writing->link);
    free(writing->bytes);
    free(writing->upload);
    free(writing->etags);
    free(writing);
}

/* ---- Reading ---- */

static enum err_code open_object(const struct blob_name *name, void **ret_state,
                                 struct err *err)
{
    (void)name;
    (void)err;
    *ret_state = mem_new(struct reading);
    return ERR_OK;
}

/* Fills the buffer from byte `at` on. */
static enum err_code fetch(const struct blob_name *name, struct reading *reading, uint64_t at,
                           struct err *err)
{
    uint64_t left = name->bytes - at;
    size_t count = left < S3_AHEAD ? (size_t)left : S3_AHEAD;
    char key[KEY_SIZE];
    struct s3_request request = {.method = "GET", .key = key, .from = at, .count = count};
    struct s3_answer answer;
    enum err_code rc;

    key_of(name->id, key);
    reading->length = 0;
    if (!reading->bytes)
        reading->bytes = mem_new_array(char, S3_AHEAD);
    request.ret_bytes = reading->bytes;
    rc = s3_client_send(name->ground->s3->client, &reading->link, &request, &answer, err);
    if (!rc && answer.status == 206) {
        reading->from = at;
        reading->length = count;
    } else if (!rc && (answer.status == 404 || answer.status == 416)) {
        rc = blob_broken(name, "S3 does not have them", err);
    } else if (!rc) {
        rc = refused(&answer, "read", err);
    }
    s3_answer_clear(&answer);
    return rc;
}

static enum err_code read_object(const struct blob_name *name, void *state, uint64_t at,
                                 void *ret_bytes, size_t size, struct err *err)
{
    struct reading *reading = state;

    for (size_t got = 0; got < size;) {
        uint64_t place = at + got;
        size_t count = size - got, skip;

        if (place < reading->from || place >= reading->from + reading->length) {
            enum err_code rc = fetch(name, reading, place, err);

            if (rc)
                return rc;
        }
        skip = (size_t)(place - reading->from);
        if (count > reading->length - skip)
            count = reading->length - skip;
        memcpy((char *)ret_bytes + got, reading->bytes + skip, count);
        got += count;
    }
    return ERR_OK;
}

static void close_object(void *state)
{
    struct reading *reading = state;

    s3_link_close(&reading->link);
    free(reading->bytes);
    free(reading);
}

/* ---- Removing ---- */

static enum err_code remove_object(const struct blob_name *name, struct err *err)
{
    struct s3 *s3 = name->ground->s3;
    char key[KEY_SIZE];
    const struct s3_request request = {.method = "DELETE", .key = key, .patience = S3_BRIEF};
    struct s3_link link = {0};
    struct s3_answer answer = {0};
    enum err_code rc;

    key_of(name->id, key);
    rc = abort_uploads(s3, &link, key, err);
    if (!rc)
        rc = s3_client_send(s3->client, &link, &request, &answer, err);
    if (!rc && !is_removed(&answer))
        rc = refused(&answer, "remove", err);
    s3_answer_clear(&answer);
    s3_link_close(&link);
    return rc;
}

const struct blob_place_ops blob_s3 = {
    .begin = begin,
    .add = add,
    .finish = finish,
    .end = end,
    .open = open_object,
    .read = read_object,
    .close = close_object,
    .remove = remove_object,
};

/* ---- The bucket ---- */

/* A wrong key or name must not wait for the first upload to be noticed. A server that is away may come back. */
static enum err_code look_at_bucket(struct s3 *s3, struct err *err)
{
    const struct s3_request request = {
        .method = "GET", .key = "", .query = "max-uploads=1&uploads=", .patience = S3_BRIEF};
    struct s3_link link = {0};
    struct s3_answer answer;
    struct err why;
    enum err_code rc = s3_client_send(s3->client, &link, &request, &answer, &why);

    if (rc)
        log_warn("files.s3: %s", why.text);
    else if (!is_done(&answer) && answer.status != 501)
        rc = refused(&answer, "use the bucket of files.s3", err);
    s3_answer_clear(&answer);
    s3_link_close(&link);
    return rc == ERR_UPSTREAM ? ERR_OK : rc;
}

enum err_code blob_s3_open(const struct s3_options *options, struct blob_ground *ground,
                           struct err *err)
{
    struct s3 *s3 = mem_new(struct s3);
    enum err_code rc = s3_client_new(options, &s3->client, err);

    lock_init(&s3->lock, LOCK_S3);
    if (!rc)
        rc = look_at_bucket(s3, err);
    if (rc) {
        blob_s3_close(s3);
        return rc;
    }
    ground->s3 = s3;
    memcpy(ground->bucket, s3_client_id(s3->client), strlen(s3_client_id(s3->client)) + 1);
    return ERR_OK;
}

void blob_s3_stop(struct s3 *s3)
{
    if (s3)
        s3_client_stop(s3->client);
}

void blob_s3_close(struct s3 *s3)
{
    if (!s3)
        return;
    s3_client_free(s3->client);
    lock_destroy(&s3->lock);
    free(s3);
}
