#include "core/tool/variable_memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/lock.h"
#include "core/base/mem.h"

struct variable_memory {
    struct lock lock;
    atomic_uint holders;
    struct variable_budget *budget;
    struct variable *variables; /* guarded by lock, as what follows; in no order */
    size_t count;
    int64_t bytes; /* of the values */
};

struct variable_memory *variable_memory_new(struct variable_budget *budget)
{
    struct variable_memory *memory = mem_new(struct variable_memory);

    lock_init(&memory->lock, LOCK_VARIABLES);
    memory->budget = budget;
    memory->holders = 1;
    return memory;
}

struct variable_memory *variable_memory_hold(struct variable_memory *memory)
{
    if (memory)
        memory->holders++;
    return memory;
}

/* ---- What it has, under its lock ---- */

/* What a variable costs, counted while it is there. */
static size_t cost_of(const struct variable *variable)
{
    size_t described = variable->description ? strlen(variable->description) : 0;
    size_t tagged = variable->tags ? json_dumpb(variable->tags, NULL, 0, JSON_COMPACT) : 0;

    return sizeof(*variable) + (size_t)variable->bytes + described + tagged;
}

static void count_in_locked(struct variable_memory *memory, const struct variable *variable)
    REQUIRES(memory->lock)
{
    memory->bytes += variable->bytes;
    memory->budget->used += cost_of(variable);
}

static void count_out_locked(struct variable_memory *memory, const struct variable *variable)
    REQUIRES(memory->lock)
{
    memory->bytes -= variable->bytes;
    memory->budget->used -= cost_of(variable);
}

static struct variable *find_locked(const struct variable_memory *memory, const char *name)
    REQUIRES(memory->lock)
{
    for (size_t i = 0; i < memory->count; i++) {
        if (strcmp(memory->variables[i].name, name) == 0)
            return &memory->variables[i];
    }
    return NULL;
}

/* A new one of that name, which nothing has. */
static struct variable *append_locked(struct variable_memory *memory, const char *name)
    REQUIRES(memory->lock)
{
    struct variable *variable;

    memory->variables =
        mem_resize(memory->variables, memory->count + 1, sizeof(*memory->variables));
    variable = &memory->variables[memory->count++];
    *variable = (struct variable){0};
    (void)snprintf(variable->name, sizeof(variable->name), "%s", name);
    return variable;
}

static void drop_locked(struct variable_memory *memory, struct variable *variable)
    REQUIRES(memory->lock)
{
    count_out_locked(memory, variable);
    variable_clear(variable);
    *variable = memory->variables[--memory->count];
}

static int later_first(int64_t a, int64_t b)
{
    return (a < b) - (a > b);
}

/* The order in which they are worth keeping: what is kept, what was used last, ... */
static int by_worth(const void *left, const void *right)
{
    const struct variable *a = left, *b = right;
    int order = b->keep - a->keep;

    if (!order)
        order = later_first(a->visited_at, b->visited_at);
    if (!order)
        order = later_first(a->updated_at, b->updated_at);
    if (!order)
        order = later_first(a->created_at, b->created_at);
    return order ? order : strcmp(a->name, b->name);
}

static bool is_too_much_locked(const struct variable_memory *memory) REQUIRES(memory->lock)
{
    return memory->count > VARIABLE_COUNT_LIMIT || memory->bytes > VARIABLE_BYTES_LIMIT ||
           memory->budget->used > memory->budget->limit;
}

static void evict_locked(struct variable_memory *memory) REQUIRES(memory->lock)
{
    if (!is_too_much_locked(memory))
        return;
    qsort(memory->variables, memory->count, sizeof(*memory->variables), by_worth);
    while (memory->count && !memory->variables[memory->count - 1].keep &&
           is_too_much_locked(memory))
        drop_locked(memory, &memory->variables[memory->count - 1]);
}

void variable_memory_release(struct variable_memory *memory)
{
    if (!memory || --memory->holders)
        return;
    lock_acquire(&memory->lock);
    while (memory->count)
        drop_locked(memory, &memory->variables[memory->count - 1]);
    lock_release(&memory->lock);
    lock_destroy(&memory->lock);
    free(memory->variables);
    free(memory);
}

void variable_memory_add(struct variable_memory *memory, struct variable *variable)
{
    struct variable *there;

    variable->bytes = (int64_t)strlen(variable->value);
    variable->updated_at = variable->visited_at = variable->created_at;
    lock_acquire(&memory->lock);
    there = find_locked(memory, variable->name);
    if (there)
        drop_locked(memory, there);
    there = append_locked(memory, variable->name);
    *there = *variable;
    *variable = (struct variable){0};
    count_in_locked(memory, there);
    evict_locked(memory);
    lock_release(&memory->lock);
}

/* ---- Reading ---- */

/* All but the value. A tree belongs to one thread, so tags are copied, too. */
static struct variable copy_of(const struct variable *variable)
{
    struct variable copy = *variable;

    copy.value = NULL;
    copy.description = variable->description ? mem_strdup(variable->description) : NULL;
    copy.tags = variable->tags ? json_deep_copy(variable->tags) : NULL;
    return copy;
}

enum err_code variable_memory_get(const struct variable_access *access, const char *project,
                                  const char *name, enum variable_reading reading,
                                  struct variable *ret_variable, struct err *err)
{
    struct variable_memory *memory = access->memory;
    struct variable *found;

    (void)project;
    lock_acquire(&memory->lock);
    found = find_locked(memory, name);
    if (found) {
        *ret_variable = copy_of(found);
        ret_variable->value = mem_strdup(found->value);
    }
    if (found && reading == VARIABLE_READ) {
        found->visited_at = clock_wall_us();
        found->reads++;
    }
    lock_release(&memory->lock);
    return found ? ERR_OK : variable_not_found(name, err);
}

