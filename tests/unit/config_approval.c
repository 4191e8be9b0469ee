#include "config/approval.h"

#include "config_kit.h"

static struct mp_file approvals;
static struct mp_owners owners;

/* in directories that there are */
#define FILE_A "/usr/.mcp.json"
#define FILE_B "/etc/.mcp.json"
#define ENTRY "{'command':'x','args':['a','b'],'env':{'K':'v'}}"

static void reread(void)
{
    mp_file_clear(&approvals);
    memset(&err, 0, sizeof err);
    int r = mp_approvals_read(at(APPROVALS), &approvals, &err);
    ck_assert_msg(r == MCPLUG_OK, "%s", err.text);
}

static void forget(void)
{
    mp_file_clear(&approvals);
}

static void approve(const char *file, const char *name, const char *text)
{
    int r =
        mp_approvals_add(at(APPROVALS), file, owners, name, mp_text(json(text)), &err);
    ck_assert_msg(r == MCPLUG_OK, "%s", err.text);
}

static enum mcplug_approval ask(const char *file, const char *name, const char *text)
{
    mp_view was = {0};
    enum mcplug_approval got =
        mp_approvals_of(&approvals, file, owners, name, mp_text(json(text)), &was);
    ck_assert((got == MCPLUG_APPROVAL_CHANGED) == (was.len != 0));
    return got;
}

static size_t drop(const char *file, const char *name)
{
    size_t removed = 99;
    int r = mp_approvals_remove(at(APPROVALS), file, name, &removed, &err);
    ck_assert_msg(r == MCPLUG_OK, "%s", err.text);
    reread();
    return removed;
}

/* ---- what is approved ---- */

START_TEST(what_was_never_asked_is_not_approved)
{
    reread();
    ck_assert_int_eq(ask(FILE_A, "s", ENTRY), MCPLUG_APPROVAL_NONE);
    ck_assert_int_eq(mp_approvals_read(NULL, &approvals, &err), MCPLUG_OK);
    ck_assert_int_eq(ask(FILE_A, "s", ENTRY), MCPLUG_APPROVAL_NONE);
    ck_assert(!is_there(APPROVALS));
}
END_TEST

START_TEST(an_approval_is_of_one_file_one_name_and_one_text)
{
    approve(FILE_A, "s", ENTRY);
    reread();
    ck_assert_int_eq(ask(FILE_A, "s", ENTRY), MCPLUG_APPROVAL_GIVEN);
    ck_assert_int_eq(ask(FILE_B, "s", ENTRY), MCPLUG_APPROVAL_NONE);
    ck_assert_int_eq(ask(FILE_A, "t", ENTRY), MCPLUG_APPROVAL_NONE);
    ck_assert_int_eq(ask(FILE_A, "S", ENTRY), MCPLUG_APPROVAL_NONE);
    ck_assert_int_eq(ask(FILE_A, "s", "{'command':'x'}"), MCPLUG_APPROVAL_CHANGED);
}
END_TEST

START_TEST(an_approval_is_of_a_file_of_the_same_users)
{
    static const struct mp_owners others[] = {
        {1000, 0}, {0, 1000}, {1000, 1000}, {0, 10000}};

    approve(FILE_A, "s", ENTRY);
    reread();
    for (size_t i = 0; i < MP_COUNT(others); i++) {
        owners = others[i];
        ck_assert_int_eq(ask(FILE_A, "s", ENTRY), MCPLUG_APPROVAL_NONE);
        ck_assert_int_eq(ask(FILE_A, "s", "{'command':'y'}"), MCPLUG_APPROVAL_NONE);
    }
    approve(FILE_A, "s", ENTRY);
    reread();
    ck_assert_int_eq(ask(FILE_A, "s", ENTRY), MCPLUG_APPROVAL_GIVEN);
    owners = (struct mp_owners){0, 0};
    ck_assert_int_eq(ask(FILE_A, "s", ENTRY), MCPLUG_APPROVAL_NONE);
}
END_TEST

