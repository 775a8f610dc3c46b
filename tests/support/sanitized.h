#ifndef RUNNEL_TESTS_SUPPORT_SANITIZED_H
#define RUNNEL_TESTS_SUPPORT_SANITIZED_H

/*
 * sanitized.h -- what a test need not repeat when it runs under a sanitizer.
 *
 * The plain build tries every case. A sanitizer is 3 to 20 times slower and looks for something
 * else: AddressSanitizer needs each kind of case once. A test with one thread is not run under
 * ThreadSanitizer at all.
 */

#include <stdbool.h>

#ifndef __has_feature
#define __has_feature(feature) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#define UNDER_ASAN true
#else
#define UNDER_ASAN false
#endif

/* A loop over all cases takes every one, or one of so many; begin at another place each time. */
#define CASE_STRIDE ((size_t)(UNDER_ASAN ? 7 : 1))

#endif
