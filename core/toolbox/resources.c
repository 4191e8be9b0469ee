#include "toolbox/toolbox.h"

#include "base/error.h"

/* The resource as it came, and whose it is. */
static void add_item(struct mp_str *out, const char *server, mp_view item)
{
    struct mp_walk w = mp_walk_into(item);
    mp_view key, value;

    mp_str_adds(out, "{\"server\":");
    mp_str_add_json(out, server, strlen(server));
    while (mp_walk_member(&w, &key, &value)) {
        if (mp_view_equals(key, "server"))
            continue;
        mp_str_addc(out, ',');
        mp_str_add(out, key.data, key.len);
        mp_str_addc(out, ':');
        mp_str_add(out, value.data, value.len);
    }
    mp_str_addc(out, '}');
}

static void add_all(struct mcplug_toolbox *box, const char *server, struct mp_str *out)
{
    bool first = true;

    mp_str_addc(out, '[');
    for (size_t i = 0; i < box->n_members; i++) {
        const struct mp_box_server *m = box->members[i];
        const mcplug_list *list = m->lists[2];
        if (*server && strcmp(m->name, server) != 0)
            continue;
        for (size_t k = 0; list && k < mcplug_list_count(list); k++) {
            size_t len;
            const char *text = mcplug_list_item(list, k, &len);
            mp_str_adds(out, first ? "" : ",");
            add_item(out, m->name, mp_bytes(text, len));
            first = false;
        }
    }
    mp_str_addc(out, ']');
}

int mp_resources_list(struct mcplug_toolbox *box, const char *server, struct mp_str *out,
                      struct mcplug_error *err)
{
    struct mp_str items;

    if (*server && !mp_toolbox_member(box, server))
        return mp_fail(err, MCPLUG_EINVAL, "there is no server \"%.64s\"", server);
    mp_toolbox_rebuild(box);
    mp_str_init(&items, MP_FRAME_MAX);
    add_all(box, server, &items);
    mp_str_adds(out, "{\"content\":[{\"type\":\"text\",\"text\":");
    if (!items.failed)
        mp_str_add_json(out, items.data, items.len);
    mp_str_adds(out, "}]}");
    bool ok = !items.failed && !out->failed;
    mp_str_clear(&items);
    return ok ? MCPLUG_OK : mp_fail_nomem(err);
}
