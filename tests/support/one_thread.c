/*
 * one_thread.c -- in each unit test that tests/unit/CMakeLists.txt does not name as one with threads.
 *
 * A test with one thread is not run under ThreadSanitizer, which would learn nothing. So it must not get a second
 * thread unnoticed: the linker makes each call of pthread_create() a call of this function.
 */

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

int __wrap_pthread_create(pthread_t *ret_thread, const pthread_attr_t *attributes,
                          void *(*start)(void *), void *arg);

int __wrap_pthread_create(pthread_t *ret_thread, const pthread_attr_t *attributes,
                          void *(*start)(void *), void *arg)
{
    (void)ret_thread;
    (void)attributes;
    (void)start;
    (void)arg;
    (void)fputs(
        "A second thread: name this test in with_threads of tests/unit/CMakeLists.txt.\n",
        stderr);
    abort();
}
