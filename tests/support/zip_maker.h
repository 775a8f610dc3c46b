#ifndef RUNNEL_TESTS_SUPPORT_ZIP_MAKER_H
#define RUNNEL_TESTS_SUPPORT_ZIP_MAKER_H

#include <archive.h>
#include <stddef.h>

#include "core/base/buf.h"

/*
 * zip_maker.h -- zip files of a test's own, also such as no honest program writes.
 *
 *     struct zip_maker zip;
 *
 *     zip_begin(&zip, &bytes, NULL);
 *     zip_add(&zip, "mimetype", "application/epub+zip");
 *     zip_end(&zip);
 */

struct zip_maker {
    struct archive *archive;
};

/* `options` are those of libarchive's writer, or NULL. The bytes are added to `bytes`. */
void zip_begin(struct zip_maker *zip, struct buf *bytes, const char *options);

void zip_add(struct zip_maker *zip, const char *name, const char *text);
void zip_add_bytes(struct zip_maker *zip, const char *name, const char *bytes, size_t length);

/* A part of many bytes: `length` times the letter. */
void zip_add_letters(struct zip_maker *zip, const char *name, char letter, size_t length);

/* A part that is put together: head, then `count` times the middle, then tail. */
void zip_add_repeated(struct zip_maker *zip, const char *name, const char *head,
                      const char *middle, size_t count, const char *tail);

void zip_end(struct zip_maker *zip);

/* A whole zip file of names and texts. */
struct zip_file {
    const char *name, *text;
};

void zip_of(struct buf *bytes, const struct zip_file *files, size_t count);

#endif
