/* Searches whose threads have no memory for anything. */
#include "nomem_kit.h"

#include <mcplug/mcplug.h>

START_TEST(a_thread_without_memory_answers_and_makes_room)
{
    const char *dirs[] = {getenv("MCPLUG_TEST_MODULES"), NULL};
    struct mcplug_options o = {.struct_size = sizeof o, .plugin_dirs = dirs};
    struct mcplug_server_options once = {.struct_size = sizeof once, .once = 1};
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    mcplug *host = mcplug_new(&o, &why);
    mcplug_settings *s = mcplug_settings_new("found");

    ck_assert_msg(host != NULL, "%s", why.text);
    spare_this_thread();
    forever = true;
    fail_at = 1;
    for (int i = 0; i < 6; i++) { /* and there is room for four */
        mcplug_server *server = NULL;
        ck_assert_int_eq(mcplug_open_wait(host, s, &once, &server, &why), MCPLUG_ENOMEM);
    }
    fail_at = 0;
    mcplug_settings_free(s);
    mcplug_free(host);
}
END_TEST

static void add(TCase *tc)
{
    tcase_add_test(tc, a_thread_without_memory_answers_and_makes_room);
}

int main(void)
{
    return run_suite("connect_locate_nomem", add);
}
