#include "core/model/call_name.h"

#include <string.h>

size_t call_name_length(const char *name)
{
    const char *mark = strstr(name, "<|");

    return mark && mark > name ? (size_t)(mark - name) : strlen(name);
}