/* One that does not say whose the file was, or of which that was changed. */
START_TEST(whose_it_was_is_covered_by_the_digest)
{
    struct mp_file file;

    approve(FILE_A, "s", ENTRY);
    ck_assert_int_eq(mp_file_read(at(APPROVALS), &file, &err), MCPLUG_OK);
    char *text = strdup(file.text.data), *at_owners = strstr(text, "\"0 0\"");
    mp_file_clear(&file);
    ck_assert_ptr_nonnull(at_owners);
    at_owners[1] = '7';
    put(APPROVALS, text, 0600);
    reread();
    owners.file = 7;
    ck_assert_int_eq(ask(FILE_A, "s", ENTRY), MCPLUG_APPROVAL_CHANGED);
    memcpy(strstr(text, "owners"), "0wners", 6);
    put(APPROVALS, text, 0600);
    reread();
    ck_assert_int_eq(ask(FILE_A, "s", ENTRY), MCPLUG_APPROVAL_NONE);
    free(text);
}
END_TEST

START_TEST(layout_spelling_and_disabled_do_not_count)
{
    static const char *const same[] = {
        "{ 'command' : 'x',\n\t'args': [ 'a' , 'b' ],\r\n 'env': {'K': 'v'}\n}",
        "{'command':'\\u0078','args':['a','\\u0062'],'\\u0065nv':{'K':'v'}}",
        "{'disabled':true,'command':'x','args':['a','b'],'env':{'K':'v'}}",
        "{'command':'x','args':['a','b'],'disabled':false,'env':{'K':'v'}}",
        "{'command':'x','args':['a','b'],'env':{'K':'v'},'dis\\u0061bled':true}",
    };

    approve(FILE_A, "s", ENTRY);
    reread();
    for (size_t i = 0; i < MP_COUNT(same); i++)
        ck_assert_msg(ask(FILE_A, "s", same[i]) == MCPLUG_APPROVAL_GIVEN, "%s", same[i]);
}
END_TEST

START_TEST(every_other_change_has_to_be_approved_again)
{
    static const char *const others[] = {
        "{'command':'y','args':['a','b'],'env':{'K':'v'}}",
        "{'command':'x','args':['b','a'],'env':{'K':'v'}}",
        "{'command':'x','args':['a b'],'env':{'K':'v'}}",
        "{'command':'x','args':['a','b',''],'env':{'K':'v'}}",
        "{'command':'x','args':['a','b'],'env':{'K':'w'}}",
        "{'command':'x','args':['a','b'],'env':{'k':'v'}}",
        "{'command':'x','args':['a','b'],'env':{'K':'v','disabled':true}}",
        "{'command':'x','args':['a','b']}",
        "{'command':'x','args':['a','b'],'env':{'K':'v'},'cwd':'/'}",
        "{'command':'x','args':['a','b'],'env':{'K':'v'},'note':''}",
        "{'command':'x','args':['a','b'],'env':{'K':'v'},'Disabled':true}",
        "{}",
    };

    approve(FILE_A, "s", ENTRY);
    reread();
    for (size_t i = 0; i < MP_COUNT(others); i++)
        ck_assert_msg(ask(FILE_A, "s", others[i]) == MCPLUG_APPROVAL_CHANGED, "%s",
                      others[i]);
}
END_TEST

START_TEST(what_was_approved_is_kept_to_be_shown)
{
    mp_view was = {0};
    approve(FILE_A, "s", "{ 'command' : 'x' , 'disabled':true}");
    reread();
    ck_assert_int_eq(mp_approvals_of(&approvals, FILE_A, owners, "s",
                                     mp_text(json("{'command':'y'}")), &was),
                     MCPLUG_APPROVAL_CHANGED);
    struct mp_str text;
    mp_str_init(&text, 1000);
    ck_assert(mp_json_canonical(was, &text));
    ck_assert_str_eq(text.data, json("{'command':'x','disabled':true}"));
    mp_str_clear(&text);
}
END_TEST

