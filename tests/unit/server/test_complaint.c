#include <string.h>

#include "core/base/compiler.h"
#include "server/complaint.h"
#include "tests/support/test.h"

TEST(an_invalid_request_names_its_field)
{
    struct err err;

    assert_int_equal(err_invalid(&err, "invalid_value", "model", "no model '%s'", "x"),
                     ERR_INVALID);
    assert_string_equal(complaint_code(&err), "invalid_value");
    assert_string_equal(complaint_param(&err), "model");
    assert_string_equal(err.text, "no model 'x'");
    assert_int_equal(err_set_api(&err, ERR_TOO_LARGE, "too_big", NULL, "too big"),
                     ERR_TOO_LARGE);
    assert_int_equal(err.code, ERR_TOO_LARGE);
    assert_string_equal(complaint_code(&err), "too_big");
    assert_null(complaint_param(&err));
}

TEST(the_text_of_an_error_is_optional)
{
    assert_int_equal(err_invalid(NULL, "c", "p", "text"), ERR_INVALID);
    assert_int_equal(err_set_api(NULL, ERR_LIMIT, "c", NULL, "text"), ERR_LIMIT);
}

/* The reason of the core, and the code and param that clients read. */
TEST(each_reason_has_openais_name)
{
    /* clang-format off */
    static const struct {
        enum err_reason reason;
        const char *code, *param;
    } table[] = {
        {REASON_UNSET,               NULL,                          NULL},
        {REASON_BAD_VALUE,           "invalid_value",               NULL},
        {REASON_BAD_TYPE,            "invalid_type",                NULL},
        {REASON_UNKNOWN_MEMBER,      "unknown_parameter",           NULL},
        {REASON_MISSING_MEMBER,      "missing_required_parameter",  NULL},
        {REASON_UNSUPPORTED,         "unsupported_value",           NULL},
        {REASON_LIST_TOO_LONG,       "array_above_max_length",      NULL},
        {REASON_ITEMS_TOO_LARGE,     "string_above_max_length",     "input"},
        {REASON_BAD_SEAL,            "invalid_encrypted_content",   NULL},
        {REASON_UNKNOWN_KEY,         "invalid_api_key",             NULL},
        {REASON_UNKNOWN_PARENT,      "previous_response_not_found", "previous_response_id"},
        {REASON_KEY_REUSED,          "idempotency_key_reused",      "Idempotency-Key"},
        {REASON_CONVERSATION_LOCKED, "conversation_locked",         NULL},
        {REASON_DECIDED,             "approval_already_decided",    "approval_request_id"},
        {REASON_USED,                "approval_already_used",       "approval_request_id"},
        {REASON_BUSY,                "rate_limit_exceeded",         NULL},
        {REASON_NO_MODEL,            "model_not_found",             NULL},
        {REASON_STORAGE_FULL,        "storage_full",                NULL},
        {REASON_STORAGE_QUOTA,       "storage_quota_exceeded",      NULL},
        {REASON_ELSEWHERE,           "file_elsewhere",              NULL},
        {REASON_TOO_MANY_FILES,      "too_many_files",              NULL},
        {REASON_STORE_EXPIRED,       "vector_store_expired",        NULL},
        {REASON_SEARCH_TIMEOUT,      "vector_store_timeout",        NULL},
        {REASON_SEARCH_TOO_LARGE,    "vector_store_too_large",      NULL},
        {REASON_UPLOAD_ENDED,        "upload_not_pending",          NULL},
        {REASON_UPLOAD_TOO_LARGE,    "upload_too_large",            "data"},
        {REASON_CONTAINER_ELSEWHERE, "container_elsewhere",         NULL},
        {REASON_CONTAINER_FULL,      "file_too_large",              "file"},
        {REASON_SCANNED,             "invalid_value",               NULL},
        {REASON_SCAN_MODEL,          NULL,                          NULL},
        {REASON_ADDRESS,             NULL,                          NULL},
    };
    /* clang-format on */

    assert_int_equal(COUNT_OF(table), REASON_COUNT);
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        struct err err;

        err_refuse(&err, ERR_INVALID, table[i].reason, NULL, "No.");
        assert_int_equal(table[i].reason, i);
        if (table[i].code)
            assert_string_equal(complaint_code(&err), table[i].code);
        else
            assert_null(complaint_code(&err));
        if (table[i].param)
            assert_string_equal(complaint_param(&err), table[i].param);
        else
            assert_null(complaint_param(&err));
    }
}

/* A code of the upstream or of the server wins over the reason, a place over the param of the reason. */
TEST(the_most_specific_name_wins)
{
    struct err err;

    err_refuse(&err, ERR_LIMIT, REASON_BUSY, NULL, "No.");
    err.word = "insufficient_quota";
    assert_string_equal(complaint_code(&err), "insufficient_quota");
    err_refuse(&err, ERR_INVALID, REASON_UNKNOWN_PARENT, "tools[0]", "No.");
    assert_string_equal(complaint_param(&err), "tools[0]");
}

TEST(every_code_has_a_status_and_a_type)
{
    for (int code = ERR_OK + 1; code < ERR_CODE_COUNT; code++) {
        assert_in_range(err_http_status((enum err_code)code), 400, 599);
        assert_true(strlen(err_api_type((enum err_code)code)) > 0);
    }
    assert_int_equal(err_http_status(ERR_LIMIT), 429);
    assert_int_equal(err_http_status(ERR_STORE), 503);
    assert_int_equal(err_http_status(ERR_CONFLICT), 400);
    assert_string_equal(err_api_type(ERR_INVALID), "invalid_request_error");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_invalid_request_names_its_field),
        cmocka_unit_test(the_text_of_an_error_is_optional),
        cmocka_unit_test(each_reason_has_openais_name),
        cmocka_unit_test(the_most_specific_name_wins),
        cmocka_unit_test(every_code_has_a_status_and_a_type),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
