#ifndef RUNNEL_CORE_DOCUMENT_OFFICE_LATE_LIBRARY_H
#define RUNNEL_CORE_DOCUMENT_OFFICE_LATE_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

/*
 * late_library.h -- a library that only a child loads, when it has a document that needs it.
 *
 * Linked, libarchive and libxml2 would add half to the time in which the program starts, with a dozen libraries of
 * their own behind them. The owner of such a library lists its functions once:
 *
 *     #define CALLS(X) X(archive_read_new) X(archive_read_free)
 *     static struct { CALLS(LATE_POINTER) } lib;
 *     static const char *const names[] = {CALLS(LATE_NAME)};
 *
 *     if (!late_library_load("libarchive.so.13", names, COUNT_OF(names), &lib)) ...
 *     lib.archive_read_new();
 *
 * The types are those of the library's header, so the compiler checks each call.
 */

#define LATE_POINTER(function) __typeof__(function) *function;
#define LATE_NAME(function)    #function,

/* Fills a struct of `count` pointers. False: the library or one of its functions is missing here. Not for threads. */
bool late_library_load(const char *library, const char *const *names, size_t count,
                       void *ret_pointers);

#endif