START_TEST(a_new_approval_replaces_the_old_one)
{
    approve(FILE_A, "s", ENTRY);
    approve(FILE_A, "s", "{'command':'y'}");
    approve(FILE_A, "t", "{'command':'z'}");
    reread();
    ck_assert_int_eq(ask(FILE_A, "s", "{'command':'y'}"), MCPLUG_APPROVAL_GIVEN);
    ck_assert_int_eq(ask(FILE_A, "s", ENTRY), MCPLUG_APPROVAL_CHANGED);
    ck_assert_int_eq(ask(FILE_A, "t", "{'command':'z'}"), MCPLUG_APPROVAL_GIVEN);
}
END_TEST

START_TEST(file_and_name_are_told_apart)
{
    char one[MP_SHA256_HEX + 1], two[MP_SHA256_HEX + 1];
    mp_view e = mp_text(json(ENTRY));

    ck_assert(mp_approval_digest("/ab", "c", e, one));
    ck_assert(mp_approval_digest("/a", "bc", e, two));
    ck_assert_str_ne(one, two);
    ck_assert(mp_approval_digest("/ab", "c", e, two));
    ck_assert_str_eq(one, two);
    ck_assert_uint_eq(strlen(one), MP_SHA256_HEX);
}
END_TEST

START_TEST(paths_of_any_kind_can_be_keys)
{
    static const char *const names[] = {"with space/.mcp.json", "a\"b\\c/.mcp.json",
                                        "new\nline/.mcp.json",
                                        "\xc3\xa4/\xe2\x82\xac.json"};
    char files[MP_COUNT(names) + 1][512] = {"", "", "", "", "/"};

    for (size_t i = 0; i < MP_COUNT(files); i++) {
        if (i < MP_COUNT(names)) {
            make_dirs(names[i]);
            snprintf(files[i], sizeof files[i], "%s", at(names[i]));
        }
        approve(files[i], "s", ENTRY);
    }
    reread();
    for (size_t i = 0; i < MP_COUNT(files); i++)
        ck_assert_int_eq(ask(files[i], "s", ENTRY), MCPLUG_APPROVAL_GIVEN);
    ck_assert_uint_eq(drop(files[1], "s"), 1);
    ck_assert_int_eq(ask(files[1], "s", ENTRY), MCPLUG_APPROVAL_NONE);
    ck_assert_int_eq(ask(files[2], "s", ENTRY), MCPLUG_APPROVAL_GIVEN);
}
END_TEST

START_TEST(a_digest_alone_or_an_entry_alone_approves_nothing)
{
    char digest[MP_SHA256_HEX + 1];
    char text[1024];

    ck_assert(mp_approval_digest(FILE_A, "s", mp_text(json(ENTRY)), digest));
    snprintf(text, sizeof text, "{'approved':{'" FILE_A "':{'s':'%s'}}}", digest);
    give(APPROVALS, text);
    reread();
    ck_assert_int_eq(ask(FILE_A, "s", ENTRY), MCPLUG_APPROVAL_NONE);
    give(APPROVALS, "{'approved':{'" FILE_A "':{'s':{'entry':" ENTRY "}}}}");
    reread();
    ck_assert_int_eq(ask(FILE_A, "s", ENTRY), MCPLUG_APPROVAL_NONE);
    give(APPROVALS,
         "{'approved':{'" FILE_A "':{'s':{'owners':'0 0','entry':" ENTRY "}}}}");
    reread();
    ck_assert_int_eq(ask(FILE_A, "s", ENTRY), MCPLUG_APPROVAL_CHANGED);
    give(APPROVALS, "{'approved':{'" FILE_A "':{'s':{'digest':''}}}}");
    reread();
    ck_assert_int_eq(ask(FILE_A, "s", ENTRY), MCPLUG_APPROVAL_NONE);
    give(APPROVALS, "{'approved':{'" FILE_A "':{'s':true}}}");
    reread();
    ck_assert_int_eq(ask(FILE_A, "s", ENTRY), MCPLUG_APPROVAL_NONE);
    give(APPROVALS, "{'approved':true}");
    reread();
    ck_assert_int_eq(ask(FILE_A, "s", ENTRY), MCPLUG_APPROVAL_NONE);
    give(APPROVALS, "[]");
    reread();
    ck_assert_int_eq(ask(FILE_A, "s", ENTRY), MCPLUG_APPROVAL_NONE);
}
END_TEST

