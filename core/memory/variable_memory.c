/*
 * variable_memory.c -- variables in memory, under a limit that all responses of a node share.
 *
 * A response with "store": false must leave nothing in the database, but its tools need variables like any
 * other. So this file does what core/store/tables/threads/variables.c does in SQL, with the same results; a
 * test gives both the same commands and compares.
 *
 * The database bounds each scope. Memory needs more: many responses run at once, and clients decide how
 * much each of them keeps. Three limits hold together:
 *
 *   the response  VARIABLE_COUNT_LIMIT, VARIABLE_BYTES_LIMIT   as in the store; evicts
 *   the project   memory->project_limit, of its tenant         evicts, or refuses
 *   the node      budget->limit                                evicts, or refuses
 *
 * With only the node's limit, one project could fill it, and all others would lose what they wrote. A write
 * evicts from its own response alone. Evicting from another response would need its lock, and its model
 * has just read that these variables exist.
 *
 * Room is reserved before anything is written: reserve_locked() adds the bytes to both counters, then looks
 * whether the excess can be evicted, and gives the bytes back if not. Other responses do the same at the
 * same moment, on other threads, without a common lock. Adding first means that two writers may both
 * be refused where one would have had room, but never that both are admitted beyond the limit.
 *
 * The counters are atomic. The memory's own lock guards the variables. The budget's lock guards the table of
 * shares, and is taken only when a memory is made or freed. Neither is held while the other is taken.
 *
 * A memory has at most a thousand variables, so names are searched one by one: an index would cost more
 * than it saves. The array is in no order, and a removed variable is replaced by the last one. Pointers
 * into it are valid only until the next change.
 *
 * Nothing here survives a crash, and nothing must: a response that is not stored ends with its node.
 */

#include "core/memory/variable_memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/hash.h"
#include "core/base/json.h"
#include "core/base/lock.h"
#include "core/base/mem.h"
#include "core/domain/tenant.h"

struct variable_memory {
    struct lock lock;
    atomic_uint holders;
    struct variable_budget *budget;
    struct variable_share *share; /* held */
    size_t project_limit;         /* bytes of all memories of the project; 0: no limit */
    /* Guarded by lock: */
    struct variable *variables; /* in no order */
    size_t count;
    int64_t bytes; /* of the values */
};

/* ---- The share of a project ---- */

struct variable_share {
    struct variable_share *next; /* guarded by the budget's lock */
    size_t holders;              /* the same */
    atomic_size_t used;          /* bytes */
    char project[ID_SIZE];       /* the project's id */
};

/* Where the share of a project hangs, or would hang. */
static struct variable_share **share_at_locked(struct variable_budget *budget,
                                               const char project[ID_SIZE])
    REQUIRES(budget->lock)
{
    struct variable_share **at = &budget->shares[hash_text(project) % VARIABLE_SHARE_BUCKETS];

    while (*at && strcmp((*at)->project, project) != 0)
        at = &(*at)->next;
    return at;
}

static struct variable_share *share_hold(struct variable_budget *budget,
                                         const struct tenant *tenant)
{
    struct variable_share **at, *share;

    lock_acquire(&budget->lock);
    at = share_at_locked(budget, tenant->project);
    if (!*at) {
        *at = mem_new(struct variable_share);
        memcpy((*at)->project, tenant->project, sizeof(tenant->project));
    }
    share = *at;
    share->holders++;
    lock_release(&budget->lock);
    return share;
}

static void share_release(struct variable_budget *budget, struct variable_share *share)
{
    lock_acquire(&budget->lock);
    if (!--share->holders) {
        *share_at_locked(budget, share->project) = share->next;
        free(share);
    }
    lock_release(&budget->lock);
}

struct variable_memory *variable_memory_new(struct variable_budget *budget,
                                            const struct tenant *tenant)
{
    struct variable_memory *memory = mem_new(struct variable_memory);

    lock_init(&memory->lock, LOCK_VARIABLES);
    memory->budget = budget;
    memory->share = share_hold(budget, tenant);
    memory->project_limit = tenant->limits.variable_bytes;
    memory->holders = 1;
    return memory;
}

struct variable_memory *variable_memory_hold(struct variable_memory *memory)
{
    if (memory)
        memory->holders++;
    return memory;
}

/* ---- Counting and evicting ---- */

static size_t cost(size_t bytes, const char *description, const json_t *tags)
{
    return sizeof(struct variable) + bytes + (description ? strlen(description) : 0) +
           (tags ? json_dumpb(tags, NULL, 0, JSON_COMPACT) : 0);
}

