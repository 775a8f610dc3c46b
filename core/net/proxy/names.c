#include "core/net/proxy/names.h"

#include <netdb.h>
#include <pthread.h>
#include <resolv.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/lock.h"
#include "core/base/mem.h"

/* What a thread waits for a server of names, so that a stop does not wait long. */
#define PATIENCE_SECONDS 3
#define ATTEMPTS         2

/* Guarded by lock, but for the constants. */
struct names {
    struct lock lock;
    pthread_cond_t changed;
    names_look_up *look_up; /* constant */
    struct name_question *first, *last;
    bool stopping;
    pthread_t threads[NAMES_THREADS]; /* constant */
    size_t thread_count;              /* constant */
};
