#include "server/config/retrieval.h"

#include "core/base/json.h"
#include "core/model/tokens/tokenizer.h"

void config_retrieval_read(const json_t *section, struct config_retrieval *ret_retrieval)
{
    *ret_retrieval = (struct config_retrieval){
        .file = json_get_string(section, "tokenizer", NULL),
        .split = json_get_string(section, "tokenizer_split", NULL),
    };
}

static size_t count(const void *tokenizer, const char *text, size_t length)
{
    return (size_t)tokenizer_count(tokenizer, text, length);
}

enum err_code config_retrieval_load(struct config_retrieval *retrieval, struct err *err)
{
    struct err why;

    if (!retrieval->file)
        return ERR_OK;
    if (tokenizer_load(retrieval->file, retrieval->split, &retrieval->tokenizer, &why))
        return err_set(err, ERR_INVALID, "retrieval.tokenizer: %s", why.text);
    retrieval->counter = (struct token_counter){.count = count, .arg = retrieval->tokenizer};
    return ERR_OK;
}

void config_retrieval_clear(struct config_retrieval *retrieval)
{
    tokenizer_free(retrieval->tokenizer);
    *retrieval = (struct config_retrieval){0};
}
