#ifndef RUNNEL_CORE_CONTAINER_PYTHON_H
#define RUNNEL_CORE_CONTAINER_PYTHON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"

struct box;
struct workspace;

/*
 * python.h -- the Python of a container: a process that keeps its variables from one cell to the next.
 *
 *   python_run() ── the cell's code, in a memory file ──▶ driver.py ── the cell
 *        ▲  ▲ ◀── standard output and error, one pipe ──────────┘          │
 *        │  └──── its end, names of figures ───────────────────────────────┘
 *        └─────── the figures, files of the workspace
 *
 * A cell is a text, as one would type it into a notebook. The value of a last expression is printed, unless it is None
 * or a semicolon follows. So are errors, from the cell on. A line that begins with `!` is a shell command. Figures of
 * matplotlib (at plt.show(), and what is open at the end) and values with _repr_png_, such as PIL's pictures, become
 * PNG files in .figures of the workspace.
 *
 * The process starts with the first cell. It ends with its box, when the code ends it, or when it does not stop in
 * time; then variables are gone, files are there, and the next notice says so once: python_result.notice.
 *
 * Code and driver are one process, so all that comes from it is hostile: text, names, and the word that the cell has
 * ended. It can only lie about itself.
 *
 * Any thread that may block. One cell at a time: boxes.h gives a Python to one call after the other.
 */

struct python;

/* Boxes of this machine have a Python. */
bool python_is_installed(void);

/* Bytes of a cell's code. */
#define PYTHON_CODE_LIMIT ((size_t)1 << 20)

/* Figures of one cell, bytes of one, and of all. What is beyond is left out and counted; its file stays. */
#define PYTHON_FIGURES      ((size_t)32)
#define PYTHON_FIGURE_LIMIT ((size_t)16 << 20)
#define PYTHON_FIGURES_SIZE ((size_t)64 << 20)

/* From the interrupt of a cell to its end. */
#define PYTHON_GRACE_MS 2000

struct python_cell {
    const char *code;                  /* UTF-8 */
    size_t code_size;                  /* at most PYTHON_CODE_LIMIT */
    const struct workspace *workspace; /* the box's /mnt/data */
    uint32_t timeout_ms;               /* of the cell; counts from its start */
    int cancel; /* a descriptor that interrupts the cell when it can be read; -1: none */

    /* All functions are called on the thread of python_run(), in order of appearance. While one does not return, the
     * pipe fills and the cell waits. False interrupts the cell. May be NULL. */

    /* A piece of output, standard output and error as they came; any bytes. */
    bool (*take_output)(void *argument, const char *bytes, size_t size);
    /* A figure: its path in the workspace, such as ".figures/1.png", and its bytes, which are a PNG by their
     * signature. Borrowed. */
    bool (*take_figure)(void *argument, const char *path, const char *png, size_t size);
    void *argument;
};

enum python_end {
    PYTHON_DONE,      /* to its last line */
    PYTHON_RAISED,    /* an error, which was printed */
    PYTHON_TIMED_OUT, /* its time was over */
    PYTHON_CANCELLED, /* by the caller's descriptor */
    PYTHON_UNWANTED,  /* by a function of the caller's */
    PYTHON_ENDED, /* the process has ended, by itself or with its box: the notice says why */
};

/* Room for a sentence. */
#define PYTHON_NOTICE_SIZE ((size_t)256)

struct python_result {
    enum python_end end;
    bool alive; /* its process, with the variables */
    /* For the model: that variables are gone, and why. They were lost by this cell, or since the last one. "": they are
     * there. It is said once. */
    char notice[PYTHON_NOTICE_SIZE];
    uint64_t wall_ns;     /* of the cell, with the start of the process */
    size_t figures;       /* that were taken */
    size_t other_figures; /* that were left out: too many, too large, or no PNG */
};

/* Runs a cell and waits for its end. When its time is over, or it is cancelled, it is interrupted, and variables stay;
 * what does not stop within PYTHON_GRACE_MS is killed.
 *
 * ERR_OK: *ret_result says how it ended. ERR_TOO_LARGE: the code. ERR_INTERNAL: no descriptors. */
enum err_code python_run(struct python *python, const struct python_cell *cell,
                         struct python_result *ret_result, struct err *err) MUST_CHECK;

/* ---- For boxes.c ---- */

/* Why a process is gone, apart from what python_run() sees itself. */
enum python_loss {
    PYTHON_RESTARTED, /* the box has ended, and another took its place */
    PYTHON_IDLE,      /* it was not used for long, and its box was stopped */
    PYTHON_OVER_MEMORY,
};

/* `environment` is all of it, with NULL at its end; borrowed as long as the Python lives. `memory`: bytes of its box,
 * for notices. */
struct python *python_new(const char *const *environment, uint64_t memory);

/* In which box the next cell runs; its process, if it has one, is in this box. NULL: no box. */
void python_enter(struct python *python, struct box *box);

/* The box ends or has ended: call it before box_close(). The next cell's notice says so, if there was a process. */
void python_lose(struct python *python, enum python_loss loss);

/* The container's row says that Python has run in it, and this server knows nothing of it: the next notice says so. */
void python_remember(struct python *python);

/* There is a process, or one whose loss no notice has said yet. */
bool python_is_used(const struct python *python);

/* Its box is closed by the caller, afterwards. NULL is fine. */
void python_free(struct python *python);

#endif
