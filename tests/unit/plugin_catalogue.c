#include "plugin_modules.h"

#include "base/path.h"

#include <errno.h>
#include <fcntl.h>

static bool is_mapped(const char *file)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[PATH_MAX + 256];
    bool found = false;
    while (maps && fgets(line, sizeof line, maps))
        found = found || strstr(line, file);
    if (maps)
        fclose(maps);
    return found;
}

/* ---- names ---- */

START_TEST(another_file_with_a_name_that_is_taken_is_refused)
{
    const char *first = place("good.so", "first.so");
    const char *second = place("good.so", "second.so");
    char message[PATH_MAX + 64];
    ck_assert_int_eq(load(first), MCPLUG_OK);
    ck_assert_int_eq(load(second), MCPLUG_EINVAL);
    snprintf(message, sizeof message,
             "a module named \"good\" is already loaded, from %s", first);
    expect_error(second, message);
}
END_TEST

START_TEST(links_to_one_file_are_one_module)
{
    const char *file = place("good.so", "loopback.so");
    ck_assert_int_eq(symlink("loopback.so", own("soft.so")), 0);
    ck_assert_int_eq(link(file, own("hard.so")), 0);
    const struct mp_plugin *a = NULL, *b = NULL, *c = NULL;
    ck_assert_int_eq(mp_catalogue_load(cat, own("soft.so"), &a, &err), MCPLUG_OK);
    ck_assert_int_eq(mp_catalogue_load(cat, own("hard.so"), &b, &err), MCPLUG_OK);
    ck_assert_int_eq(mp_catalogue_load(cat, file, &c, &err), MCPLUG_OK);
    ck_assert_ptr_eq(a, b);
    ck_assert_ptr_eq(a, c);
    ck_assert_str_eq(a->file, file);
    ck_assert_str_eq(a->descriptor->name, "good");
}
END_TEST

START_TEST(nobody_offers_it_names_the_package_of_our_own_ones)
{
    static const struct mcplug_pair packages[] = {
        {"http", "mcplug-http"},     {"sse", "mcplug-sse"},
        {"ws", "mcplug-websocket"},  {"websocket", "mcplug-websocket"},
        {"sse-ide", "mcplug-ide"},   {"ws-ide", "mcplug-ide"},
        {"http-ide", "mcplug-ide"},  {"ssh", "mcplug-ssh"},
        {"docker", "mcplug-docker"}, {"unix", "mcplug-socket"},
        {"tcp", "mcplug-socket"},    {"stdio", "mcplug-stdio"},
    };
    for (size_t i = 0; i < MP_COUNT(packages); i++) {
        char message[sizeof own_dir + 128];
        if (find(packages[i].name))
            continue; /* compiled in, or installed */
        snprintf(message, sizeof message,
                 "no module offers the transport \"%s\": it comes with the package "
                 "%s (searched: %s, ",
                 packages[i].name, packages[i].value, own_dir);
        ck_assert_msg(strncmp(err.text, message, strlen(message)) == 0, "%s", err.text);
        ck_assert_int_eq(err.code, MCPLUG_ENOTSUP);
    }
}
END_TEST

static void open_with_packages(const char *text)
{
    FILE *f = fopen(own("packages"), "w");
    ck_assert(f && fputs(text, f) >= 0 && fclose(f) == 0);
    mp_catalogue_free(cat);
    struct mp_catalogue_options options = {.dirs = (const char *const[]){own_dir, NULL},
                                           .loop = loop,
                                           .packages = own("packages")};
    cat = mp_catalogue_new(&options, &err);
    ck_assert_ptr_nonnull(cat);
}