START_TEST(blanks_before_the_text_lose_no_approval)
{
    approve(FILE_A, "s", ENTRY);
    struct mp_file file;
    ck_assert_int_eq(mp_file_read(at(APPROVALS), &file, &err), MCPLUG_OK);
    char *text = malloc(file.text.len + 8);
    snprintf(text, file.text.len + 8, "\n  %s", file.text.data);
    put(APPROVALS, text, 0600);
    free(text);
    mp_file_clear(&file);
    reread();
    ck_assert_int_eq(ask(FILE_A, "s", ENTRY), MCPLUG_APPROVAL_GIVEN);
    ck_assert_uint_eq(drop(FILE_A, "s"), 1);
    ck_assert_int_eq(ask(FILE_A, "s", ENTRY), MCPLUG_APPROVAL_NONE);
}
END_TEST

/* ---- the file ---- */

START_TEST(the_file_is_the_users_alone)
{
    approve(FILE_A, "s", ENTRY);
    ck_assert_int_eq(look(APPROVALS).st_mode & 07777, 0600);
    ck_assert_int_eq(look("home/.local/state/mcplug").st_mode & 07777, 0700);
}
END_TEST

static void refused(const char *why)
{
    mp_file_clear(&approvals);
    memset(&err, 0, sizeof err);
    ck_assert_int_eq(mp_approvals_read(at(APPROVALS), &approvals, &err), MCPLUG_ECONFIG);
    ck_assert_msg(strncmp(err.text, top, strlen(top)) == 0, "%s", err.text);
    HAS(err.text, why);
    ck_assert_int_eq(ask(FILE_A, "s", ENTRY), MCPLUG_APPROVAL_NONE);
}

START_TEST(a_file_that_others_could_have_written_counts_as_empty)
{
    approve(FILE_A, "s", ENTRY);
    ck_assert_int_eq(chmod(at(APPROVALS), 0602), 0);
    refused("other users can change it");
    ck_assert_int_eq(chmod(at(APPROVALS), 0620), 0);
    refused("other users can change it");
    ck_assert_int_eq(chmod(at(APPROVALS), 0600), 0);
    reread();
    ck_assert_int_eq(ask(FILE_A, "s", ENTRY), MCPLUG_APPROVAL_GIVEN);
    if (getuid() == 0) {
        ck_assert_int_eq(chown(at(APPROVALS), NOBODY, NOBODY), 0);
        refused("other users can change it");
    }
}
END_TEST

START_TEST(a_broken_file_counts_as_empty_and_is_not_overwritten)
{
    size_t removed;

    give(APPROVALS, "{'approved':\n {'" FILE_A "':{'s':{}},}}");
    refused("approvals.json:2:");
    ck_assert_int_eq(
        mp_approvals_add(at(APPROVALS), FILE_A, owners, "s", mp_text(json(ENTRY)), &err),
        MCPLUG_ECONFIG);
    HAS(err.text, "approvals.json:2:");
    ck_assert_int_eq(mp_approvals_remove(at(APPROVALS), FILE_A, "s", &removed, &err),
                     MCPLUG_ECONFIG);
    ck_assert_uint_eq(removed, 0);
    holds(APPROVALS, json("{'approved':\n {'" FILE_A "':{'s':{}},}}"));
    ck_assert_int_eq(mp_approvals_remove(at(APPROVALS), NULL, NULL, &removed, &err),
                     MCPLUG_OK);
    ck_assert_uint_eq(removed, 0);
    holds(APPROVALS, "{}\n"); /* to forget everything mends it */
    give(APPROVALS, "{'approved':[]}");
    ck_assert_int_eq(
        mp_approvals_add(at(APPROVALS), FILE_A, owners, "s", mp_text(json(ENTRY)), &err),
        MCPLUG_ECONFIG);
    holds(APPROVALS, json("{'approved':[]}"));
}
END_TEST

START_TEST(a_directory_in_its_place_is_an_error)
{
    make_dirs(APPROVALS "/");
    refused("is a directory");
}
END_TEST