/* The bytes for which a variable is counted while it exists. */
static size_t cost_of(const struct variable *variable)
{
    return cost((size_t)variable->bytes, variable->description, variable->tags);
}

/* The bytes after a change, of a variable that was found or, with NULL, will be made. */
static size_t cost_after(const struct variable *found, const struct variable_change *change)
{
    static const struct variable nothing;
    const struct variable *before = found ? found : &nothing;

    return cost(change->value ? strlen(change->value) : (size_t)before->bytes,
                change->description ? change->description : before->description,
                change->tags ? change->tags : before->tags);
}

static void give_back(struct variable_memory *memory, size_t amount)
{
    memory->share->used -= amount;
    memory->budget->used -= amount;
}

static size_t beyond(size_t used, size_t limit)
{
    return used > limit ? used - limit : 0;
}

/* The bytes by which the node or the project exceeds its limit, whichever is more. */
static size_t excess_of(const struct variable_memory *memory)
{
    size_t node = beyond(memory->budget->used, memory->budget->limit);
    size_t project =
        memory->project_limit ? beyond(memory->share->used, memory->project_limit) : 0;

    return node > project ? node : project;
}

/* The bytes that can be freed when a variable is written: those of variables that may be evicted, and of
 * `replaced`, the one that it replaces (or NULL). */
static size_t evictable_locked(const struct variable_memory *memory,
                               const struct variable *replaced) REQUIRES(memory->lock)
{
    size_t sum = 0;

    for (size_t i = 0; i < memory->count; i++) {
        const struct variable *variable = &memory->variables[i];

        if (!variable->keep || variable == replaced)
            sum += cost_of(variable);
    }
    return sum;
}

/* Counts the bytes of a write, if there is room or room can be made. Counts first and looks then: see the
 * top. */
static bool reserve_locked(struct variable_memory *memory, size_t amount,
                           const struct variable *replaced) REQUIRES(memory->lock)
{
    size_t excess;

    memory->share->used += amount;
    memory->budget->used += amount;
    excess = excess_of(memory);
    if (!excess || excess <= evictable_locked(memory, replaced))
        return true;
    give_back(memory, amount);
    return false;
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

/* A new variable; the name must be free. */
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
    memory->bytes -= variable->bytes;
    give_back(memory, cost_of(variable));
    variable_clear(variable);
    *variable = memory->variables[--memory->count];
}

static int later_first(int64_t a, int64_t b)
{
    return (a < b) - (a > b);
}

/* The most valuable first: marked to be kept, then last used, last changed, last made. The order of the
 * store's variables_evict; the name makes it definite. */
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
           excess_of(memory);
}

/* Evicts until all limits hold. `spared` is the name of the variable that was just written, or NULL: the
 * writer has been answered that it exists. */
static void evict_locked(struct variable_memory *memory, const char *spared)
    REQUIRES(memory->lock)
{
    if (!is_too_much_locked(memory))
        return;
    qsort(memory->variables, memory->count, sizeof(*memory->variables), by_worth);
    for (size_t i = memory->count; i-- > 0 && is_too_much_locked(memory);) {
        struct variable *variable = &memory->variables[i];

        if (variable->keep)
            break;
        if (!spared || strcmp(variable->name, spared) != 0)
            drop_locked(memory, variable);
    }
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
    share_release(memory->budget, memory->share);
    free(memory->variables);
    free(memory);
}

static bool add_locked(struct variable_memory *memory, struct variable *variable)
    REQUIRES(memory->lock)
{
    struct variable *slot = find_locked(memory, variable->name);
    char name[VARIABLE_NAME_LIMIT + 1];

    if (!reserve_locked(memory, cost_of(variable), slot)) {
        variable_clear(variable);
        return false;
    }
    memcpy(name, variable->name, sizeof(name));
    if (slot)
        drop_locked(memory, slot);
    slot = append_locked(memory, name);
    *slot = *variable;
    *variable = (struct variable){0};
    memory->bytes += slot->bytes;
    /* The new one may be the least valuable itself: then it is evicted, as it would be in the store. */
    evict_locked(memory, NULL);
    return find_locked(memory, name);
}

bool variable_memory_add(struct variable_memory *memory, struct variable *variable)
{
    bool added;

    variable->bytes = (int64_t)strlen(variable->value);
    variable->updated_at = variable->visited_at = variable->created_at;
    lock_acquire(&memory->lock);
    added = add_locked(memory, variable);
    lock_release(&memory->lock);
    return added;
}

