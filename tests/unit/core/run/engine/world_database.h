#ifndef RUNNEL_TESTS_UNIT_CORE_RUN_ENGINE_WORLD_DATABASE_H
#define RUNNEL_TESTS_UNIT_CORE_RUN_ENGINE_WORLD_DATABASE_H

#include "core/base/buf.h"
#include "core/domain/rows.h"
#include "core/store/cluster/leases.h"
#include "core/store/tables/runs/runs.h"
#include "core/store/writer/writer.h"
#include "tests/unit/core/run/engine/world.h"

/*
 * world_database.h -- the rows that PostgreSQL would hold, and what a committed write does to them.
 *
 * It outlives every node. There is one project. Rows belong to the database: functions below copy what they
 * are given, and pointers into it are for reading, until the next step.
 */

/* Rows that one world may have. */
enum {
    DATABASE_RUNS = 4,
    DATABASE_ITEMS = 96,
    DATABASE_STEPS = 32,
    DATABASE_CALLS = 48,
    DATABASE_APPROVALS = 16,
    DATABASE_CHUNKS = 256,
};

/* A row of run_leases. */
struct lease {
    bool exists;
    char owner[2 * ID_SIZE]; /* "node_a/boot_a"; "": no node owns the run */
    int64_t fence;
    uint64_t until_ns;
    bool foreground;
    bool stopping;
    int64_t wait_until; /* the run waits for its client until then; 0: it does not wait */
    int64_t queued_at;
    int64_t last_seq, state_seq;
};

/* A run with its lease and its log, and what the rules count. */
struct record {
    struct run_row row;
    struct lease lease;
    unsigned char submit_hash[32];
    bool submitted;
    int64_t submit_seq;
    unsigned ends;      /* how often its status became final */
    int64_t next_frame; /* number of the next frame of the log */
    struct buf log;     /* all frames, one behind the other */
};

/* Frames that were logged by one write. */
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

/* ---- For the functions of the store and the rules ---- */

/* NULL: no run has that id. */

struct record *database_find(const char *run_id);
/* A new run with a lease of `owner`, fence 1. A run that is final has no lease. */
struct record *database_add_run(const struct run_row *row, const char *owner, int64_t last_seq);
/* Inserts it, or replaces the row of that id. */
void database_put_item(const struct item_row *row);
/* Another run of its thread has not ended. */
bool database_is_taken(const struct run_row *run);
/* The only way in which a status changes. Fails the test if it was final. */
void database_move(struct record *record, enum run_status status);
/* The last number that the run has used, in its log or elsewhere; -1: none. */
int64_t database_last_seq(const struct record *record);
/* Replaces a text of a row by a copy. */
void row_set(char **text, const char *value);
/* Fill in *copy with copies of all texts; what it had is not released. */
void item_row_take_copy(struct item_row *copy, const struct item_row *row);
void step_row_take_copy(struct step_row *copy, const struct step_row *row);
void call_row_take_copy(struct call_row *copy, const struct call_row *row);
void approval_row_take_copy(struct approval_row *copy, const struct approval_row *row);

/* ---- Writes under way ---- */

/* Those of a node that has crashed are never committed. */
void database_forget_writes(struct node *node);
/* Those of a buried node come back as if the database were away. */
void database_return_writes(struct node *node);
/* No write of the node is under way. */
bool database_is_done_with(const struct node *node);
/* A write will still be committed, or reported to a node that lives. */
bool database_has_writes(void);

#endif