START_TEST(the_package_comes_from_a_list_that_a_distribution_may_replace)
{
    open_with_packages("# transport  carrier no-package\n\ntransport\nvault carrier a\n"
                       "  transport\tcarrier  distro-pigeons  birds with messages\r\n"
                       "transport carrier later\nlocator loft distro-loft");
    ck_assert_ptr_null(find("carrier"));
    ck_assert_ptr_nonnull(
        strstr(err.text, ": it comes with the package distro-pigeons ("));
    const struct mp_offer *offer = NULL;
    ck_assert_int_eq(mp_catalogue_find(cat, MP_TYPE, "loft", &offer, &err),
                     MCPLUG_ENOTSUP);
    ck_assert_ptr_nonnull(strstr(err.text, ": it comes with the package distro-loft ("));
    ck_assert_int_eq(mp_catalogue_find(cat, MCPLUG_VAULT, "loft", &offer, &err),
                     MCPLUG_ENOTSUP);
    ck_assert_ptr_null(strstr(err.text, "package"));
}
END_TEST

static bool count_packages(void *arg, const struct mp_packaged *one)
{
    ck_assert_str_eq(one->kind, "transport");
    ck_assert_uint_le(++*(size_t *)arg, MP_PACKAGES_BYTES);
    return true;
}

START_TEST(a_list_of_packages_is_read_up_to_its_limit)
{
    static const char line[] = "transport a b\n";
    static char text[MP_PACKAGES_BYTES + 4 * sizeof line];
    size_t n = 0, fits = MP_PACKAGES_BYTES / (sizeof line - 1);
    for (size_t at = 0; at <= MP_PACKAGES_BYTES; at += sizeof line - 1)
        strcpy(text + at, line);
    open_with_packages(text);
    ck_assert_int_eq(mp_packages_each(own("packages"), count_packages, &n), MCPLUG_OK);
    ck_assert_uint_eq(n, fits);
    n = 0;
    ck_assert_int_eq(mp_packages_each(own("missing"), count_packages, &n), MCPLUG_OK);
    ck_assert_int_eq(mp_packages_each(own_dir, count_packages, &n), MCPLUG_OK);
    ck_assert_uint_eq(n, 0);
}
END_TEST

static int never_open(void *ctx, mcplug_conn *conn, const mcplug_props *settings,
                      void **out, struct mcplug_error *why)
{
    (void)ctx, (void)conn, (void)settings, (void)out, (void)why;
    return MCPLUG_EREFUSED;
}

static int never_send(void *t, mcplug_buf *frame, const struct mcplug_envelope *env,
                      struct mcplug_error *why)
{
    (void)t, (void)frame, (void)env, (void)why;
    return MCPLUG_EREFUSED;
}

static void never(void *t)
{
    (void)t;
}

static const struct mcplug_transport_ops linked_ops = {
    .struct_size = sizeof linked_ops,
    .open = never_open,
    .send = never_send,
    .close = never,
    .destroy = never,
};

static const struct mcplug_feature linked_features[] = {
    {.kind = MCPLUG_TRANSPORT, .name = "carrier", .summary = "birds", .ops = &linked_ops},
};

static const struct mcplug_plugin linked = {
    MCPLUG_HEAD(0),    MCPLUG_FEATURES(linked_features),
    .name = "linked",  .version = "1.0",
    .license = "MIT",  .summary = "Of the program",
    .origin = "tests",
};

static bool find_listed(void *arg, const struct mp_listed *one)
{
    *(bool *)arg |= !one->file && strcmp(one->name, "linked") == 0;
    return true;
}

START_TEST(modules_of_the_program_itself_are_found_and_bad_ones_told_of)
{
    static const struct mcplug_plugin bad = {.magic = 7};
    const struct mcplug_plugin *plugins[] = {&bad, &linked, NULL};
    struct mp_catalogue_options options = {
        .log = &log_stream, .loop = loop, .plugins = plugins, .wire = &wire};
    bool listed = false;

    mp_catalogue_free(cat);
    cat = mp_catalogue_new(&options, &err);
    ck_assert_ptr_nonnull(cat);
    memset(plugins, 0, sizeof plugins); /* a copy is kept */
    const struct mp_offer *offer = find("carrier");
    ck_assert_msg(offer != NULL, "%s", err.text);
    ck_assert_ptr_eq(offer->plugin->descriptor, &linked);
    ck_assert_ptr_null(offer->plugin->file);
    ck_assert_uint_eq(n_lines, 1);
    ck_assert_ptr_nonnull(strstr(lines[0], "(compiled in)"));
    ck_assert_int_eq(mp_catalogue_each(cat, find_listed, &listed), MCPLUG_OK);
    ck_assert(listed);
}
END_TEST

