#ifndef RUNNEL_CORE_DOCUMENT_OFFICE_PACKAGE_H
#define RUNNEL_CORE_DOCUMENT_OFFICE_PACKAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/document/reading.h"

/*
 * package.h -- the parts of a document that is a zip file: Office, OpenDocument and EPUB.
 *
 * A package is walked: its entries come in the order in which they lie in the file, and a visitor reads those that it
 * wants. So a document with ten thousand parts is read in a few walks, in any order. Names are keys and
 * never paths of this machine; nothing is written to disk.
 *
 * The bytes of a small file can stand for an endless text. So a package has limits: see below. Beyond them nothing
 * more is read, and the walk ends with READING_TOO_LARGE. For compute children.
 */

#define PACKAGE_ENTRIES_MAX ((size_t)10000)
#define PACKAGE_UNPACKED_MAX \
    ((uint64_t)1 << 30) /* bytes that were read of all parts together */
#define PACKAGE_RATIO_MAX \
    ((uint64_t)200) /* of these to the bytes of the package; counts from 16 MiB on */
#define PACKAGE_RATIO_FROM ((uint64_t)16 << 20)
#define PACKAGE_PART_MAX \
    ((size_t)64 << 20) /* bytes of a part that must be in memory as a whole */

struct package {
    const char *bytes; /* borrowed */
    size_t length;

    uint64_t unpacked;    /* until now */
    enum reading problem; /* the first one; stays */
};

/* An entry during its visit. */
struct package_entry;

const char *package_entry_name(const struct package_entry *entry);

/* The next bytes of an entry; 0 at its end, -1 after a problem. The type fits an xml_source: `entry` is a
 * struct package_entry. */
long package_entry_read(void *entry, char *room, size_t size);

/* All bytes of an entry, at most PACKAGE_PART_MAX. False after a problem. */
bool package_entry_load(struct package_entry *entry, struct buf *ret_bytes);

/* Visits each entry until the visitor returns false. Returns the problem of the package, if it has one. */
typedef bool package_visit(void *arg, struct package_entry *entry);
enum reading package_walk(struct package *package, package_visit *visit, void *arg);

/* Visits the entry of this name. READING_INCOMPLETE: no entry has it. */
enum reading package_visit_one(struct package *package, const char *name, package_visit *visit,
                               void *arg);

/* The name of the part to which a part refers: `target` as it stands in `base`, without "." and "..". The caller
 * frees it. */
char *package_resolve(const char *base, const char *target);

/* Room for one more in a list of `count`, which doubles when it is full. */
void *package_room(void *list, size_t count, size_t size);

/* ---- Parts that are read in one order and written in another ---- */

/* A part and what its reader has made of it. */
struct package_part {
    char *name;
    struct buf text;
};

struct package_parts {
    struct package_part *list; /* in the order of the document */
    size_t count;
    struct package_part **by_name; /* after package_parts_sort(): the first one of each name */
    size_t names;
};

/* Adds a part; takes the name. False: there are PACKAGE_ENTRIES_MAX. */
bool package_parts_add(struct package_parts *parts, char *name);
void package_parts_sort(struct package_parts *parts);
struct package_part *package_parts_find(const struct package_parts *parts, const char *name);
void package_parts_clear(struct package_parts *parts);

#endif
