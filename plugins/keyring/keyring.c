/* keyring: secrets that the desktop keeps for its user (GNOME Keyring, KWallet,
 * KeePassXC: whatever offers the Secret Service on the session's D-Bus). They are made
 * with
 *
 *   secret-tool store --label=NAME service mcplug name NAME
 *
 * Each lookup has a thread of its own, which ends with it. Signals are blocked there, and
 * so in the threads that GLib starts from it; and what has to be waited for is waited for
 * in a context of its own, where nothing of the host's GLib is, if it has any. libsecret
 * may keep silent when a keyring or the session goes away while a person is asked. So
 * there is a clock, and a lookup that nobody ends is left behind. */
#include <mcplug/plugin.h>

#include <libsecret/secret.h>

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>

#define LOOKUP_S 50 /* a person may have to type a password, */
#define GRACE_S 5   /* and the prompt has to go away when it took too long */

struct module {
    const struct mcplug_host *host;
};

/* One lookup. All but the outcome belongs to its thread. */
struct lookup {
    const char *name;
    GMainContext *context;
    GCancellable *late; /* cancelled when the time is over */
    int seconds;        /* since it began */
    int lost;           /* of these without a bus */
    GAsyncResult *result;
    GDBusConnection *bus;
    gboolean exits; /* what the bus was set to */
    SecretService *service;
    GList *items; /* at most one */
    /* the outcome: a secret, or why there is none */
    SecretValue *secret;
    int code;
    char text[480];
};

/* Whoever stores a secret may name another schema, or none. */
static const SecretSchema schema = {
    .name = "mcplug",
    .flags = SECRET_SCHEMA_DONT_MATCH_NAME,
    .attributes = {{"service", SECRET_SCHEMA_ATTRIBUTE_STRING},
                   {"name", SECRET_SCHEMA_ATTRIBUTE_STRING}},
};

/* ---- reasons ---- */

/* False, so that steps can end with it. */
static gboolean refuse(struct lookup *l, int code, const char *fmt, ...)
    G_GNUC_PRINTF(3, 4);

static gboolean refuse(struct lookup *l, int code, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    g_vsnprintf(l->text, sizeof l->text, fmt, ap);
    va_end(ap);
    l->code = code;
    return FALSE;
}

static gboolean refuse_late(struct lookup *l)
{
    return refuse(l, MCPLUG_ETIMEDOUT, "keyring: no answer for \"%s\" within %d s",
                  l->name, LOOKUP_S);
}

/* take `e` */
static gboolean refuse_for(struct lookup *l, const char *what, GError *e)
{
    if (g_cancellable_is_cancelled(l->late)) {
        refuse_late(l);
    } else if (g_error_matches(e, G_DBUS_ERROR, G_DBUS_ERROR_SERVICE_UNKNOWN) ||
               g_error_matches(e, G_DBUS_ERROR, G_DBUS_ERROR_NAME_HAS_NO_OWNER)) {
        refuse(l, MCPLUG_EREFUSED,
               "keyring: this desktop session has no keyring service, so there is no "
               "secret \"%s\"",
               l->name);
    } else if (g_error_matches(e, G_IO_ERROR, G_IO_ERROR_TIMED_OUT) ||
               g_error_matches(e, G_DBUS_ERROR, G_DBUS_ERROR_NO_REPLY)) {
        refuse(l, MCPLUG_ETIMEDOUT, "keyring: the service does not answer for \"%s\"",
               l->name);
    } else {
        if (e)
            g_dbus_error_strip_remote_error(e);
        refuse(l, MCPLUG_EREFUSED, "keyring: %s \"%s\": %s", what, l->name,
               e ? e->message : "no reason was given");
    }
    g_clear_error(&e);
    return FALSE;
}

/* ---- waiting, in the thread ---- */

static gboolean on_second(gpointer arg)
{
    struct lookup *l = arg;

    l->seconds++;
    l->lost += l->bus && g_dbus_connection_is_closed(l->bus);
    if (l->seconds == LOOKUP_S)
        g_cancellable_cancel(l->late);
    return G_SOURCE_CONTINUE;
}

static gboolean is_hopeless(const struct lookup *l)
{
    return l->seconds >= LOOKUP_S + GRACE_S || l->lost > 1;
}

static void on_result(GObject *source, GAsyncResult *result, gpointer arg)
{
    struct lookup *l = arg;
    (void)source;
    l->result = g_object_ref(result);
}

/* The result of the call just begun, to be dropped with g_object_unref(). NULL: it never
 * came, and never will, because nobody looks into the context any more. */
static GAsyncResult *await(struct lookup *l)
{
    while (!l->result && !is_hopeless(l))
        g_main_context_iteration(l->context, TRUE);
    if (!l->result && l->lost)
        refuse(l, MCPLUG_EREFUSED,
               "keyring: the desktop session ended during the lookup of \"%s\"", l->name);
    else if (!l->result)
        refuse_late(l);
    return g_steal_pointer(&l->result);
}

