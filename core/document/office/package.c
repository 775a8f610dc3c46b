/*
 * package.c -- libarchive's reader of zip files, with a count of what comes out.
 *
 * The reader that seeks takes the entries from the directory at the end of the file, as office programs do. What
 * lies between them, and what the head of an entry says against the directory, is not believed.
 */

#include "core/document/office/package.h"

#include <archive.h>
#include <archive_entry.h>
#include <locale.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/document/office/late_library.h"

#define READ_SIZE ((size_t)64 * 1024)

/* clang-format off */
#define CALLS(X) \
    X(archive_read_new) X(archive_read_free) X(archive_read_support_format_zip_seekable) \
    X(archive_read_open_memory) X(archive_read_next_header) X(archive_read_data) \
    X(archive_entry_pathname) X(archive_entry_pathname_utf8) X(archive_entry_is_data_encrypted)
/* clang-format on */

static struct {
    CALLS(LATE_POINTER)
} lib;

static bool load_library(void)
{
    static const char *const names[] = {CALLS(LATE_NAME)};

    if (lib.archive_read_new)
        return true;
    /* libarchive knows names in the encoding of the locale only. */
    (void)setlocale(LC_CTYPE, "C.UTF-8");
    return late_library_load("libarchive.so.13", names, COUNT_OF(names), &lib);
}

/* ---- Entries ---- */

struct package_entry {
    struct package *package;
    struct archive *archive;
    struct archive_entry *head;
    const char *name;
};

static bool fail(struct package *package, enum reading problem)
{
    if (!package->problem)
        package->problem = problem;
    return false;
}

const char *package_entry_name(const struct package_entry *entry)
{
    return entry->name;
}

static bool is_too_much(const struct package *package)
{
    return package->unpacked > PACKAGE_UNPACKED_MAX ||
           (package->unpacked > PACKAGE_RATIO_FROM &&
            package->unpacked / PACKAGE_RATIO_MAX > package->length);
}

long package_entry_read(void *arg, char *room, size_t size)
{
    struct package_entry *entry = arg;
    struct package *package = entry->package;
    long got;

    if (package->problem)
        return -1;
    if (lib.archive_entry_is_data_encrypted(entry->head)) {
        fail(package, READING_ENCRYPTED);
        return -1;
    }
    got = (long)lib.archive_read_data(entry->archive, room, size);
    if (got < 0) {
        fail(package, READING_DAMAGED);
        return -1;
    }
    package->unpacked += (uint64_t)got;
    if (is_too_much(package)) {
        fail(package, READING_TOO_LARGE);
        return -1;
    }
    return got;
}

bool package_entry_load(struct package_entry *entry, struct buf *ret_bytes)
{
    long got;

    do {
        got = package_entry_read(entry, buf_reserve(ret_bytes, READ_SIZE), READ_SIZE);
        if (got > 0)
            buf_added(ret_bytes, (size_t)got);
        if (ret_bytes->length > PACKAGE_PART_MAX)
            return fail(entry->package, READING_TOO_LARGE);
    } while (got > 0);
    return got == 0;
}

/* ---- The walk ---- */

static void walk(struct package *package, struct archive *archive, package_visit *visit,
                 void *arg)
{
    struct package_entry entry = {.package = package, .archive = archive};

    for (size_t count = 0; !package->problem; count++) {
        int rc = lib.archive_read_next_header(archive, &entry.head);

        if (rc == ARCHIVE_EOF)
            return;
        /* A warning is about an attribute that no reader here looks at. */
        if (rc < ARCHIVE_WARN) {
            fail(package, READING_DAMAGED);
            return;
        }
        if (count == PACKAGE_ENTRIES_MAX) {
            fail(package, READING_TOO_LARGE);
            return;
        }
        entry.name = lib.archive_entry_pathname_utf8(entry.head);
        if (!entry.name)
            entry.name = lib.archive_entry_pathname(entry.head);
        if (entry.name && !visit(arg, &entry))
            return;
    }
}

enum reading package_walk(struct package *package, package_visit *visit, void *arg)
{
    struct archive *archive;

