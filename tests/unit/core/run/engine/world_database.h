#ifndef RUNNEL_TESTS_UNIT_CORE_RUN_ENGINE_WORLD_DATABASE_H
#define RUNNEL_TESTS_UNIT_CORE_RUN_ENGINE_WORLD_DATABASE_H

#include "core/domain/rows.h"
#include "core/store/cluster/leases.h"
#include "core/store/tables/runs/runs.h"
#include "core/store/writer/writer.h"
#include "tests/unit/core/run/engine/world.h"

/*
 * world_database.h -- the rows that PostgreSQL would hold, and what a committed write does to them.
 *
 * It outlives every node. The statements of core/store/writer/group.c, puts.c, runs.c, run_moves.c and
 * leases.c are the model: what they do to a row is done here, one transaction at a time. There is
 * one project. What the engine never reads back (variables, grants) is not kept.
 */

enum {
    DATABASE_RUNS = 4,
    DATABASE_ITEMS = 96,
    DATABASE_STEPS = 32,
    DATABASE_CALLS = 48,
    DATABASE_APPROVALS = 16,
    DATABASE_CHUNKS = 256,
};

struct lease {
    bool exists;
    char owner[2 * ID_SIZE]; /* "" for none */
    int64_t fence;
    uint64_t until_ns;
    bool foreground;
    bool stopping;
    int64_t wait_until; /* 0: it waits for nobody */
    int64_t queued_at;
    int64_t last_seq, state_seq;
};

/* A run with its lease, and what is known of it for the rules. */
struct record {
    struct run_row row;
    struct lease lease;
    unsigned char submit_hash[32];
    bool submitted;
    int64_t submit_seq;
    unsigned ends;      /* times that it came to an end */
    int64_t next_frame; /* of the log: the number of the next one */
    struct buf log;     /* all frames */
};

struct chunk {
    struct record *record;
    int64_t first, last;
};

struct database {
    struct record records[DATABASE_RUNS];
    size_t record_count;
    struct item_row items[DATABASE_ITEMS];
    size_t item_count;
    struct step_row steps[DATABASE_STEPS];
    size_t step_count;
    struct call_row calls[DATABASE_CALLS];
    size_t call_count;
    struct approval_row approvals[DATABASE_APPROVALS];
    size_t approval_count;
    struct chunk chunks[DATABASE_CHUNKS];
    size_t chunk_count;
};

struct database *database_new(void);
void database_free(struct database *database);

/* ---- For the functions of the store ---- */

struct record *database_find(const char *run_id);
struct record *database_add_run(const struct run_row *row, const char *owner, int64_t last_seq);
void database_put_item(const struct item_row *row);
/* Another run of its thread goes on. */
bool database_is_taken(const struct run_row *run);
/* The only way a status changes. */
void database_move(struct record *record, enum run_status status);
/* Of the log: `next_seq` and `log_open`. */
int64_t database_last_seq(const struct record *record);
void row_set(char **text, const char *value);
void item_row_take_copy(struct item_row *copy, const struct item_row *row);
void step_row_take_copy(struct step_row *copy, const struct step_row *row);
void call_row_take_copy(struct call_row *copy, const struct call_row *row);
void approval_row_take_copy(struct approval_row *copy, const struct approval_row *row);

/* ---- Writes under way ---- */

/* Those of a node that has crashed are never committed. */
void database_forget_writes(struct node *node);
/* Those that a buried node has handed over come back as if the database were away. */
void database_return_writes(struct node *node);
bool database_is_done_with(const struct node *node);
bool database_has_writes(void); /* that will be committed or reported */

#endif