START_TEST(an_empty_file_takes_approvals)
{
    give(APPROVALS, "");
    approve(FILE_A, "s", ENTRY);
    reread();
    ck_assert_int_eq(ask(FILE_A, "s", ENTRY), MCPLUG_APPROVAL_GIVEN);
}
END_TEST

START_TEST(other_members_of_the_file_stay)
{
    give(APPROVALS, "{\n    'mine': [1,  2]\n}\n");
    approve(FILE_A, "s", "{'command':'x'}");
    struct mp_file file;
    ck_assert_int_eq(mp_file_read(at(APPROVALS), &file, &err), MCPLUG_OK);
    HAS(file.text.data, json("{\n    'mine': [1,  2],\n    'approved': {"));
    mp_file_clear(&file);
}
END_TEST

START_TEST(without_a_home_nothing_can_be_kept)
{
    size_t removed = 7;
    ck_assert_int_eq(
        mp_approvals_add(NULL, FILE_A, owners, "s", mp_text(json(ENTRY)), &err),
        MCPLUG_EIO);
    HAS(err.text, "no home directory");
    ck_assert_int_eq(mp_approvals_remove(NULL, NULL, NULL, &removed, &err), MCPLUG_OK);
    ck_assert_uint_eq(removed, 0);
}
END_TEST

/* ---- taking back ---- */

START_TEST(one_those_of_a_file_or_all_can_be_taken_back)
{
    approve(FILE_A, "s", ENTRY);
    approve(FILE_A, "t", ENTRY);
    approve(FILE_A, "u", ENTRY);
    approve(FILE_B, "s", ENTRY);
    approve("/dev/.mcp.json", "s", ENTRY);
    ck_assert_uint_eq(drop(FILE_A, "none"), 0);
    ck_assert_uint_eq(drop("/none", NULL), 0);
    ck_assert_uint_eq(drop(FILE_A, "s"), 1);
    ck_assert_int_eq(ask(FILE_A, "s", ENTRY), MCPLUG_APPROVAL_NONE);
    ck_assert_int_eq(ask(FILE_A, "t", ENTRY), MCPLUG_APPROVAL_GIVEN);
    ck_assert_uint_eq(drop(FILE_A, NULL), 2);
    ck_assert_int_eq(ask(FILE_A, "t", ENTRY), MCPLUG_APPROVAL_NONE);
    ck_assert_int_eq(ask(FILE_B, "s", ENTRY), MCPLUG_APPROVAL_GIVEN);
    ck_assert_uint_eq(drop(NULL, NULL), 2);
    ck_assert_int_eq(ask(FILE_B, "s", ENTRY), MCPLUG_APPROVAL_NONE);
    ck_assert_uint_eq(drop(NULL, NULL), 0);
    approve(FILE_A, "s", ENTRY);
    reread();
    ck_assert_int_eq(ask(FILE_A, "s", ENTRY), MCPLUG_APPROVAL_GIVEN);
}
END_TEST

START_TEST(taking_back_where_there_is_nothing_makes_no_file)
{
    ck_assert_uint_eq(drop(NULL, NULL), 0);
    ck_assert_uint_eq(drop(FILE_A, "s"), 0);
    ck_assert(!is_there("home/.local"));
}
END_TEST

/* ---- forgetting ---- */

