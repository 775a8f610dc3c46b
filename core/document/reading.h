#ifndef RUNNEL_CORE_DOCUMENT_READING_H
#define RUNNEL_CORE_DOCUMENT_READING_H

/*
 * reading.h -- how the reading of a document ended, in the child. It is the child's exit status, and document.c has a
 * sentence for each.
 */

enum reading {
    READING_DONE = 0,
    READING_DAMAGED = 1,     /* also what a program of the system ends with */
    READING_INCOMPLETE = 64, /* a part that the type must have is missing */
    READING_ENCRYPTED = 65,
    READING_TOO_LARGE = 66,   /* a limit of package.h */
    READING_NO_DOCUMENT = 67, /* a container of something else */
    READING_NO_READER = 127,  /* a program or library is not installed here */
};

#endif
