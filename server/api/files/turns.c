#include "server/api/files/turns.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/lock.h"
#include "core/base/mem.h"

struct turns {
    struct lock lock;
    struct turn *first; /* guarded by lock; first come, first served */
};

struct turns *turns_new(void)
{
    struct turns *turns = mem_new(struct turns);

    lock_init(&turns->lock, LOCK_TURNS);
    return turns;
}

void turns_free(struct turns *turns)
{
    if (!turns)
        return;
    lock_destroy(&turns->lock);
    free(turns);
}

static bool are_alike(const struct turn *one, const struct turn *other)
{
    return strcmp(one->id, other->id) == 0 && strcmp(one->project, other->project) == 0;
}

/* Appends it, at work unless one like it is. False if its project has too many. */
static bool append_locked(struct turns *turns, struct turn *turn) REQUIRES(turns->lock)
{
    struct turn **end = &turns->first;
    size_t count = 0;

    turn->at_work = true;
    for (; *end; end = &(*end)->next) {
        count += strcmp((*end)->project, turn->project) == 0;
        if (are_alike(*end, turn))
            turn->at_work = false;
    }
    if (count >= TURNS_LIMIT)
        return false;
    turn->next = NULL;
    *end = turn;
    return true;
}

enum err_code turns_take(struct turns *turns, struct workers *workers, struct turn *turn,
                         const struct tenant *tenant, const char *id, struct work *work,
                         struct err *err)
{
    bool taken, at_work;

    memcpy(turn->project, tenant->project, sizeof(turn->project));
    memcpy(turn->id, id, strlen(id) + 1);
    turn->work = work;
    lock_acquire(&turns->lock);
    taken = append_locked(turns, turn);
    at_work = turn->at_work;
    lock_release(&turns->lock);
    if (!taken)
        return err_refuse(err, ERR_LIMIT, REASON_BUSY, NULL,
                          "Too many uploads are being completed. Please retry your request.");
    if (at_work)
        workers_put(workers, work);
    return ERR_OK;
}

static struct turn *remove_locked(struct turns *turns, struct turn *turn) REQUIRES(turns->lock)
{
    struct turn **at = &turns->first;
    struct turn *next;

    while (*at != turn)
        at = &(*at)->next;
    *at = turn->next;
    for (next = turns->first; next && !are_alike(next, turn);)
        next = next->next;
    if (next)
        next->at_work = true;
    return next;
}

void turns_end(struct turns *turns, struct workers *workers, struct turn *turn)
{
    struct turn *next;

    lock_acquire(&turns->lock);
    next = remove_locked(turns, turn);
    lock_release(&turns->lock);
    if (next)
        workers_put(workers, next->work);
}
