#include "core/run/turn/run_made.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/run/engine/engine_internal.h"
#include "core/run/turn/run.h"
#include "tests/support/quoted.h"
#include "tests/support/test.h"

#define LINK "sandbox:/mnt/data/"

/* A run with an open message, whose events have no reader. */
static struct engine engine;
static struct run run;
static struct item message;
static struct item_row history[4];

static void begin(enum row_face face)
{
    run = (struct run){.row = {.id = "run_1", .face = face}, .history = history};
    run.engine = &engine;
    run.items.open = &message;
    message = (struct item){.open = true};
}

static void end(void)
{
    run_made_free(run.made);
    for (size_t i = 0; i < run.history_count; i++)
        free(history[i].body);
    for (unsigned i = 0; i < message.part_count; i++) {
        buf_clear(&message.parts[i].text);
        json_decref(message.parts[i].annotations);
    }
    free(message.parts);
}

/* A call of that run, or a message, in the history. `body` has ' for ". */
static void remember(const char *run_id, enum item_type type, const char *body)
{
    json_auto_t *value = quoted_json(body);
    struct item_row *row = &history[run.history_count++];

    *row = (struct item_row){.type = type, .body = json_text(value)};
    (void)snprintf(row->run_id, sizeof(row->run_id), "%s", run_id);
}

static void make(const char *files)
{
    json_auto_t *list = quoted_json(files);

    run_made_add(&run, "cntr_1", list);
}

static void say(const char *text)
{
    buf_add_text(&item_add_part(&message, PART_TEXT)->text, text);
    run_cite_made(&run);
}

static void expect_annotations(const char *wanted)
{
    json_auto_t *expected = quoted_json(wanted);
    json_t *got = message.parts[message.part_count - 1].annotations;
    AUTO_FREE char *text = got ? json_text(got) : NULL;

    if (got ? !json_equal(got, expected) : json_array_size(expected) > 0)
        fail_msg("%s instead of %s", text ? text : "nothing", wanted);
}

#define MADE(id, name) "{'file_id':'" id "','path':'/mnt/data/" name "','change':'created'}"
#define FIGURE(id) \
    "{'file_id':'" id "','path':'/mnt/data/" id "','change':'created','figure':true}"
#define CITED(id, name, from, to)                                                   \
    "{'type':'container_file_citation','container_id':'cntr_1','file_id':'" id "'," \
    "'filename':'" name "','start_index':" from ",'end_index':" to "}"
#define PAST(files) "{'container_id':'cntr_1','runnel':{'files':[" files "]}}"

TEST(places_are_counted_in_characters)
{
    begin(FACE_RESPONSES);
    make("[" MADE("cfile_1", "a b.csv") "," MADE("cfile_2", "c") "]");
    say("Größe 😀 [x](" LINK "a%20b.csv), (" LINK "none) é (" LINK "c)");
    expect_annotations(
        "[" CITED("cfile_1", "a b.csv", "12", "39") "," CITED("cfile_2", "c", "70", "89") "]");
    end();
}

TEST(a_thread_gets_file_paths_with_the_text_that_they_cover)
{
    begin(FACE_ASSISTANTS);
    make("[" MADE("file-1", "c") "," MADE("cfile_2", "d") "]");
    say("é " LINK "c " LINK "d");
    expect_annotations("[{'type':'file_path','file_id':'file-1','text':'" LINK "c','index':2,"
                       "'start_index':2,'end_index':21}]");
    end();
}

TEST(a_deleted_file_is_not_cited_and_a_new_one_of_its_name_is)
{
    begin(FACE_RESPONSES);
    make("[" MADE("cfile_1", "c") "]");
    make("[{'file_id':'cfile_1','path':'/mnt/data/c','change':'deleted'}]");
    say(LINK "c");
    expect_annotations("[]");
    make("[" MADE("cfile_2", "c") "]");
    say(LINK "c");
    expect_annotations("[" CITED("cfile_2", "c", "0", "19") "]");
    end();
}

TEST(a_picture_is_shown_once)
{
    begin(FACE_RESPONSES);
    make("[" FIGURE("cfile_1") "," FIGURE("cfile_2") "]");
    say(LINK "cfile_2");
    expect_annotations("[" CITED("cfile_2", "cfile_2", "0",
                                 "25") "," CITED("cfile_1", "cfile_1.png", "0", "0") "]");
    say("More.");
    expect_annotations("[]");
    end();
}

/* Another node continues a run: what its calls have drawn is in its history. */
TEST(a_picture_that_a_pause_has_held_back_is_shown_after_it)
{
    begin(FACE_ASSISTANTS);
    remember("run_0", ITEM_CODE_INTERPRETER_CALL, PAST(FIGURE("file-0")));
    remember("run_1", ITEM_CODE_INTERPRETER_CALL, PAST(FIGURE("file-1") "," FIGURE("file-2")));
    remember("run_1", ITEM_MESSAGE, "{'content':[{'file_id':'file-1'}]}");
    run_open_made(&run);
    run_show_made(&run);
    assert_int_equal(message.part_count, 1);
    assert_int_equal(message.parts[0].kind, PART_PICTURE);
    assert_string_equal(message.parts[0].text.data, "file-2");
    run_show_made(&run);
    assert_int_equal(message.part_count, 1);
    end();
}

TEST(links_to_files_of_earlier_runs_are_cited)
{
    begin(FACE_RESPONSES);
    remember("run_0", ITEM_CODE_INTERPRETER_CALL,
             PAST(MADE("cfile_1", "old") "," MADE("cfile_2", "c")));
    make("[" MADE("cfile_3", "c") "]");
    say(LINK "old " LINK "c");
    expect_annotations(
        "[" CITED("cfile_1", "old", "0", "21") "," CITED("cfile_3", "c", "22", "41") "]");
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(places_are_counted_in_characters),
        cmocka_unit_test(a_thread_gets_file_paths_with_the_text_that_they_cover),
        cmocka_unit_test(a_deleted_file_is_not_cited_and_a_new_one_of_its_name_is),
        cmocka_unit_test(a_picture_is_shown_once),
        cmocka_unit_test(a_picture_that_a_pause_has_held_back_is_shown_after_it),
        cmocka_unit_test(links_to_files_of_earlier_runs_are_cited),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