START_TEST(what_was_approved_in_a_directory_that_is_gone_is_forgotten)
{
    char gone[512], kept[512];

    make_dirs("gone/");
    make_dirs("kept/");
    snprintf(gone, sizeof gone, "%s", at("gone/.mcp.json"));
    snprintf(kept, sizeof kept, "%s",
             at("kept/.mcp.json")); /* the file need not be there */
    approve(gone, "s", ENTRY);
    approve(gone, "t", ENTRY);
    approve(kept, "s", ENTRY);
    ck_assert_int_eq(rmdir(at("gone")), 0);
    reread();
    ck_assert_int_eq(ask(gone, "s", ENTRY),
                     MCPLUG_APPROVAL_GIVEN); /* reading writes nothing */
    approve(FILE_A, "s", ENTRY);
    reread();
    ck_assert_int_eq(ask(gone, "s", ENTRY), MCPLUG_APPROVAL_NONE);
    ck_assert_int_eq(ask(gone, "t", ENTRY), MCPLUG_APPROVAL_NONE);
    ck_assert_int_eq(ask(kept, "s", ENTRY), MCPLUG_APPROVAL_GIVEN);
    ck_assert_int_eq(ask(FILE_A, "s", ENTRY), MCPLUG_APPROVAL_GIVEN);
    ck_assert_ptr_null(strstr(approvals.text.data, "gone"));
    put("kept/x", "", 0600); /* what is not a directory any more is gone, too */
    snprintf(gone, sizeof gone, "%s", at("kept/x/.mcp.json"));
    approve(gone, "s", ENTRY);
    approve(FILE_B, "s", ENTRY);
    reread();
    ck_assert_int_eq(ask(gone, "s", ENTRY), MCPLUG_APPROVAL_NONE);
    ck_assert_int_eq(ask(kept, "s", ENTRY), MCPLUG_APPROVAL_GIVEN);
}
END_TEST

/* Approvals "sN" of FILE_A, from the oldest on, each with `size` bytes; and a member that
 * is none of ours. */
static void fill(size_t n, size_t size)
{
    struct mp_str text;
    char *pad = calloc(1, size + 1);

    memset(pad, 'x', size);
    mp_str_init(&text, (size_t)4 << 20);
    mp_str_adds(&text, "{\"mine\":1,\"approved\":{\"" FILE_A "\":{");
    for (size_t i = 0; i < n; i++) {
        size_t k = (i * 11 + 3) % n; /* in no order */
        mp_str_addf(
            &text,
            "%s\"s%zu\":{\"at\":\"2020-01-01T00:%02zu:%02zuZ\",\"owners\":\"0 0\","
            "\"entry\":{\"x\":\"",
            i ? "," : "", k, k / 60, k % 60);
        mp_str_add(&text, pad, size);
        mp_str_adds(&text, "\"}}");
    }
    mp_str_adds(&text, "}}}\n");
    make_dirs(APPROVALS);
    put(APPROVALS, text.data, 0600);
    mp_str_clear(&text);
    free(pad);
}

static size_t kept_of(size_t n, size_t *oldest)
{
    size_t found = 0;
    char name[32];

    *oldest = n;
    for (size_t i = n; i-- > 0;) {
        snprintf(name, sizeof name, "s%zu", i);
        if (ask(FILE_A, name, ENTRY) == MCPLUG_APPROVAL_CHANGED) {
            found++;
            *oldest = i;
        }
    }
    return found;
}

START_TEST(the_oldest_of_too_many_are_forgotten)
{
    size_t oldest;

    fill(MP_APPROVALS_MAX, 1);
    reread();
    ck_assert_uint_eq(kept_of(MP_APPROVALS_MAX, &oldest), MP_APPROVALS_MAX);
    approve(FILE_A, "s5", ENTRY); /* in place of another */
    reread();
    ck_assert_uint_eq(kept_of(MP_APPROVALS_MAX, &oldest), MP_APPROVALS_MAX - 1);
    ck_assert_uint_eq(oldest, 0);
    ck_assert_int_eq(ask(FILE_A, "s5", ENTRY), MCPLUG_APPROVAL_GIVEN);
    approve(FILE_B, "new", ENTRY);
    reread();
    ck_assert_uint_eq(kept_of(MP_APPROVALS_MAX, &oldest), MP_APPROVALS_MAX - 2);
    ck_assert_uint_eq(oldest, 1);
    ck_assert_int_eq(ask(FILE_B, "new", ENTRY), MCPLUG_APPROVAL_GIVEN);
    ck_assert_int_eq(ask(FILE_A, "s5", ENTRY), MCPLUG_APPROVAL_GIVEN);
    fill(MP_APPROVALS_MAX + 50, 1);
    approve(FILE_B, "new", ENTRY);
    reread();
    ck_assert_uint_eq(kept_of(MP_APPROVALS_MAX + 50, &oldest), MP_APPROVALS_MAX - 1);
    ck_assert_uint_eq(oldest, 51);
    HAS(approvals.text.data, "\"mine\"");
}
END_TEST

