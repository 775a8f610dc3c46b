#include "core/document/office/late_library.h"

#include <dlfcn.h>
#include <string.h>

bool late_library_load(const char *library, const char *const *names, size_t count,
                       void *ret_pointers)
{
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);

    for (size_t i = 0; handle && i < count; i++) {
        void *function = dlsym(handle, names[i]);

        if (!function)
            return false;
        /* POSIX promises that the two kinds of pointers are alike, and C does not. */
        memcpy((char *)ret_pointers + i * sizeof(function), &function, sizeof(function));
    }
    return handle != NULL;
}
