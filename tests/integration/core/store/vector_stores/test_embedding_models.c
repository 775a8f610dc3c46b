/*
 * Models with numbers: the same settings are the same model, and the newest is the current one.
 */

#include "core/store/tables/vector_stores/embedding_models.h"

#include "core/base/mem.h"
#include "tests/integration/core/store/opened_store.h"
#include "tests/support/pg_fixture.h"
#include "tests/support/test.h"

static struct embedding_model chosen(const char *identity)
{
    struct embedding_model model = {0};

    assert_int_equal(store_embedding_model_choose(store, "bge", identity, &model, NULL),
                     ERR_OK);
    return model;
}

static int chosen_id(const char *identity)
{
    struct embedding_model model = chosen(identity);
    int id = model.id;

    embedding_model_clear(&model);
    return id;
}

TEST(settings_that_are_the_same_are_the_same_model)
{
    int first = chosen_id("a");

    (void)state;
    assert_true(first > 0);
    assert_int_equal(chosen_id("a"), first);
    assert_int_equal(chosen_id("b"), first + 1);
    assert_int_equal(chosen_id("b"), first + 1);
    assert_int_equal(chosen_id("a"), first + 2); /* back again: documents are made anew */
}

/* Floats of its own, which the model takes. */
static float *three(float first)
{
    float *numbers = mem_new_array(float, 3);

    for (int i = 0; i < 3; i++)
        numbers[i] = first + (float)i;
    return numbers;
}

TEST(what_was_learned_first_stays)
{
    struct embedding_model model = chosen("learned"), late = chosen("learned");

    (void)state;
    assert_int_equal(model.dimensions, 0);
    model.dimensions = late.dimensions = 3;
    model.probe = three(0.5F);
    model.mean = three(-1);
    late.probe = three(7);
    late.mean = three(7);
    assert_int_equal(store_embedding_model_learn(store, &model, NULL), ERR_OK);
    assert_int_equal(store_embedding_model_learn(store, &late, NULL), ERR_OK);
    assert_float_equal(late.probe[2], 2.5, 0);
    assert_float_equal(late.mean[0], -1, 0);
    embedding_model_clear(&late);
    late = chosen("learned");
    assert_int_equal(late.dimensions, 3);
    assert_float_equal(late.mean[2], 1, 0);
    embedding_model_clear(&late);
    embedding_model_clear(&model);
}

TEST(a_model_that_was_exchanged_gets_one_new_number)
{
    struct embedding_model model = chosen("exchanged"), same = chosen("exchanged");
    int first = model.id;

    (void)state;
    model.dimensions = 3;
    model.probe = three(1);
    model.mean = three(2);
    assert_int_equal(store_embedding_model_learn(store, &model, NULL), ERR_OK);
    assert_int_equal(store_embedding_model_renew(store, "exchanged", &model, NULL), ERR_OK);
    assert_int_equal(model.id, first + 1);
    assert_int_equal(model.dimensions, 0); /* it was not reached yet */
    /* Another node finds it out, too. */
    assert_int_equal(store_embedding_model_renew(other_store, "exchanged", &same, NULL),
                     ERR_OK);
    assert_int_equal(same.id, first + 1);
    assert_int_equal(chosen_id("exchanged"), first + 1);
    embedding_model_clear(&same);
    embedding_model_clear(&model);
}

/* Not a model without a number, which the vectors of all models would belong to. */
TEST(a_model_whose_vectors_have_another_length_is_an_error)
{
    struct embedding_model model = chosen("short"), found = {0};

    (void)state;
    model.dimensions = 3;
    model.probe = three(1);
    model.mean = three(2);
    assert_int_equal(store_embedding_model_learn(store, &model, NULL), ERR_OK);
    (void)pg_fixture_ask("UPDATE embedding_models SET mean = substr(mean, 1, 8) WHERE id = %d",
                         model.id);
    assert_int_equal(store_embedding_model_find(store, "short", &found, NULL), ERR_INTERNAL);
    assert_int_equal(store_embedding_model_choose(store, "short", "short", &found, NULL),
                     ERR_INTERNAL);
    embedding_model_clear(&found);
    embedding_model_clear(&model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(settings_that_are_the_same_are_the_same_model),
        cmocka_unit_test(what_was_learned_first_stays),
        cmocka_unit_test(a_model_that_was_exchanged_gets_one_new_number),
        cmocka_unit_test(a_model_whose_vectors_have_another_length_is_an_error),
    };

    return cmocka_run_group_tests(tests, open_two_stores, close_store);
}
