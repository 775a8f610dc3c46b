#ifndef RUNNEL_CORE_BASE_COMPILER_H
#define RUNNEL_CORE_BASE_COMPILER_H

/*
 * compiler.h -- readable names for what gcc and clang offer beyond C.
 */

#define MUST_CHECK               __attribute__((warn_unused_result))
#define PRINTF_LIKE(text, first) __attribute__((format(printf, text, first)))
#define CLEANUP(function)        __attribute__((cleanup(function), unused))
#define NO_RETURN                __attribute__((noreturn))

#define LIKELY(condition)   __builtin_expect(!!(condition), 1)
#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* The struct that holds `member`, from a pointer to that member. */
#define CONTAINER_OF(pointer, type, member) \
    ((type *)(void *)((char *)(pointer) - __builtin_offsetof(type, member)))

/* clang's -Wthread-safety; nothing for gcc. See lock.h. */
#if defined(__clang__)
#define CAPABILITY(name) __attribute__((capability(name)))
#define ACQUIRES(lock)   __attribute__((acquire_capability(lock)))
#define RELEASES(lock)   __attribute__((release_capability(lock)))
#define REQUIRES(lock)   __attribute__((requires_capability(lock)))
#else
#define CAPABILITY(name)
#define ACQUIRES(lock)
#define RELEASES(lock)
#define REQUIRES(lock)
#endif

#endif