enum err_code variable_memory_fill(struct variable_memory *memory, struct variable *variables,
                                   size_t count, struct err *err)
{
    bool all;

    for (size_t i = 0; i < count; i++)
        (void)variable_memory_add(memory, &variables[i]);
    lock_acquire(&memory->lock);
    all = memory->count == count; /* a later one may have evicted an earlier one */
    lock_release(&memory->lock);
    if (all)
        return ERR_OK;
    return err_refuse(err, ERR_LIMIT, REASON_BUSY, NULL,
                      "The variables of responses that are not stored take too much memory. "
                      "Please retry in a few seconds.");
}

/* ---- Reading ---- */

/* A copy without the value. A JSON tree belongs to one thread, so tags are copied as well. */
static struct variable copy_of(const struct variable *variable)
{
    struct variable copy = *variable;

    copy.value = NULL;
    copy.description = variable->description ? mem_strdup(variable->description) : NULL;
    copy.tags = variable->tags ? json_deep_copy(variable->tags) : NULL;
    return copy;
}

enum err_code variable_memory_get(const struct variable_access *access,
                                  const struct tenant *tenant, const char *name,
                                  enum variable_reading reading, struct variable *ret_variable,
                                  struct err *err)
{
    struct variable_memory *memory = access->memory;
    struct variable *found;

    (void)tenant;
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

static bool matches(const struct variable *variable, const struct variable_query *query)
{
    const char *described = variable->description ? variable->description : "";

    return (!query->type || strcmp(query->type, variable_type_name(variable->type)) == 0) &&
           (!query->search || strcasestr(variable->name, query->search) ||
            strcasestr(described, query->search)) &&
           (!query->tag || json_list_has(variable->tags, query->tag));
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

/* True if it comes after the query's cursor, in the query's direction. */
static bool comes_after(const struct variable *variable, const struct variable_query *query)
{
    int order = query->after ? strcmp(variable->name, query->after) : 1;

    return query->after && query->descending ? order < 0 : order > 0;
}

/* Reduces a sorted list to one page, and clears the rest. Returns the length of the page. */
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

enum err_code variable_memory_list(const struct variable_access *access,
                                   const struct tenant *tenant,
                                   const struct variable_query *query,
                                   struct variable **ret_variables, size_t *ret_count,
                                   int64_t *ret_total, struct err *err)
{
    struct variable_memory *memory = access->memory;
    struct variable *list;
    size_t count = 0;

    (void)tenant;
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

/* With `changed`, or with a new variable for NULL, marked to be kept. */
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

static enum err_code reserve_change_locked(struct variable_memory *memory,
                                           const struct variable *found,
                                           const struct variable_change *change,
                                           struct err *err) REQUIRES(memory->lock)
{
    if (reserve_locked(memory, cost_after(found, change), found))
        return ERR_OK;
    return err_set(
        err, ERR_LIMIT,
        "There is no room for variable '%s': the variables of responses that are not "
        "stored take too much memory. Write less, remove others, or retry later.",
        change->name);
}

/* Changes the variable, or makes it for NULL. Its new cost is reserved already, so only the old cost is
 * given back. */
static void put_locked(struct variable_memory *memory, struct variable *variable,
                       const struct variable_change *change) REQUIRES(memory->lock)
{
    if (variable) {
        memory->bytes -= variable->bytes;
        give_back(memory, cost_of(variable));
    } else {
        variable = append_locked(memory, change->name);
        variable->type = change->type;
        variable->created_at = clock_wall_us();
    }
    change_fields(variable, change);
    memory->bytes += variable->bytes;
    evict_locked(memory, change->name);
}

enum err_code variable_memory_put(const struct variable_access *access,
                                  const struct tenant *tenant,
                                  const struct variable_change *change, enum variable_put how,
                                  bool *ret_created, struct err *err)
{
    struct variable_memory *memory = access->memory;
    struct variable *variable;
    enum err_code rc;

    (void)tenant;
    lock_acquire(&memory->lock);
    variable = find_locked(memory, change->name);
    rc = check_locked(memory, variable, change, how, err);
    if (!rc)
        rc = reserve_change_locked(memory, variable, change, err);
    if (!rc) {
        *ret_created = !variable;
        put_locked(memory, variable, change);
    }
    lock_release(&memory->lock);
    return rc;
}

enum err_code variable_memory_remove(const struct variable_access *access,
                                     const struct tenant *tenant, const char *const *names,
                                     size_t count, json_t **ret_removed, struct err *err)
{
    struct variable_memory *memory = access->memory;

    (void)tenant;
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
