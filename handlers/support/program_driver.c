#include "handlers/support/program_driver.h"

__asm__(".pushsection .rodata\n"
        "program_driver_begin: .incbin \"" PROGRAM_DRIVER "\"\n"
        ".byte 0\n"
        ".popsection\n");

extern const char program_driver_begin[] __attribute__((visibility("hidden")));

const char *program_driver_text(void)
{
    return program_driver_begin;
}