static bool has_tag(const struct variable *variable, const char *wanted)
{
    const json_t *tag;
    size_t i;

    json_array_foreach (variable->tags, i, tag) {
        if (strcmp(json_string_value(tag), wanted) == 0)
            return true;
    }
    return false;
}

static bool matches(const struct variable *variable, const struct variable_query *query)
{
    const char *described = variable->description ? variable->description : "";

    return (!query->type || strcmp(query->type, variable_type_name(variable->type)) == 0) &&
           (!query->search || strcasestr(variable->name, query->search) ||
            strcasestr(described, query->search)) &&
           (!query->tag || has_tag(variable, query->tag));
}

static int by_name(const void *left, const void *right)
{
    return strcmp(((const struct variable *)left)->name,
                  ((const struct variable *)right)->name);
}

static int by_name_down(const void *left, const void *right)
{
    return by_name(right, left);
}

/* Is it further on in the list than where the question goes on from? */
static bool comes_after(const struct variable *variable, const struct variable_query *query)
{
    int order = query->after ? strcmp(variable->name, query->after) : 1;

    return query->after && query->descending ? order < 0 : order > 0;
}

/* The page of a sorted list: what is not on it goes. */
static size_t take_page(struct variable *list, size_t count, const struct variable_query *query)
{
    int64_t skipped = 0;
    size_t taken = 0;

    for (size_t i = 0; i < count; i++) {
        bool wanted = comes_after(&list[i], query) && skipped++ >= query->skip &&
                      (int64_t)taken < query->limit;

        if (wanted)
            list[taken++] = list[i];
        else
            variable_clear(&list[i]);
    }
    return taken;
}

enum err_code variable_memory_list(const struct variable_access *access, const char *project,
                                   const struct variable_query *query,
                                   struct variable **ret_variables, size_t *ret_count,
                                   int64_t *ret_total, struct err *err)
{
    struct variable_memory *memory = access->memory;
    struct variable *list;
    size_t count = 0;

    (void)project;
    (void)err;
    lock_acquire(&memory->lock);
    list = mem_new_array(struct variable, memory->count + 1);
    for (size_t i = 0; i < memory->count; i++) {
        if (matches(&memory->variables[i], query))
            list[count++] = copy_of(&memory->variables[i]);
    }
    lock_release(&memory->lock);
    qsort(list, count, sizeof(*list), query->descending ? by_name_down : by_name);
    *ret_total = (int64_t)count;
    *ret_count = take_page(list, count, query);
    *ret_variables = list;
    return ERR_OK;
}

/* ---- Writing ---- */

static bool keeps_too_many_locked(const struct variable_memory *memory,
                                  const struct variable *changed) REQUIRES(memory->lock)
{
    int kept = 1;

    for (size_t i = 0; i < memory->count; i++)
        kept += memory->variables[i].keep && &memory->variables[i] != changed;
    return kept > VARIABLE_KEEP_LIMIT;
}

static enum err_code check_locked(const struct variable_memory *memory,
                                  const struct variable *found,
                                  const struct variable_change *change, enum variable_put how,
                                  struct err *err) REQUIRES(memory->lock)
{
    bool has_value = change->value && *change->value;

    if (found ? how == VARIABLE_CREATE : how == VARIABLE_UPDATE || !has_value)
        return variable_not_put(change, how, err);
    if (change->keep && *change->keep && keeps_too_many_locked(memory, found))
        return variable_keeps_too_many(err);
    return ERR_OK;
}

static void replace_text(char **text, const char *with)
{
    if (!with)
        return;
    free(*text);
    *text = mem_strdup(with);
}

static void change_fields(struct variable *variable, const struct variable_change *change)
{
    replace_text(&variable->value, change->value);
    replace_text(&variable->description, change->description);
    if (change->value)
        variable->plain = change->plain;
    if (change->keep)
        variable->keep = *change->keep;
    if (change->tags) {
        json_decref(variable->tags);
        variable->tags = json_deep_copy(change->tags);
    }
    variable->length = (int64_t)variable_length(variable->value);
    variable->bytes = (int64_t)strlen(variable->value);
    variable->updated_at = variable->visited_at = clock_wall_us();
}

enum err_code variable_memory_put(const struct variable_access *access, const char *project,
                                  const struct variable_change *change, enum variable_put how,
                                  bool *ret_created, struct err *err)
{
    struct variable_memory *memory = access->memory;
    struct variable *variable;
    enum err_code rc;

    (void)project;
    lock_acquire(&memory->lock);
    variable = find_locked(memory, change->name);
    rc = check_locked(memory, variable, change, how, err);
    if (!rc) {
        *ret_created = !variable;
        if (variable) {
            count_out_locked(memory, variable);
        } else {
            variable = append_locked(memory, change->name);
            variable->type = change->type;
            variable->created_at = clock_wall_us();
        }
        change_fields(variable, change);
        count_in_locked(memory, variable);
        evict_locked(memory);
    }
    lock_release(&memory->lock);
    return rc;
}

enum err_code variable_memory_remove(const struct variable_access *access, const char *project,
                                     const char *const *names, size_t count,
                                     json_t **ret_removed, struct err *err)
{
    struct variable_memory *memory = access->memory;

    (void)project;
    (void)err;
    *ret_removed = json_array();
    lock_acquire(&memory->lock);
    for (size_t i = 0; i < count; i++) {
        struct variable *variable = find_locked(memory, names[i]);

        if (!variable || variable->keep)
            continue;
        drop_locked(memory, variable);
        json_array_append_new(*ret_removed, json_string(names[i]));
    }
    lock_release(&memory->lock);
    return ERR_OK;
}