START_TEST(nobody_offers_it_names_the_nearest_file)
{
    place("good.so", "loopback.so");
    ck_assert_ptr_null(find("lopback"));
    ck_assert_ptr_nonnull(strstr(err.text, "no module offers the transport \"lopback\"; "
                                           "did you mean \"loopback\"? (searched: "));
    ck_assert(!is_mapped("loopback.so"));
}
END_TEST

START_TEST(names_that_no_file_can_have_are_offered_by_nobody)
{
    char longer[300];
    memset(longer, 'x', sizeof longer);
    longer[sizeof longer - 1] = '\0';
    place("good.so", "loopback.so");
    ck_assert_int_eq(mkdir(own("sub"), 0755), 0);
    open_catalogue((const char *const[]){own("sub"), NULL});
    ck_assert_ptr_null(find("../loopback"));
    ck_assert_ptr_null(find(""));
    ck_assert_ptr_null(find(longer));
    ck_assert(!is_mapped("loopback.so"));
}
END_TEST

/* ---- the search ---- */

START_TEST(asking_for_one_thing_does_not_map_the_others)
{
    place("good.so", "loopback.so");
    place("other.so", "mirror.so");
    place("wrong_no_version.so", "wrong.so");
    ck_assert_ptr_nonnull(find("loopback"));
    ck_assert(is_mapped("/loopback.so"));
    ck_assert(!is_mapped("/mirror.so"));
    ck_assert(!is_mapped("/wrong.so"));
    ck_assert_ptr_nonnull(find("mirror"));
    ck_assert(is_mapped("/mirror.so"));
}
END_TEST

START_TEST(a_file_of_another_name_is_found_and_those_without_a_hint_stay_unmapped)
{
    place("good.so", "aaa.so");
    place("other.so", "zzz.so");
    const struct mp_offer *offer = find("mirror");
    ck_assert_ptr_nonnull(offer);
    ck_assert_str_eq(offer->plugin->file, own("zzz.so"));
    ck_assert_str_eq(offer->feature.summary, "Says what it is told");
    ck_assert(!is_mapped("/aaa.so"));
    find("nobody-has-this");
    ck_assert(!is_mapped("/aaa.so"));
}
END_TEST

START_TEST(schemes_find_their_transport_whatever_the_case)
{
    place("good.so", "aaa.so");
    place("other.so", "mirrors.so");
    const struct mp_offer *offer = NULL;
    ck_assert_int_eq(mp_catalogue_accepts(cat, MCPLUG_TRANSPORT, "MIRRORS", &offer, &err),
                     MCPLUG_OK);
    ck_assert_str_eq(offer->feature.name, "mirror");
    ck_assert(!is_mapped("/aaa.so"));
    ck_assert_int_eq(
        mp_catalogue_accepts(cat, MCPLUG_TRANSPORT, "Loopback", &offer, &err), MCPLUG_OK);
    ck_assert_str_eq(offer->feature.name, "loopback");
    ck_assert_int_eq(mp_catalogue_accepts(cat, MCPLUG_PROBE, "mirrors", &offer, &err),
                     MCPLUG_ENOTSUP);
    ck_assert_ptr_nonnull(strstr(err.text, "no module offers a probe for \"mirrors\""));
}
END_TEST

