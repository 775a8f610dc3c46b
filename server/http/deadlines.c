/*
 * Deadlines of connections: four queues instead of a heap.
 *
 * Every request moves its connection's deadline several times (head, body, none, idle), under a lock
 * that all workers share, so a move must be cheap. In a heap it would cost the logarithm of the number
 * of connections. But there are only four kinds of deadlines, and all deadlines of a kind are equally
 * long. So a connection that is added to a queue now is due after all others in it: adding at the
 * end keeps the queue sorted, and the next deadline is the first of one of four.
 *
 * What must hold: patience_ns does not change once the server has started, and `now_ns` does not go
 * back between two calls.
 */

#include "server/http/deadlines.h"

void deadline_init(struct deadline *deadline)
{
    *deadline = (struct deadline){.kind = DEADLINE_NONE};
}

static void take_out(struct deadlines *deadlines, struct deadline *deadline)
{
    if (deadline->kind == DEADLINE_NONE)
        return;
    if (deadline->prev)
        deadline->prev->next = deadline->next;
    else
        deadlines->first[deadline->kind] = deadline->next;
    if (deadline->next)
        deadline->next->prev = deadline->prev;
    else
        deadlines->last[deadline->kind] = deadline->prev;
    deadline_init(deadline);
}

void deadlines_set(struct deadlines *deadlines, struct deadline *deadline,
                   enum deadline_kind kind, uint64_t now_ns)
{
    take_out(deadlines, deadline);
    if (kind == DEADLINE_NONE)
        return;
    deadline->kind = kind;
    deadline->due_ns = now_ns + deadlines->patience_ns[kind];
    deadline->prev = deadlines->last[kind];
    if (deadline->prev)
        deadline->prev->next = deadline;
    else
        deadlines->first[kind] = deadline;
    deadlines->last[kind] = deadline;
}

struct deadline *deadlines_take_over(struct deadlines *deadlines, uint64_t now_ns,
                                     enum deadline_kind *ret_kind)
{
    for (int kind = 0; kind < DEADLINE_KIND_COUNT; kind++) {
        struct deadline *first = deadlines->first[kind];

        if (first && first->due_ns <= now_ns) {
            take_out(deadlines, first);
            *ret_kind = (enum deadline_kind)kind;
            return first;
        }
    }
    return NULL;
}

uint64_t deadlines_next(const struct deadlines *deadlines)
{
    uint64_t next = UINT64_MAX;

    for (int kind = 0; kind < DEADLINE_KIND_COUNT; kind++)
        if (deadlines->first[kind] && deadlines->first[kind]->due_ns < next)
            next = deadlines->first[kind]->due_ns;
    return next;
}
