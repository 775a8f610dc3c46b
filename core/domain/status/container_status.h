#ifndef RUNNEL_CORE_DOMAIN_STATUS_CONTAINER_STATUS_H
#define RUNNEL_CORE_DOMAIN_STATUS_CONTAINER_STATUS_H

/*
 * container_status.h -- the life of a container: a folder in which code runs, and its row.
 *
 *   running --> expired --> the row is removed after a day
 *      |           |
 *      +-----------+-----> deleted --> the row is removed when the folder is
 *
 * An expired container is still shown, but its files are gone, and it never comes back. A deleted one is unknown to
 * clients at once. What has happened may happen again, and changes nothing.
 *
 * A new status also needs: the CHECK in migrations, openapi.yaml, and a name in container_status.c.
 *
 * Pure functions: any thread.
 */

enum container_status {
    CONTAINER_STATUS_NONE,
    CONTAINER_RUNNING,
    CONTAINER_EXPIRED,
    CONTAINER_DELETED,
    CONTAINER_STATUS_COUNT
};

enum container_event {
    CONTAINER_EV_USE,
    CONTAINER_EV_EXPIRE,
    CONTAINER_EV_DELETE,
    CONTAINER_EV_COUNT
};

/* CONTAINER_STATUS_NONE when the event contradicts the status. */
enum container_status container_status_next(enum container_status status,
                                            enum container_event event);

/* The names in the API, which never shows `deleted`. parse: CONTAINER_STATUS_NONE for an unknown name. */
const char *container_status_name(enum container_status status);
enum container_status container_status_parse(const char *name);

#endif