START_TEST(directories_are_searched_in_order_options_first_then_the_environment)
{
    ck_assert_int_eq(mkdir(own("a"), 0755) | mkdir(own("b"), 0755), 0);
    place("good.so", "a/loopback.so");
    place("good.so", "b/loopback.so");
    place("other.so", "b/mirror.so");
    char path[2 * PATH_MAX];
    snprintf(path, sizeof path, "relative::%s", own("b"));
    setenv("MCPLUG_PLUGIN_PATH", path, 1);
    open_catalogue((const char *const[]){own("a"), NULL});
    ck_assert_str_eq(find("loopback")->plugin->file, own("a/loopback.so"));
    ck_assert_str_eq(find("mirror")->plugin->file, own("b/mirror.so"));
    ck_assert(logged("1 core: MCPLUG_PLUGIN_PATH: \"relative\" is not an absolute path"));
    find("nobody");
    snprintf(path, sizeof path, "(searched: %s, %s, ", own("a"), own("b"));
    ck_assert_ptr_nonnull(strstr(err.text, path));
}
END_TEST

START_TEST(a_broken_file_hides_no_good_one_further_on)
{
    ck_assert_int_eq(mkdir(own("a"), 0755) | mkdir(own("b"), 0755), 0);
    place("wrong_no_version.so", "a/loopback.so");
    place("good.so", "b/loopback.so");
    open_catalogue((const char *const[]){own("a"), own("b"), NULL});
    ck_assert_str_eq(find("loopback")->plugin->file, own("b/loopback.so"));
    ck_assert_uint_eq(n_lines, 2);
    ck_assert_ptr_nonnull(strstr(lines[0], "a/loopback.so: has no version"));
    ck_assert_str_eq(lines[1], "2 plugin:good: at your service");
}
END_TEST

START_TEST(why_the_file_of_that_name_was_refused_is_part_of_the_answer)
{
    char message[PATH_MAX + 128];
    place("wrong_no_version.so", "http.so");
    ck_assert_ptr_null(find("http"));
    snprintf(message, sizeof message,
             "no module offers the transport \"http\": %s/http.so: has no version",
             own_dir);
    ck_assert_str_eq(err.text, message);
}
END_TEST

struct seen {
    char files[16][PATH_MAX];
    size_t n, builtins, links, most;
};

static bool on_file(void *arg, const struct mp_listed *one)
{
    struct seen *seen = arg;
    if (!one->file)
        seen->builtins++;
    else if (one->again)
        seen->links++;
    else if (strncmp(one->file, own_dir, strlen(own_dir)) == 0)
        strcpy(seen->files[seen->n++], one->file);
    return seen->n < seen->most;
}

START_TEST(each_tells_of_files_and_links_and_loads_none)
{
    place("crash.so", "crash.so");
    place("good.so", "b.so");
    place("good.so", "a.so");
    place("good.so", ".hidden.so");
    place("good.so", "notes.txt");
    ck_assert_int_eq(symlink("b.so", own("c.so")), 0);
    ck_assert_int_eq(symlink("nowhere", own("d.so")), 0);
    ck_assert_int_eq(mkdir(own("e.so"), 0755), 0);
    struct seen seen = {.most = 16};
    ck_assert_int_eq(mp_catalogue_each(cat, on_file, &seen), MCPLUG_OK);
    ck_assert_uint_eq(seen.n, 3);
    ck_assert_uint_eq(seen.links, 1);
    ck_assert_str_eq(seen.files[0], own("a.so"));
    ck_assert_str_eq(seen.files[1], own("b.so"));
    ck_assert_str_eq(seen.files[2], own("crash.so"));
    ck_assert(!is_mapped(own_dir));
    struct seen one = {.most = 1};
    mp_catalogue_each(cat, on_file, &one);
    ck_assert_uint_eq(one.n, 1);
}
END_TEST

START_TEST(modules_compiled_in_come_before_files)
{
    for (size_t i = 0; mp_builtins[i]; i++) {
        struct mcplug_feature f = mp_plugin_feature(mp_builtins[i], 0);
        const struct mp_offer *offer = NULL;
        int r = mp_catalogue_find(cat, f.kind, f.name, &offer, &err);
        ck_assert_msg(r == MCPLUG_OK, "%s", err.text);
        ck_assert_ptr_null(offer->plugin->file);
    }
}
END_TEST

