#ifndef RUNNEL_CORE_BLOB_S3_XML_H
#define RUNNEL_CORE_BLOB_S3_XML_H

#include <stdbool.h>
#include <stddef.h>

/*
 * s3_xml.h -- as much XML as S3's answers need. Only for core/blob.
 *
 * Elements are found by name, wherever they are. There is no tree and no recursion, and nothing is resolved but
 * the five entities of XML and characters by number. What is written in another way, such as CDATA,
 * is not found.
 *
 * Pure functions: any thread. The text may be anything.
 */

struct s3_span {
    const char *text; /* not NUL-terminated */
    size_t length;
};

/* The first element of that name: *ret_inner is between its tags, and *in continues behind it. False without
 * one; then nothing changes. */
bool s3_xml_next(struct s3_span *in, const char *name, struct s3_span *ret_inner);

/* The text of the first element of that name. False without one, if it has elements inside, an unknown
 * entity or a NUL, or does not fit; then *ret_text is undefined. */
bool s3_xml_text(struct s3_span in, const char *name, char *ret_text, size_t size);

#endif
