#ifndef RUNNEL_CORE_DOCUMENT_BUNDLE_BUNDLE_RECORD_H
#define RUNNEL_CORE_DOCUMENT_BUNDLE_BUNDLE_RECORD_H

#include <stddef.h>
#include <stdint.h>

/*
 * bundle_record.h -- what goes between the server and the child that packs or unpacks: heads, each with a name and
 * bytes behind it.
 */

/* What an entry of a zip is, or what is wrong with it. Only BUNDLE_FILE has bytes. */
enum bundle_kind {
    BUNDLE_FILE,
    BUNDLE_FOLDER,
    BUNDLE_LINK,
    BUNDLE_DEVICE,
    BUNDLE_ENCRYPTED,
    BUNDLE_UNREADABLE, /* the zip ends here, or its method is unknown */
    BUNDLE_TOO_MANY,
    BUNDLE_TOO_LARGE,
    BUNDLE_TOO_DENSE,
    BUNDLE_KINDS
};

struct bundle_head {
    uint32_t kind;
    uint32_t name_length;
    uint64_t length;
};

/* Reads the record at *at, and moves *at behind it. False: no whole record is left. */
static inline int bundle_record_take(const char **at, const char *end,
                                     struct bundle_head *ret_head, const char **ret_name,
                                     const char **ret_bytes)
{
    size_t left = (size_t)(end - *at);

    if (left < sizeof(*ret_head))
        return 0;
    __builtin_memcpy(ret_head, *at, sizeof(*ret_head));
    left -= sizeof(*ret_head);
    if (ret_head->name_length > left || ret_head->length > left - ret_head->name_length)
        return 0;
    *ret_name = *at + sizeof(*ret_head);
    *ret_bytes = *ret_name + ret_head->name_length;
    *at = *ret_bytes + ret_head->length;
    return 1;
}

#endif
