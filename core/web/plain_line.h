#ifndef RUNNEL_CORE_WEB_PLAIN_LINE_H
#define RUNNEL_CORE_WEB_PLAIN_LINE_H

/*
 * plain_line.h -- a title or a passage of a stranger as one line of plain text. Pure.
 *
 * Services of web search mark the words that were found with tags (<strong>), and escape the rest for a page of HTML.
 * Tags are removed, character references become their characters, and blanks, line ends and control characters become
 * one blank. A "<" that begins no tag stays.
 */

/* The caller frees. NULL gives "". */
char *plain_line(const char *text);

#endif
