#include "core/store/tables/vector_stores/filter_sql.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/base/buf.h"
#include "core/base/compiler.h"
#include "core/base/json.h"
#include "core/base/mem.h"

struct writing {
    struct buf path;
    json_t *values;
};

/* A string of JSON is one of jsonpath. */
static void add_key(struct writing *writing, const char *key)
{
    json_auto_t *name = json_string(key);
    AUTO_FREE char *quoted = json_dumps(name, JSON_ENCODE_ANY);

    buf_addf(&writing->path, "$.%s", quoted ? quoted : "\"\"");
}

static void add_comparison(struct writing *writing, const struct filter *filter)
{
    static const char *const operators[FILTER_TYPES] = {
        [FILTER_EQ] = "==", [FILTER_NE] = "==",  [FILTER_GT] = ">",  [FILTER_GTE] = ">=",
        [FILTER_LT] = "<",  [FILTER_LTE] = "<=", [FILTER_IN] = "==", [FILTER_NIN] = "==",
    };
    bool opposite = filter->type == FILTER_NE || filter->type == FILTER_NIN;
    bool several = filter->type == FILTER_IN || filter->type == FILTER_NIN;
    char name[24];

    (void)snprintf(name, sizeof(name), "v%zu", json_object_size(writing->values));
    json_object_set(writing->values, name, filter->value);
    buf_add_text(&writing->path, opposite ? "(!exists(" : "exists(");
    add_key(writing, filter->key);
    buf_addf(&writing->path, " ? (@ %s $%s%s))%s", operators[filter->type], name,
             several ? "[*]" : "", opposite ? ")" : "");
}

static void add_filter(struct writing *writing, const struct filter *filter)
{
    if (filter->type != FILTER_AND && filter->type != FILTER_OR) {
        add_comparison(writing, filter);
        return;
    }
    buf_add_text(&writing->path, "(");
    for (size_t i = 0; i < filter->count; i++) {
        if (i)
            buf_add_text(&writing->path, filter->type == FILTER_AND ? " && " : " || ");
        add_filter(writing, &filter->children[i]);
    }
    buf_add_text(&writing->path, ")");
}

void filter_sql_make(const struct filter *filter, struct filter_sql *ret_sql)
{
    struct writing writing = {.values = json_object()};

    add_filter(&writing, filter);
    ret_sql->path = buf_take(&writing.path);
    ret_sql->values = json_text(writing.values);
    json_decref(writing.values);
}

void filter_sql_clear(struct filter_sql *sql)
{
    free(sql->path);
    free(sql->values);
    *sql = (struct filter_sql){0};
}
