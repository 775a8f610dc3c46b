#ifndef RUNNEL_CORE_CONTAINER_DRIVER_H
#define RUNNEL_CORE_CONTAINER_DRIVER_H

#include <stddef.h>

/*
 * driver.h -- driver.py, as bytes of this program.
 */

/* Constants. */
const char *driver_text(void);
size_t driver_size(void);

#endif
