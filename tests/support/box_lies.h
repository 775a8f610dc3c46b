#ifndef RUNNEL_TESTS_SUPPORT_BOX_LIES_H
#define RUNNEL_TESTS_SUPPORT_BOX_LIES_H

/* What a first process of a box says that has been taken over. Descriptors come with each of its messages. */
enum box_lie {
    LIE_AT_START = 1,  /* noise, before it is up */
    LIE_ABOUT_VERSION, /* up, in another version */
    LIE_SHORT,         /* an end of a command that is cut off */
    LIE_LONG,          /* one that is too long */
    LIE_FLOOD,         /* a hundred messages of noise */
    LIE_SILENCE,       /* it ends */
    LIE_STRANGE,       /* numbers that no end of a command has */
    LIE_TWICE,         /* two ends of one command, and noise */
    LIE_ENDLESS,       /* ends of one command, for as long as it lives */
    LIE_DEAF,          /* it reads no command */
};

#endif