START_TEST(approvals_never_fill_their_file)
{
    size_t oldest, n = MP_FILE_MAX / 60000 - 1, fit = MP_APPROVALS_BYTES / 60000;

    fill(n, 59800);
    reread();
    ck_assert_uint_eq(kept_of(n, &oldest), n);
    approve(FILE_B, "new", ENTRY);
    reread();
    ck_assert_uint_eq(kept_of(n, &oldest), fit);
    ck_assert_uint_eq(oldest, n - fit);
    ck_assert_int_eq(ask(FILE_B, "new", ENTRY), MCPLUG_APPROVAL_GIVEN);
    ck_assert_uint_lt(approvals.text.len, MP_FILE_MAX / 2 + 1000);
}
END_TEST

START_TEST(messages_name_the_file)
{
    size_t removed;

    give(APPROVALS, "{'approved':[]}");
    ck_assert_int_eq(
        mp_approvals_add(at(APPROVALS), FILE_A, owners, "s", mp_text(json(ENTRY)), &err),
        MCPLUG_ECONFIG);
    says(at(APPROVALS), ": \"approved\" is not an object");
    give(APPROVALS, "{'approved':{'" FILE_A "':7}}");
    memset(&err, 0, sizeof err);
    ck_assert_int_eq(
        mp_approvals_add(at(APPROVALS), FILE_A, owners, "s", mp_text(json(ENTRY)), &err),
        MCPLUG_ECONFIG);
    ck_assert_msg(strncmp(err.text, at(APPROVALS), strlen(at(APPROVALS))) == 0, "%s",
                  err.text);
    give(APPROVALS, "{");
    memset(&err, 0, sizeof err);
    ck_assert_int_eq(mp_approvals_remove(at(APPROVALS), FILE_A, "s", &removed, &err),
                     MCPLUG_ECONFIG);
    ck_assert_msg(strncmp(err.text, at(APPROVALS), strlen(at(APPROVALS))) == 0, "%s",
                  err.text);
}
END_TEST

static void add(TCase *t)
{
    tcase_add_checked_fixture(t, world, unload);
    tcase_add_checked_fixture(t, NULL, forget);
    tcase_add_test(t, what_was_never_asked_is_not_approved);
    tcase_add_test(t, an_approval_is_of_one_file_one_name_and_one_text);
    tcase_add_test(t, an_approval_is_of_a_file_of_the_same_users);
    tcase_add_test(t, whose_it_was_is_covered_by_the_digest);
    tcase_add_test(t, layout_spelling_and_disabled_do_not_count);
    tcase_add_test(t, every_other_change_has_to_be_approved_again);
    tcase_add_test(t, what_was_approved_is_kept_to_be_shown);
    tcase_add_test(t, a_new_approval_replaces_the_old_one);
    tcase_add_test(t, file_and_name_are_told_apart);
    tcase_add_test(t, paths_of_any_kind_can_be_keys);
    tcase_add_test(t, a_digest_alone_or_an_entry_alone_approves_nothing);
    tcase_add_test(t, blanks_before_the_text_lose_no_approval);
    tcase_add_test(t, the_file_is_the_users_alone);
    tcase_add_test(t, a_file_that_others_could_have_written_counts_as_empty);
    tcase_add_test(t, a_broken_file_counts_as_empty_and_is_not_overwritten);
    tcase_add_test(t, a_directory_in_its_place_is_an_error);
    tcase_add_test(t, an_empty_file_takes_approvals);
    tcase_add_test(t, other_members_of_the_file_stay);
    tcase_add_test(t, without_a_home_nothing_can_be_kept);
    tcase_add_test(t, one_those_of_a_file_or_all_can_be_taken_back);
    tcase_add_test(t, taking_back_where_there_is_nothing_makes_no_file);
    tcase_add_test(t, what_was_approved_in_a_directory_that_is_gone_is_forgotten);
    tcase_add_test(t, the_oldest_of_too_many_are_forgotten);
    tcase_add_test(t, approvals_never_fill_their_file);
    tcase_add_test(t, messages_name_the_file);
}

int main(void)
{
    return run_suite("config_approval", add);
}
