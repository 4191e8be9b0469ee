/* What a program says of itself and of its servers: versions and options. Against the
 * example server, through the real stdio module. */
#include "fake.h"

#include <stdio.h>
#include <stdlib.h>

#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

START_TEST(the_header_the_library_and_the_package_have_one_version)
{
    char text[64];

    snprintf(text, sizeof text, "%d.%d.%d", MCPLUG_VERSION_MAJOR, MCPLUG_VERSION_MINOR,
             MCPLUG_VERSION_PATCH);
    ck_assert_str_eq(text, PACKAGE_VERSION);
    ck_assert_str_eq(mcplug_version(), PACKAGE_VERSION);
    ck_assert_uint_eq(mcplug_version_number(), MCPLUG_VERSION_NUMBER);
    snprintf(text, sizeof text, "%u.%u.%u", mcplug_version_number() >> 16,
             mcplug_version_number() >> 8 & 0xff, mcplug_version_number() & 0xff);
    ck_assert_str_eq(text, PACKAGE_VERSION);
}
END_TEST

static void add(TCase *tc)
{
    tcase_add_test(tc, the_header_the_library_and_the_package_have_one_version);
}

int main(void)
{
    return run_suite("api_options", add);
}
