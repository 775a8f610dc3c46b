#ifndef RUNNEL_CORE_NET_S3_CLIENT_H
#define RUNNEL_CORE_NET_S3_CLIENT_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/err.h"

/*
 * s3_client.h -- one signed request to a server that speaks S3, and its answer.
 *
 *     rc = s3_client_send(client, &link, &request, &answer, err);
 *
 * Requests are signed with version 4 of AWS's scheme, the bytes of their body included, and address the bucket by
 * path. The endpoint is the operator's own, so no egress rule holds for it.
 *
 * A request blocks its thread. What may pass is tried again, S3_TRIES times in all, with pauses: no connection, a
 * broken answer, 429, 500 and above. All requests of core/blob may be repeated; the last of an upload
 * needs care (core/blob/s3.c).
 *
 * Neither the keys nor a signature are ever part of an error or of the log.
 *
 * A client may be used by any thread. A link is a connection, which one thread uses at a time.
 */

struct s3_client;

#define S3_TRIES           4
#define S3_CONNECT_SECONDS 10
#define S3_REQUEST_SECONDS 300
#define S3_SILENCE_SECONDS 30                /* without a byte */
#define S3_BRIEF_SECONDS   5                 /* all of a request that must be brief */
#define S3_TEXT_LIMIT      ((size_t)1 << 18) /* bytes of an answer that is not an object */
#define S3_ETAG_SIZE       72

struct s3_options {
    const char *endpoint; /* "https://s3.example.org", with a port if it has one */
    const char *bucket;
    const char *region;
    const char *access_key;
    const char *secret_key;
};

struct s3_link {
    void *curl; /* NULL: not open */
};

enum s3_patience {
    S3_PATIENT, /* tries again */
    S3_BRIEF,   /* one try of S3_BRIEF_SECONDS */
};

struct s3_request {
    const char *method;
    const char *key;   /* of the object, of letters that need no escape; "" for the bucket */
    const char *query; /* sorted, escaped, every name with a '='; or NULL */
    const void *body;  /* or NULL */
    size_t length;
    enum s3_patience patience;

    /* Of a GET of an object: which bytes, and where they go. */
    uint64_t from;
    size_t count; /* 0: no part of an object */
    void *ret_bytes;
};

struct s3_answer {
    int status;
    char etag[S3_ETAG_SIZE]; /* with its quotation marks; "" without or if it is longer */
    struct buf text;         /* the body, ends with a NUL; empty if bytes of an object came */
    unsigned tries;
};

/* Fails if a part of the options cannot be used: ERR_INVALID. Copies them. */
enum err_code s3_client_new(const struct s3_options *options, struct s3_client **ret_client,
                            struct err *err) MUST_CHECK;
void s3_client_free(struct s3_client *client); /* NULL is fine */

/* From now on every request ends with ERR_UPSTREAM, also those under way, within about a second. */
void s3_client_stop(struct s3_client *client);

/* Which bucket it is: "s3_" and 24 hexadecimal digits of a hash. Borrowed. */
const char *s3_client_id(const struct s3_client *client);

/* ERR_OK for every status below 500 but 429, and for 501 and 507. For a GET with `count`: 206 means that all the
 * bytes are there. ERR_UPSTREAM if the server is away, or says something else. The caller clears the
 * answer, also after an error. */
enum err_code s3_client_send(struct s3_client *client, struct s3_link *link,
                             const struct s3_request *request, struct s3_answer *ret_answer,
                             struct err *err) MUST_CHECK;
void s3_answer_clear(struct s3_answer *answer);
void s3_link_close(struct s3_link *link);

#endif
