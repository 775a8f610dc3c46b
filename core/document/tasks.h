#ifndef RUNNEL_CORE_DOCUMENT_TASKS_H
#define RUNNEL_CORE_DOCUMENT_TASKS_H

#include <stddef.h>

/*
 * tasks.h -- what a compute child does for each type of document. document.h has the list that children are started
 * with. Each task reads the file at descriptor 0, writes text to descriptor 1, and ends with an enum reading.
 */

/* The programs among the readers. */
#define TASK_PDF_PROGRAM "/usr/bin/pdftotext"
#define TASK_RTF_PROGRAM "/usr/bin/unrtf"
#define TASK_DOC_PROGRAM "/usr/bin/antiword"

/* The bytes at descriptor 0. NULL: they cannot be read. For the rest of the process. */
const char *task_input(size_t *ret_length);
/* Writes to descriptor 1; an enum reading. */
int task_output(const char *bytes, size_t length);

/* The child becomes a program of the system. Returns only if it cannot: an enum reading. */
int task_become(const char *path, const char *const *arguments);

int task_html(void);
int task_pdf(void);
int task_csv(void);
int task_xml(void);
int task_office(void);
int task_rtf(void);
int task_doc(void);
int task_pictures(void); /* of a PDF's pages: PNG files, and no text */

#endif
