#include "core/base/base64.h"

#include <sodium.h>
#include <stdbool.h>
#include <stdlib.h>

#include "core/base/mem.h"

/* libsodium takes padding or refuses it; clients send either. So the padding is cut off first. */
char *base64_decode(const char *text, size_t length, size_t *ret_length)
{
    AUTO_FREE char *bytes = mem_new_array(char, length / 4 * 3 + 4);
    size_t padding = 0;

    while (padding < 2 && padding < length && text[length - 1 - padding] == '=')
        padding++;
    if (sodium_base642bin((unsigned char *)bytes, length / 4 * 3 + 3, text, length - padding,
                          NULL, ret_length, NULL,
                          sodium_base64_VARIANT_ORIGINAL_NO_PADDING) != 0)
        return NULL;
    return TAKE(bytes);
}

/* libsodium ends its text with a NUL, which has room in the buffer and does not count. */
void base64_add(struct buf *text, const void *bytes, size_t length)
{
    size_t size = sodium_base64_ENCODED_LEN(length, sodium_base64_VARIANT_ORIGINAL);

    sodium_bin2base64(buf_reserve(text, size), size, bytes, length,
                      sodium_base64_VARIANT_ORIGINAL);
    buf_added(text, size - 1);
}