/* ---- who may write ---- */

START_TEST(a_file_that_others_can_write_is_refused)
{
    const char *file = place("good.so", "loopback.so");
    chmod(file, 0664);
    ck_assert_int_eq(load(file), MCPLUG_EINVAL);
    expect_error(file, "it is writable by users other than its owner (mode 0664)");
    chmod(file, 0646);
    ck_assert_int_eq(load(file), MCPLUG_EINVAL);
    expect_error(file, "it is writable by users other than its owner (mode 0646)");
    ck_assert(!is_mapped("/loopback.so"));
    chmod(file, 0644);
    ck_assert_int_eq(load(file), MCPLUG_OK);
}
END_TEST

START_TEST(a_directory_that_others_can_write_is_refused)
{
    char message[PATH_MAX + 128];
    ck_assert_int_eq(mkdir(own("a"), 0755) | mkdir(own("a/b"), 0755), 0);
    const char *file = place("good.so", "a/b/loopback.so");
    chmod(own("a/b"), 01775); /* sticky is not enough for the nearest one */
    ck_assert_int_eq(load(file), MCPLUG_EINVAL);
    snprintf(message, sizeof message,
             "its directory %s is writable by users other than its owner (mode 1775)",
             own("a/b"));
    expect_error(file, message);
    chmod(own("a/b"), 0755);
    chmod(own("a"), 0777);
    ck_assert_int_eq(load(file), MCPLUG_EINVAL);
    chmod(own("a"), 01777);
    ck_assert_int_eq(load(file), MCPLUG_OK);
}
END_TEST

START_TEST(a_link_in_a_directory_that_others_can_write_is_refused)
{
    ck_assert_int_eq(mkdir(own("a"), 0755), 0);
    place("good.so", "loopback.so");
    ck_assert_int_eq(symlink(own("loopback.so"), own("a/link.so")), 0);
    chmod(own("a"), 0777);
    ck_assert_int_eq(load(own("a/link.so")), MCPLUG_EINVAL);
    chmod(own("a"), 0755);
    ck_assert_int_eq(load(own("a/link.so")), MCPLUG_OK);
}
END_TEST

START_TEST(a_file_of_somebody_else_is_refused)
{
    const char *file = place("good.so", "loopback.so");
    const uid_t other = geteuid() == 12345 ? 12346 : 12345;
    char why[100];

    if (chown(file, other, (gid_t)-1) != 0)
        return; /* only root can give files away */
    ck_assert_int_eq(load(file), MCPLUG_EINVAL);
    snprintf(why, sizeof why,
             "belongs to user %u, who is neither root nor the current user",
             (unsigned)other);
    expect_error(file, why);
}
END_TEST

START_TEST(a_map_of_users_has_root_or_not)
{
    ck_assert(mp_uid_map_has_root("         0          0 4294967295\n"));
    ck_assert(mp_uid_map_has_root("1000 1000 1\n0 0 1\n"));
    ck_assert(!mp_uid_map_has_root(""));
    ck_assert(!mp_uid_map_has_root("         0       1000          1\n"));
    ck_assert(!mp_uid_map_has_root("1000 1000 1\n1 100000 65536\n"));
    ck_assert(!mp_uid_map_has_root("nonsense"));
}
END_TEST

