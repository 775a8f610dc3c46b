#include "core/container/driver.h"

__asm__(".pushsection .rodata\n"
        "driver_begin: .incbin \"" DRIVER "\"\n"
        "driver_end:\n"
        ".popsection\n");

extern const char driver_begin[] __attribute__((visibility("hidden")));
extern const char driver_end[] __attribute__((visibility("hidden")));

const char *driver_text(void)
{
    return driver_begin;
}

size_t driver_size(void)
{
    return (size_t)(driver_end - driver_begin);
}
