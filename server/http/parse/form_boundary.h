#ifndef RUNNEL_SERVER_HTTP_PARSE_FORM_BOUNDARY_H
#define RUNNEL_SERVER_HTTP_PARSE_FORM_BOUNDARY_H

/*
 * form_boundary.h -- what separates the parts of a form: the parameter `boundary` of its Content-Type.
 *
 * A pure function.
 */

#define FORM_BOUNDARY_LIMIT 70 /* characters: RFC 2046, section 5.1.1 */

/* The boundary in a type such as `multipart/form-data; charset=utf-8; boundary="a b"`, without its quotes.
 * NULL: there is none, it is given twice, holds a character that none may have or too many, or the
 * parameters cannot be told apart. The caller frees. */
char *form_boundary(const char *type);

#endif