START_TEST(who_stands_for_root_does_so_for_installed_files_alone)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    char *file = NULL, *real = NULL, *dir = NULL;

    if (geteuid() != 0)
        return; /* files cannot be given away */
    char path[] = "/tmp/mcplug-owner-XXXXXX";
    ck_assert_ptr_nonnull(mkdtemp(path));
    dir = mp_strdup(path);
    file = mp_path_join(dir, "x.so");
    int fd = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    ck_assert_int_ge(fd, 0);
    close(fd);
    ck_assert_int_eq(chmod(file, 0644), 0);
    ck_assert_int_eq(chown(file, 65534, (gid_t)-1), 0);
    ck_assert_int_eq(chown(dir, 65534, (gid_t)-1), 0);
    struct mp_file_owners owners = {dir, 65534};
    ck_assert_int_eq(mp_plugin_file_check(file, NULL, &real, &err), MCPLUG_EINVAL);
    ck_assert_int_eq(mp_plugin_file_check(file, &owners, &real, &err), MCPLUG_OK);
    mp_free(real);
    owners.installed = "/usr";
    ck_assert_int_eq(mp_plugin_file_check(file, &owners, &real, &err), MCPLUG_EINVAL);
    ck_assert_ptr_nonnull(strstr(
        err.text, "belongs to user 65534, who is neither root nor the current user"));
    owners.installed = dir;
    owners.unmapped_root = 0;
    ck_assert_int_eq(mp_plugin_file_check(file, &owners, &real, &err), MCPLUG_EINVAL);
    owners.unmapped_root = 65533;
    ck_assert_int_eq(mp_plugin_file_check(file, &owners, &real, &err), MCPLUG_EINVAL);
    owners.unmapped_root = 65534;
    ck_assert_int_eq(chmod(file, 0664), 0);
    ck_assert_int_eq(mp_plugin_file_check(file, &owners, &real, &err), MCPLUG_EINVAL);
    ck_assert_ptr_nonnull(
        strstr(err.text, "it is writable by users other than its owner"));
    unlink(file);
    rmdir(dir);
    mp_free(file);
    mp_free(dir);
}
END_TEST

START_TEST(what_is_not_a_file_is_refused)
{
    ck_assert_int_eq(load(own_dir), MCPLUG_EINVAL);
    expect_error(own_dir, "is not a regular file");
    ck_assert_int_eq(load(own("none.so")), MCPLUG_EIO);
    expect_error(own("none.so"), "cannot be found: No such file or directory");
    ck_assert_int_eq(err.os_error, ENOENT);
    ck_assert_int_eq(mkfifo(own("pipe.so"), 0600), 0);
    ck_assert_int_eq(load(own("pipe.so")), MCPLUG_EINVAL);
}
END_TEST

/* ---- the tables ---- */

START_TEST(log_lines_carry_the_name_of_the_module_from_init_to_fini)
{
    place("good.so", "loopback.so");
    ck_assert_ptr_nonnull(find("loopback"));
    mp_catalogue_free(cat);
    cat = NULL;
    ck_assert_uint_eq(n_lines, 2);
    ck_assert_str_eq(lines[0], "2 plugin:good: at your service");
    ck_assert_str_eq(lines[1], "2 plugin:good: good bye");
}
END_TEST

static void on_never(void *arg)
{
    (void)arg;
    ck_abort_msg("ran after its module was gone");
}

static void on_once(void *arg)
{
    ++*(int *)arg;
}

static void on_readable(void *arg, unsigned events)
{
    (void)events;
    ++*(int *)arg;
}

START_TEST(timers_and_watches_left_running_end_with_their_module)
{
    struct mcplug_host host;
    struct mp_catalogue_options options = {.wire = &wire};
    struct mp_events log;
    mp_events_init(&log, on_log, NULL, MCPLUG_LOG_WARN);
    mcplug_self *self = mp_self_new("x", NULL, &log, loop);
    int fds[2], ran = 0, readable = 0;

    mp_host_init(&host, &options, "/h");
    ck_assert_int_eq(pipe(fds), 0);
    mcplug_timer *stopped = host.loop->timer_start(self, 0, on_never, NULL);
    host.loop->timer_start(self, 0, on_once, &ran);
    mcplug_watch *watch =
        host.loop->watch_start(self, fds[0], MCPLUG_READABLE, on_readable, &readable);
    ck_assert_uint_eq(mp_self_running(self), 3);
    host.loop->timer_stop(stopped);
    ck_assert_int_eq(write(fds[1], "x", 1), 1);
    while (!ran || !readable)
        mp_loop_turn(loop, true);
    ck_assert_int_eq(ran, 1);
    ck_assert_int_eq(host.loop->watch_update(watch, 0), MCPLUG_OK);
    ck_assert_uint_eq(mp_self_running(self), 1);
    host.loop->timer_start(self, 1, on_never, NULL);
    mp_self_free(self);
    ck_assert(logged("1 plugin:x: left 2 timers or watches running"));
    usleep(2000);
    mp_loop_turn(loop, false);
    close(fds[0]);
    close(fds[1]);
}
END_TEST

