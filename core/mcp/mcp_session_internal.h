#ifndef RUNNEL_CORE_MCP_MCP_SESSION_INTERNAL_H
#define RUNNEL_CORE_MCP_MCP_SESSION_INTERNAL_H

#include "core/mcp/mcp_process.h"
#include "core/mcp/mcp_session.h"
#include "core/mcp/mcp_stream.h"

/*
 * mcp_session_internal.h -- a session and its questions: for mcp_session.c, which opens sessions,
 * mcp_question.c, which answers questions, and mcp_send.c.
 */

struct mcp_listing;

enum session_state {
    SESSION_CLOSED,
    SESSION_OPENING,
    SESSION_OPEN,
};

enum question_kind {
    QUESTION_LIST,
    QUESTION_CALL,
};

struct mcp_question {
    struct mcp_session *session;
    struct mcp_question *next; /* the session's */
    enum question_kind kind;
    const struct mcp_extra *extra;     /* called; NULL: a tool of the server */
    const struct mcp_listing *listing; /* the list being read; NULL: not a list */
    json_t *params;                    /* of the call */
    json_t *gathered;                  /* listed so far */
    char *cursor;                      /* of the next page */
    unsigned pages;
    json_t *lines; /* headers that repeat arguments of the call; NULL: none */
    json_t *state; /* of the server, which wants the call again with it; or NULL */
    unsigned rounds;
    json_int_t id;                 /* of the latest request */
    unsigned generation;           /* of the session that it went through */
    struct mcp_exchange *exchange; /* NULL while it waits for the session */
    bool stateless;                /* how it was asked last */
    bool repeated;                 /* after a lost session; once is the limit */
    struct loop_timer deadline;
    mcp_answered *answered;
    mcp_progressed *progressed; /* or NULL */
    void *arg;
};

struct mcp_session {
    struct mcp_session_options options; /* with copies of strings and headers */
    enum session_state state;
    bool stateless;           /* it speaks 2026-07-28, or is being asked whether it does */
    bool assumed;             /* what it speaks is known from an earlier session */
    struct loop_timer asking; /* for server/discover */
    char id[MCP_SESSION_LIMIT + 1]; /* "": the server has no sessions */
    char version[16];
    json_t *capabilities; /* of the server; NULL before initialize */
    unsigned generation;
    json_int_t last_id;
    struct mcp_exchange *opening;
    bool older;                 /* it speaks the transport of 2024-11-05 */
    struct mcp_stream *stream;  /* of the older transport, with all answers */
    struct mcp_link *link;      /* to a process, with all answers; then it is `older`, too */
    char *endpoint;             /* of the older transport: the URL for requests */
    unsigned requests;          /* that the server has sent over the stream */
    int refused;                /* status of the POST, when the GET is tried */
    struct http_call *greeting; /* the notification "initialized", while it is being sent */
    struct mcp_question *questions;
    bool list_changed;
    /* Set by mcp_session_close(): for loops that call several callbacks; or NULL */
    bool *closed;
};

/* ---- mcp_session.c ---- */

/* Questions that wait are sent when it is open. */
void mcp_session_open(struct mcp_session *session);
void mcp_session_stop_opening(struct mcp_session *session);

/* ---- mcp_question.c ---- */

/* Sends the question; the session must be open. */
void mcp_question_ask(struct mcp_question *question);
/* Answers the question and frees it. The callback may close the session, or put a new question. */
void mcp_question_answer(struct mcp_question *question, const struct mcp_answer *given);

/* ---- mcp_send.c ---- */

/* Takes `text`, which may be NULL. */
struct http_call *mcp_send_request(struct mcp_session *session, const char *method, char *text,
                                   void (*on_done)(void *, enum err_code, const struct err *));
/* The same, without a callback. */
void mcp_send_and_forget(struct mcp_session *session, const char *method, char *text);
/* What the headers of a stateless request repeat. */
struct mcp_repeated {
    const char *method;
    const char *name;    /* of the tool or prompt, or the URI of the resource; NULL: none */
    const json_t *lines; /* mcp_param_lines(); or NULL */
};
/* Fills in the URL, headers and limits of `what`. */
struct mcp_exchange *mcp_send_ask(struct mcp_session *session,
                                  const struct mcp_repeated *repeated, struct mcp_ask *what);
/* The same, for the stream of the older transport; the callbacks get the session. */
struct mcp_stream *mcp_send_for_stream(struct mcp_session *session,
                                       struct mcp_stream_options *what);

#endif
