#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "handlers/support/timezone.h"
#include "tests/support/test.h"

/* libc's opinion. This process has one thread, so it may change the zone. */
static int libc_offset(const char *zone, int64_t when)
{
    time_t seconds = (time_t)when;
    struct tm local;

    setenv("TZ", zone, 1);
    tzset();
    localtime_r(&seconds, &local);
    return (int)local.tm_gmtoff;
}

/* North and south of the equator, half hours, past rules, none, one that starts on a Friday. */
static const char *const zones[] = {
    "UTC",
    "Europe/Berlin",
    "Europe/Dublin",
    "Europe/London",
    "America/New_York",
    "America/Argentina/Buenos_Aires",
    "America/St_Johns",
    "America/Santiago",
    "America/Nuuk",
    "Asia/Kolkata",
    "Asia/Kathmandu",
    "Asia/Tokyo",
    "Asia/Gaza",
    "Africa/Casablanca",
    "Africa/Cairo",
    "Australia/Sydney",
    "Australia/Lord_Howe",
    "Pacific/Auckland",
    "Pacific/Chatham",
    "Etc/GMT+5",
    "America/Phoenix",
};

TEST(timezone_agrees_with_libc)
{
    for (size_t i = 0; i < sizeof(zones) / sizeof(zones[0]); i++)
        /* 1925 to 2100, at odd hours */
        for (int64_t when = -1420000000; when < 4102444800; when += 1234567) {
            int offset = -1;

            assert_int_equal(timezone_offset(zones[i], when, &offset, NULL), ERR_OK);
            if (offset != libc_offset(zones[i], when))
                fail_msg("%s at %lld: %d", zones[i], (long long)when, offset);
        }
}

TEST(timezone_agrees_with_libc_around_a_change)
{
    const int64_t changes[] = {1774746000, 1792890000}; /* Berlin, March and October 2026 */
    int before, behind;

    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(timezone_offset("Europe/Berlin", changes[i] - 1, &before, NULL),
                         ERR_OK);
        assert_int_equal(timezone_offset("Europe/Berlin", changes[i], &behind, NULL), ERR_OK);
        assert_int_equal(before, i ? 7200 : 3600);
        assert_int_equal(behind, i ? 3600 : 7200);
    }
}

static const char *const rules[] = {
    "UTC0",
    "<+0330>-3:30",
    "CET-1CEST,M3.5.0,M10.5.0/3",
    "EST5EDT,M3.2.0,M11.1.0",
    "NZST-12NZDT,M9.5.0,M4.1.0/3",
    "IST-1GMT0,M10.5.0,M3.5.0/1",
    "<-02>2<-01>,M3.5.0/-1,M10.5.0/0",
    "IST-2IDT,M3.4.4/26,M10.5.0",
    "XXX3YYY,J60/0,J300",
    "XXX3YYY2:30,59/1,300/4",
    "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0",
};

TEST(timezone_rules_agree_with_libc)
{
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
        for (int64_t when = 3600; when < 4102444800; when += 654321) {
            int offset = -1;

            assert_int_equal(timezone_offset_by_rule(rules[i], when, &offset), ERR_OK);
            if (offset != libc_offset(rules[i], when))
                fail_msg("%s at %lld: %d", rules[i], (long long)when, offset);
        }
}

TEST(timezone_refuses_invalid_rules)
{
    const char *const bad[] = {"",
                               "E5",
                               "EST",
                               "EST5EDT",
                               "<EST5",
                               "EST5EDT,M13.1.0,M1.1.0",
                               "EST5EDT,M3.2.0",
                               "EST999",
                               "EST5EDT,M3.2.7,M1.1.1",
                               "EST5EDT,J400,J1",
                               "EST5EDT,M3.2.0,M11.1.0x"};
    int offset;

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(timezone_offset_by_rule(bad[i], 0, &offset), ERR_INVALID);
}

TEST(timezone_refuses_unknown_zones)
{
    const char *const bad[] = {
        "",
        "Mars/Olympus",
        "../../../etc/passwd",
        "/etc/passwd",
        "Europe",
        "Europe/../UTC",
        "tzdata.zi",
        "zone.tab",
        "right/UTC",
        "a b",
        "Aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"};
    struct err err = {0};
    int offset = 7;

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(timezone_offset(bad[i], 0, &offset, &err), ERR_INVALID);
    assert_non_null(strstr(err.text, "IANA"));
    assert_int_equal(offset, 7);
}

/* A zone with one change and a rule after it; returns its size. */
static size_t write_zone(uint8_t *ret_zone)
{
    const size_t header = 44;
    uint8_t *at = ret_zone + header;

    memcpy(ret_zone, "TZif2", 5);
    memcpy(at, "TZif2", 5);
    at[35] = 1; /* times */
    at[39] = 1; /* types */
    at[43] = 4; /* letters */
    at += header;
    at[7] = 100;      /* the change is at 100 s */
    at[9 + 2] = 0x0E; /* and leads to 3600 s */
    at[9 + 3] = 0x10;
    memcpy(at + 15, "CET", 4);
    memcpy(at + 19, "\nCET-1\n", 7);
    return (size_t)(at + 26 - ret_zone);
}

/* A zone that is cut or changed anywhere is refused or read, but nothing outside it is read (the
 * copy has exactly the size, so the sanitizer sees it). */
TEST(timezone_survives_broken_files)
{
    uint8_t zone[200] = {0};
    const size_t whole = write_zone(zone);
    int offset = 0;

    assert_int_equal(timezone_offset_in(zone, whole, 1000, &offset), ERR_OK);
    assert_int_equal(offset, 3600);
    for (size_t size = 0; size < whole; size++) {
        uint8_t *cut = malloc(size ? size : 1);

        memcpy(cut, zone, size);
        (void)!timezone_offset_in(cut, size, 1000, &offset);
        (void)!timezone_offset_in(cut, size, -1000, &offset);
        free(cut);
    }
    for (size_t i = 0; i < whole * 8; i++) {
        uint8_t *bent = malloc(whole);

        memcpy(bent, zone, whole);
        bent[i / 8] ^= (uint8_t)(1u << i % 8);
        (void)!timezone_offset_in(bent, whole, 1000, &offset);
        (void)!timezone_offset_in(bent, whole, INT64_MAX / 4, &offset);
        free(bent);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(timezone_agrees_with_libc),
        cmocka_unit_test(timezone_agrees_with_libc_around_a_change),
        cmocka_unit_test(timezone_rules_agree_with_libc),
        cmocka_unit_test(timezone_refuses_invalid_rules),
        cmocka_unit_test(timezone_refuses_unknown_zones),
        cmocka_unit_test(timezone_survives_broken_files),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
