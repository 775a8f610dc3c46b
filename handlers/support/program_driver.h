#ifndef RUNNEL_HANDLERS_SUPPORT_PROGRAM_DRIVER_H
#define RUNNEL_HANDLERS_SUPPORT_PROGRAM_DRIVER_H

/* The text of program_driver.js, a part of this program. */
const char *program_driver_text(void);

#endif
