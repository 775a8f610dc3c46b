#ifndef RUNNEL_CORE_DOMAIN_STATUS_UPLOAD_STATUS_H
#define RUNNEL_CORE_DOMAIN_STATUS_UPLOAD_STATUS_H

/*
 * upload_status.h -- the life of an upload: a file that comes in parts.
 *
 *   pending --> completed | cancelled | expired
 *
 * What has happened may happen again, and changes nothing: a client repeats a request whose answer it has lost.
 * Anything else that happens to an upload that has ended is a contradiction. Parts are only added to a pending one.
 *
 * A new status also needs: the CHECK in migrations, openapi.yaml, and a name in upload_status.c.
 *
 * Pure functions: any thread.
 */

enum upload_status {
    UPLOAD_STATUS_NONE,
    UPLOAD_PENDING,
    UPLOAD_COMPLETED,
    UPLOAD_CANCELLED,
    UPLOAD_EXPIRED,
    UPLOAD_STATUS_COUNT
};

enum upload_event {
    UPLOAD_EV_PART, /* another part */
    UPLOAD_EV_COMPLETE,
    UPLOAD_EV_CANCEL,
    UPLOAD_EV_EXPIRE,
    UPLOAD_EV_COUNT
};

/* UPLOAD_STATUS_NONE when the event contradicts the status. */
enum upload_status upload_status_next(enum upload_status status, enum upload_event event);

/* The names in the API. parse: UPLOAD_STATUS_NONE for an unknown name. */
const char *upload_status_name(enum upload_status status);
enum upload_status upload_status_parse(const char *name);

#endif
