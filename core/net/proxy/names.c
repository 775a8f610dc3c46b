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

static void ask_system(struct name_question *question)
{
    const struct addrinfo hints = {
        .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    struct addrinfo *list = NULL;
    char port[8];

    (void)snprintf(port, sizeof(port), "%u", question->port);
    if (getaddrinfo(question->host, port, &hints, &list) != 0)
        return;
    for (const struct addrinfo *at = list; at && question->count < NAMES_RESULTS;
         at = at->ai_next) {
        struct name_address *found = &question->found[question->count++];

        memcpy(&found->address, at->ai_addr, at->ai_addrlen);
        found->size = at->ai_addrlen;
    }
    freeaddrinfo(list);
}

static struct name_question *take_locked(struct names *names) REQUIRES(names->lock)
{
    struct name_question *question = names->first;

    names->first = question->next;
    if (!names->first)
        names->last = NULL;
    return question;
}

static void report(struct loop_task *task)
{
    struct name_question *question = CONTAINER_OF(task, struct name_question, task);

    question->done(question);
}

static void answer(struct name_question *question)
{
    question->task.run = report;
    loop_post(question->loop, &question->task);
}

static void *look_up_names(void *argument)
{
    struct names *names = argument;

    if (res_init() == 0) {
        _res.retrans = PATIENCE_SECONDS;
        _res.retry = ATTEMPTS;
    }
    lock_acquire(&names->lock);
    for (;;) {
        struct name_question *question;

        while (!names->first && !names->stopping)
            lock_wait(&names->lock, &names->changed);
        if (names->stopping)
            break;
        question = take_locked(names);
        lock_release(&names->lock);
        names->look_up(question);
        answer(question);
        lock_acquire(&names->lock);
    }
    lock_release(&names->lock);
    return NULL;
}

void names_ask(struct names *names, struct name_question *question)
{
    question->next = NULL;
    lock_acquire(&names->lock);
    if (names->last)
        names->last->next = question;
    else
        names->first = question;
    names->last = question;
    pthread_cond_signal(&names->changed);
    lock_release(&names->lock);
}

enum err_code names_new(names_look_up *look_up, struct names **ret_names, struct err *err)
{
    struct names *names = mem_new(struct names);
    int error = 0;

    names->look_up = look_up ? look_up : ask_system;
    lock_init(&names->lock, LOCK_NAMES);
    lock_cond_init(&names->changed);
    while (!error && names->thread_count < NAMES_THREADS) {
        error =
            pthread_create(&names->threads[names->thread_count], NULL, look_up_names, names);
        if (!error)
            (void)pthread_setname_np(names->threads[names->thread_count++], "names");
    }
    if (error) {
        names_free(names);
        return err_set(err, ERR_INTERNAL, "cannot start the threads that look up names: %s",
                       strerror(error));
    }
    *ret_names = names;
    return ERR_OK;
}

void names_free(struct names *names)
{
    if (!names)
        return;
    lock_acquire(&names->lock);
    names->stopping = true;
    pthread_cond_broadcast(&names->changed);
    lock_release(&names->lock);
    for (size_t i = 0; i < names->thread_count; i++)
        pthread_join(names->threads[i], NULL);
    while (names->first) {
        struct name_question *question = names->first;

        names->first = question->next;
        answer(question);
    }
    pthread_cond_destroy(&names->changed);
    lock_destroy(&names->lock);
    free(names);
}
