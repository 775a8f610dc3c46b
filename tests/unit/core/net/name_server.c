#include "tests/unit/core/net/name_server.h"

#include <dlfcn.h>
#include <netdb.h>
#include <string.h>

#include "core/base/compiler.h"
#include "tests/unit/core/net/errand.h"

sem_t name_asked;
sem_t name_known;
sem_t name_answered;

/* The test's server has the last address of each name, and nothing listens at the others. */
const struct name_homes many_homes[] = {
    {"two.test", {"127.0.0.2", "127.0.0.1"}},
    {"three.test", {"127.0.0.3", "127.0.0.2", "127.0.0.1"}},
    {"now.test", {"127.0.0.2", "255.255.255.255", "127.0.0.1"}}, /* the second fails at once */
    {"six.test", {"::1", "127.0.0.1"}},
    {"all.test", {"::1", "::2", "127.0.0.2", "127.0.0.1"}},
};
const size_t many_homes_count = COUNT_OF(many_homes);

static const struct name_homes one_home[] = {
    {"here.test", {"127.0.0.1"}},
    {"nobody.test", {"127.0.0.2"}},
};

typedef int getaddrinfo_fn(const char *, const char *, const struct addrinfo *,
                           struct addrinfo **);

static getaddrinfo_fn *real_getaddrinfo(void)
{
    getaddrinfo_fn *real;

    *(void **)&real = dlsym(RTLD_NEXT, "getaddrinfo");
    return real;
}

void name_server_init(void)
{
    sem_init(&name_asked, 0, 0);
    sem_init(&name_known, 0, 0);
    sem_init(&name_answered, 0, 0);
}

static const struct name_homes *find(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(one_home); i++)
        if (strcmp(name, one_home[i].name) == 0)
            return &one_home[i];
    for (size_t i = 0; i < COUNT_OF(many_homes); i++)
        if (strcmp(name, many_homes[i].name) == 0)
            return &many_homes[i];
    return NULL;
}

static int give_homes(const struct name_homes *name, const char *service,
                      const struct addrinfo *hints, struct addrinfo **ret_list)
{
    struct addrinfo **end = ret_list;

    for (size_t i = 0; i < COUNT_OF(name->homes) && name->homes[i]; i++)
        if (real_getaddrinfo()(name->homes[i], service, hints, end) == 0)
            end = &(*end)->ai_next;
    return 0;
}

/* libcurl's resolver threads call this one. */
int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints,
                struct addrinfo **ret_list)
{
    const struct name_homes *known = find(name ? name : "");
    struct addrinfo numeric = {.ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_STREAM};

    if (known)
        return give_homes(known, service, hints, ret_list);
    if (name && strcmp(name, "slow.test") == 0) {
        sem_post(&name_asked);
        wait_for(&name_known);
        sem_post(&name_answered);
        return EAI_NONAME;
    }
    if (name && strcmp(name, "later.test") == 0)
        return EAI_AGAIN;
    return real_getaddrinfo()(name, service, &numeric, ret_list);
}