/* ---- the steps, in the thread ---- */

/* Without any, GLib would start a bus for the whole session. */
static gboolean has_bus(void)
{
    const char *address = secure_getenv("DBUS_SESSION_BUS_ADDRESS");
    struct stat st;

    if (address && *address)
        return TRUE;
    char *path = g_build_filename(g_get_user_runtime_dir(), "bus", NULL);
    gboolean found = stat(path, &st) == 0 && S_ISSOCK(st.st_mode);
    g_free(path);
    return found;
}

/* The process's one connection with this bus: ours alone, unless the host has it too. It
 * comes set to end the process when it is lost. For us it may not, and the host finds it
 * as it was. */
static gboolean reach_bus(struct lookup *l)
{
    GError *e = NULL;

    if (!has_bus())
        return refuse(l, MCPLUG_EREFUSED,
                      "keyring: no desktop session here (no D-Bus session bus), so there "
                      "is no secret \"%s\"",
                      l->name);
    g_bus_get(G_BUS_TYPE_SESSION, l->late, on_result, l);
    GAsyncResult *result = await(l);
    if (!result)
        return FALSE;
    l->bus = g_bus_get_finish(result, &e);
    g_object_unref(result);
    if (!l->bus)
        return refuse_for(l, "the desktop session cannot be asked for", e);
    l->exits = g_dbus_connection_get_exit_on_close(l->bus);
    g_dbus_connection_set_exit_on_close(l->bus, FALSE);
    return TRUE;
}

static void leave_bus(struct lookup *l)
{
    if (l->exits && !g_dbus_connection_is_closed(l->bus))
        g_dbus_connection_set_exit_on_close(l->bus, TRUE);
    g_clear_object(&l->bus);
}

static gboolean reach_service(struct lookup *l)
{
    GError *e = NULL;

    secret_service_open(SECRET_TYPE_SERVICE, NULL, SECRET_SERVICE_NONE, l->late,
                        on_result, l);
    GAsyncResult *result = await(l);
    if (!result)
        return FALSE;
    l->service = secret_service_open_finish(result, &e);
    g_object_unref(result);
    return l->service || refuse_for(l, "the keyring cannot be asked for", e);
}

static gboolean search(struct lookup *l)
{
    GHashTable *attributes = g_hash_table_new(g_str_hash, g_str_equal);
    GError *e = NULL;

    g_hash_table_insert(attributes, (gpointer) "service", (gpointer) "mcplug");
    g_hash_table_insert(attributes, (gpointer) "name", (gpointer)l->name);
    secret_service_search(l->service, &schema, attributes, SECRET_SEARCH_NONE, l->late,
                          on_result, l);
    g_hash_table_unref(attributes);
    GAsyncResult *result = await(l);
    if (!result)
        return FALSE;
    l->items = secret_service_search_finish(l->service, result, &e);
    g_object_unref(result);
    if (e)
        return refuse_for(l, "the keyring cannot be searched for", e);
    return l->items || refuse(l, MCPLUG_EREFUSED,
                              "keyring: there is no secret \"%s\" (create it with: "
                              "secret-tool store --label=NAME service mcplug name NAME)",
                              l->name);
}

/* A person may be asked here. */
static gboolean unlock(struct lookup *l)
{
    GList *unlocked = NULL;
    GError *e = NULL;

    if (!secret_item_get_locked(l->items->data))
        return TRUE;
    secret_service_unlock(l->service, l->items, l->late, on_result, l);
    GAsyncResult *result = await(l);
    if (!result)
        return FALSE;
    gint n = secret_service_unlock_finish(l->service, result, &unlocked, &e);
    g_object_unref(result);
    g_list_free_full(unlocked, g_object_unref);
    if (e)
        return refuse_for(l, "the keyring is locked, and cannot be unlocked for", e);
    if (n > 0)
        return TRUE;
    if (g_cancellable_is_cancelled(l->late))
        return refuse(
            l, MCPLUG_ETIMEDOUT,
            "keyring: the keyring is locked, and was not unlocked for \"%s\" within %d s",
            l->name, LOOKUP_S);
    return refuse(l, MCPLUG_EREFUSED,
                  "keyring: the keyring is locked, and was not unlocked for \"%s\"",
                  l->name);
}

static gboolean read_secret(struct lookup *l)
{
    SecretItem *item = l->items->data;
    GError *e = NULL;

    secret_item_load_secret(item, l->late, on_result, l);
    GAsyncResult *result = await(l);
    if (!result)
        return FALSE;
    gboolean loaded = secret_item_load_secret_finish(item, result, &e);
    g_object_unref(result);
    if (!loaded)
        return refuse_for(l, "the keyring refused to return", e);
    l->secret = secret_item_get_secret(item);
    return l->secret || refuse_for(l, "the keyring refused to return", NULL);
}