    if (!load_library())
        return READING_NO_READER;
    archive = lib.archive_read_new();
    if (lib.archive_read_support_format_zip_seekable(archive) == ARCHIVE_OK &&
        lib.archive_read_open_memory(archive, package->bytes, package->length) == ARCHIVE_OK)
        walk(package, archive, visit, arg);
    else
        fail(package, READING_DAMAGED);
    lib.archive_read_free(archive);
    return package->problem;
}

struct search {
    const char *name;
    package_visit *visit;
    void *arg;
    bool found;
};

static bool visit_if_named(void *arg, struct package_entry *entry)
{
    struct search *search = arg;

    search->found = strcmp(entry->name, search->name) == 0;
    if (search->found)
        (void)search->visit(search->arg, entry);
    return !search->found;
}

enum reading package_visit_one(struct package *package, const char *name, package_visit *visit,
                               void *arg)
{
    struct search search = {.name = name, .visit = visit, .arg = arg};
    enum reading problem = package_walk(package, visit_if_named, &search);

    return !problem && !search.found ? READING_INCOMPLETE : problem;
}

/* ---- Names ---- */

/* Drops the last step of a path that ends with a slash, or is empty. */
static void drop_step(struct buf *path)
{
    if (path->length)
        path->length--;
    while (path->length && path->data[path->length - 1] != '/')
        path->length--;
}

char *package_resolve(const char *base, const char *target)
{
    const char *slash = strrchr(base, '/');
    struct buf path = {0};

    if (*target != '/' && slash)
        buf_add(&path, base, (size_t)(slash - base) + 1);
    while (*target) {
        size_t length = strcspn(target, "/");

        if (length == 2 && memcmp(target, "..", 2) == 0)
            drop_step(&path);
        else if (length && !(length == 1 && *target == '.'))
            buf_add(&path, target, length + (target[length] == '/'));
        target += length + (target[length] == '/');
    }
    buf_add_char(&path, '\0');
    return buf_take(&path);
}

/* ---- Parts ---- */

void *package_room(void *list, size_t count, size_t size)
{
    bool full = (count & (count - 1)) == 0;

    return full ? mem_resize(list, count ? 2 * count : 1, size) : list;
}

bool package_parts_add(struct package_parts *parts, char *name)
{
    if (parts->count == PACKAGE_ENTRIES_MAX) {
        free(name);
        return false;
    }
    parts->list = package_room(parts->list, parts->count, sizeof(*parts->list));
    parts->list[parts->count++] = (struct package_part){.name = name};
    return true;
}

static int compare_names(const void *left, const void *right)
{
    const struct package_part *const *a = left, *const *b = right;

    return strcmp((*a)->name, (*b)->name);
}

/* Of parts with one name, the first one in the document comes first. */
static int compare_parts(const void *left, const void *right)
{
    const struct package_part *const *a = left, *const *b = right;
    int order = compare_names(left, right);

    return order ? order : (*a > *b) - (*a < *b);
}

void package_parts_sort(struct package_parts *parts)
{
    size_t kept = 0;

    parts->by_name = mem_new_array(struct package_part *, parts->count + 1);
    for (size_t i = 0; i < parts->count; i++)
        parts->by_name[i] = &parts->list[i];
    qsort(parts->by_name, parts->count, sizeof(*parts->by_name), compare_parts);
    for (size_t i = 0; i < parts->count; i++) {
        if (!kept || compare_names(&parts->by_name[kept - 1], &parts->by_name[i]) != 0)
            parts->by_name[kept++] = parts->by_name[i];
    }
    parts->names = kept;
}

struct package_part *package_parts_find(const struct package_parts *parts, const char *name)
{
    struct package_part key = {.name = (char *)(uintptr_t)name}, *wanted = &key, **found;

    found =
        bsearch(&wanted, parts->by_name, parts->names, sizeof(*parts->by_name), compare_names);
    return found ? *found : NULL;
}

void package_parts_clear(struct package_parts *parts)
{
    for (size_t i = 0; i < parts->count; i++) {
        free(parts->list[i].name);
        buf_clear(&parts->list[i].text);
    }
    free(parts->list);
    free(parts->by_name);
    *parts = (struct package_parts){0};
}
