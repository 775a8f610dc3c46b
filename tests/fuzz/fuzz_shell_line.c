/* Lines for bash: reading ends with words for any bytes, a forbidden command in front is always seen, and a line that
 * asks has patterns that can be stored. */

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "handlers/support/bash_class.h"
#include "handlers/support/shell_line.h"

static void check_commands(const char *text)
{
    struct shell_line line;

    shell_line_parse(text, &line);
    assert(line.count <= SHELL_COMMANDS_LIMIT);
    for (size_t i = 0; i < line.count; i++) {
        assert(line.commands[i].assignments <= line.commands[i].count);
        assert(line.commands[i].count || line.commands[i].redirect_count);
        for (size_t n = 0; n < line.commands[i].count; n++)
            assert(line.commands[i].words[n].text);
    }
    shell_line_clear(&line);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_FREE char *text = mem_strndup((const char *)data, size);
    AUTO_FREE char *sudo = mem_printf("sudo id; %s", text);
    struct bash_verdict verdict;

    check_commands(text);
    bash_classify(text, &verdict);
    assert((verdict.class == BASH_ASK) <= (verdict.patterns[0] != NULL));
    assert((verdict.class == BASH_DENY) == (verdict.head != NULL));
    bash_verdict_clear(&verdict);
    bash_classify(sudo, &verdict);
    assert(verdict.class == BASH_DENY);
    bash_verdict_clear(&verdict);
    return 0;
}
