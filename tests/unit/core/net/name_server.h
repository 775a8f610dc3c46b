#ifndef RUNNEL_TESTS_UNIT_CORE_NET_NAME_SERVER_H
#define RUNNEL_TESTS_UNIT_CORE_NET_NAME_SERVER_H

#include <semaphore.h>

/*
 * name_server.h -- a resolver for tests. A program that links it looks up no name elsewhere.
 *
 *   here.test          127.0.0.1, where the test's server listens
 *   nobody.test        127.0.0.2, where nothing listens
 *   two.test ...       several addresses, the last one being 127.0.0.1: many_homes has them
 *   slow.test          fails when the test posts name_known
 *   later.test         fails for now (EAI_AGAIN)
 *   any other name     does not exist (EAI_NONAME)
 */

struct name_homes {
    const char *name;
    const char *homes[4];
};

extern const struct name_homes many_homes[];
extern const size_t many_homes_count;

extern sem_t name_asked;    /* posted when slow.test is looked up */
extern sem_t name_known;    /* the test posts it, once for each lookup */
extern sem_t name_answered; /* posted when the look-up of slow.test returns */

void name_server_init(void);

#endif
