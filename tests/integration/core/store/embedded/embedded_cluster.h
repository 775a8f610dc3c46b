#ifndef RUNNEL_TESTS_INTEGRATION_CORE_STORE_EMBEDDED_EMBEDDED_CLUSTER_H
#define RUNNEL_TESTS_INTEGRATION_CORE_STORE_EMBEDDED_EMBEDDED_CLUSTER_H

#include <stdbool.h>
#include <sys/types.h>

#include "core/store/embedded/embedded.h"

/* embedded_cluster.h -- a private cluster that belongs to a program's tests, and what they do to it. */

extern char root[64];      /* a directory of the program's own */
extern char data_dir[256]; /* in it */

/* Of a group of tests. */
int cluster_set_up(void **state);
int cluster_tear_down(void **state);

struct embedded *open_cluster(void);
bool answers(const struct embedded *embedded);
/* A server that is killed and leaves its cluster running. */
void die_with_a_cluster(void);

/* As its file says; 0: none. */
pid_t postmaster_pid(void);
void await_end(pid_t pid);

void remove_tree(const char *path);
void read_socket_dir(const struct embedded *embedded, char ret_path[256]);

/* Moves the cluster to a path that is too long for a socket; and back. */
void go_far(void);
void come_back(void);

#endif