/* ---- libraries ---- */

START_TEST(libraries_of_a_module_are_bound_as_they_are_used)
{
    ck_assert_msg(load(place("needs.so", "needs.so")) == MCPLUG_OK, "%s", err.text);
}
END_TEST

START_TEST(libraries_on_a_search_path_of_the_module_are_found_by_the_loader_alone)
{
    const char *file = place("needs_path.so", "needs_path.so");
    ck_assert_int_eq(load(file), MCPLUG_EINVAL); /* at once, with it */
    ck_assert_ptr_nonnull(strstr(err.text, "undefined symbol: nowhere"));
}
END_TEST

static Suite *make_suite(void)
{
    Suite *suite = suite_create("plugin_catalogue");
    TCase *tc = tcase(suite, "names");
    tcase_add_test(tc, another_file_with_a_name_that_is_taken_is_refused);
    tcase_add_test(tc, links_to_one_file_are_one_module);
    tcase_add_test(tc, nobody_offers_it_names_the_package_of_our_own_ones);
    tcase_add_test(tc, the_package_comes_from_a_list_that_a_distribution_may_replace);
    tcase_add_test(tc, a_list_of_packages_is_read_up_to_its_limit);
    tcase_add_test(tc, modules_of_the_program_itself_are_found_and_bad_ones_told_of);
    tcase_add_test(tc, nobody_offers_it_names_the_nearest_file);
    tcase_add_test(tc, names_that_no_file_can_have_are_offered_by_nobody);

    tc = tcase(suite, "search");
    tcase_add_test(tc, asking_for_one_thing_does_not_map_the_others);
    tcase_add_test(
        tc, a_file_of_another_name_is_found_and_those_without_a_hint_stay_unmapped);
    tcase_add_test(tc, schemes_find_their_transport_whatever_the_case);
    tcase_add_test(tc,
                   directories_are_searched_in_order_options_first_then_the_environment);
    tcase_add_test(tc, a_broken_file_hides_no_good_one_further_on);
    tcase_add_test(tc, why_the_file_of_that_name_was_refused_is_part_of_the_answer);
    tcase_add_test(tc, each_tells_of_files_and_links_and_loads_none);
    tcase_add_test(tc, modules_compiled_in_come_before_files);

    tc = tcase(suite, "files");
    tcase_add_test(tc, a_file_that_others_can_write_is_refused);
    tcase_add_test(tc, a_directory_that_others_can_write_is_refused);
    tcase_add_test(tc, a_link_in_a_directory_that_others_can_write_is_refused);
    tcase_add_test(tc, a_file_of_somebody_else_is_refused);
    tcase_add_test(tc, a_map_of_users_has_root_or_not);
    tcase_add_test(tc, who_stands_for_root_does_so_for_installed_files_alone);
    tcase_add_test(tc, what_is_not_a_file_is_refused);

    tc = tcase(suite, "libraries");
    tcase_add_test(tc, libraries_of_a_module_are_bound_as_they_are_used);
    tcase_add_test(
        tc, libraries_on_a_search_path_of_the_module_are_found_by_the_loader_alone);

    tc = tcase(suite, "tables");
    tcase_add_test(tc, log_lines_carry_the_name_of_the_module_from_init_to_fini);
    tcase_add_test(tc, timers_and_watches_left_running_end_with_their_module);
    return suite;
}

int main(int argc, char **argv)
{
    return modules_find(argc, argv) ? run_to_end(make_suite()) : TEST_SKIP;
}