/* ---- the thread ---- */

/* What libsecret would write to stderr comes back as an error too. */
static void on_message(const gchar *domain, GLogLevelFlags level, const gchar *text,
                       gpointer arg)
{
    (void)domain, (void)level, (void)text, (void)arg;
}

static void look_up(struct lookup *l)
{
    GSource *clock = g_timeout_source_new_seconds(1);

    g_source_set_callback(clock, on_second, l, NULL);
    g_source_attach(clock, l->context);
    if (reach_bus(l) && reach_service(l) && search(l) && unlock(l))
        read_secret(l);
    g_list_free_full(l->items, g_object_unref);
    g_clear_object(&l->service);
    leave_bus(l);
    g_source_destroy(clock);
    g_source_unref(clock);
}

static gpointer lookup_run(gpointer arg)
{
    struct lookup *l = arg;
    guint quiet = g_log_set_handler(
        "libsecret", G_LOG_LEVEL_MESSAGE | G_LOG_LEVEL_WARNING, on_message, NULL);

    l->context = g_main_context_new();
    l->late = g_cancellable_new();
    g_main_context_push_thread_default(l->context);
    look_up(l);
    if (!is_hopeless(l)) /* else a call hangs on it, which will not be ended */
        while (g_main_context_iteration(l->context, FALSE))
            ;
    g_main_context_pop_thread_default(l->context);
    if (!is_hopeless(l))
        g_main_context_unref(l->context);
    g_object_unref(l->late);
    g_log_remove_handler("libsecret", quiet);
    return NULL;
}

static GThread *lookup_start(struct lookup *l)
{
    sigset_t all, before;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    GThread *thread = g_thread_try_new("keyring", lookup_run, l, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return thread;
}

static int keyring_get(void *ctx, const char *name, mcplug_buf **out,
                       struct mcplug_error *err)
{
    const struct mcplug_host *host = ((const struct module *)ctx)->host;
    struct lookup l = {.name = name};
    GThread *thread = lookup_start(&l);
    gsize len = 0;

    if (!thread)
        return host->diag->fail(err, MCPLUG_ENOMEM, "keyring: cannot start a thread");
    g_thread_join(thread);
    if (!l.secret)
        return host->diag->fail(err, l.code, "%s", l.text);
    const gchar *bytes = secret_value_get(l.secret, &len);
    mcplug_buf *buf = host->mem->buf_new(bytes, len);
    secret_value_unref(l.secret); /* overwrites it */
    if (!buf)
        return host->diag->fail(err, MCPLUG_ENOMEM, "out of memory");
    *out = buf;
    return MCPLUG_OK;
}

/* ---- the module ---- */

/* GLib has SIGPIPE ignored once it has a socket, but that is not ours to decide. It does
 * without: its writes say MSG_NOSIGNAL. The lock is for two hosts that begin at the same
 * time: the second one would take what GLib did for the first one as the program's own
 * wish. */
static void load_sockets(void)
{
    static pthread_mutex_t alone = PTHREAD_MUTEX_INITIALIZER;
    struct sigaction pipe;

    pthread_mutex_lock(&alone);
    sigaction(SIGPIPE, NULL, &pipe);
    g_type_class_unref(g_type_class_ref(G_TYPE_SOCKET));
    sigaction(SIGPIPE, &pipe, NULL);
    pthread_mutex_unlock(&alone);
}

static int keyring_init(const struct mcplug_host *host, mcplug_self *self, void **ctx,
                        struct mcplug_error *err)
{
    struct module *module = host->mem->alloc(sizeof *module);
    (void)self;
    if (!module)
        return host->diag->fail(err, MCPLUG_ENOMEM, "out of memory");
    module->host = host;
    *ctx = module;
    load_sockets();
    return MCPLUG_OK;
}

static void keyring_fini(void *ctx)
{
    struct module *module = ctx;
    module->host->mem->free(module);
}

static const struct mcplug_vault_ops ops = {
    .struct_size = sizeof ops,
    .get = keyring_get,
};

static const struct mcplug_feature features[] = {
    {
        .kind = MCPLUG_VAULT,
        .name = "keyring",
        .summary = "secrets of the desktop's keyring: ${keyring:NAME}",
        .ops = &ops,
    },
};

MCPLUG_PLUGIN(keyring) = {
    MCPLUG_HEAD(2),       MCPLUG_FEATURES(features),
    .name = "keyring",    .version = "1.0",
    .license = "MIT",     .summary = "Secrets of the desktop's keyring",
    .init = keyring_init, .fini = keyring_fini,
};
