#ifndef RUNNEL_SERVER_HTTP_PARSE_FORM_BOUNDARY_H
#define RUNNEL_SERVER_HTTP_PARSE_FORM_BOUNDARY_H

/*
 * form_boundary.h -- the separator of the parts of a form: the parameter `boundary` of its
 * Content-Type.
 *
 * A pure function.
 */

#define FORM_BOUNDARY_LIMIT 70 /* characters: RFC 2046, section 5.1.1 */

/* The boundary in a type such as `multipart/form-data; charset=utf-8; boundary="a b"`, without
 * its quotes. NULL: it is missing, or given twice; it has too many characters, or one that is
 * not allowed; or the parameters cannot be separated. The caller frees. */
char *form_boundary(const char *type);

#endif
