# fleet.awk - the figures of mcplug (first file) and the SDK (second) as a table: medians,
# the least and the most, and the ratio of the medians. For fleet.sh, which sets `title`.
# Fails when the two do not have the same servers and tools.
FNR == 1 { who++ }
{
    n[who]++
    for (i = 1; i <= NF; i++) {
        split($i, pair, "=")
        value[who, pair[1], n[who]] = pair[2]
    }
    value[who, "whole_kb", n[who]] = value[who, "pss_kb", n[who]] + \
        value[who, "helpers_kb", n[who]]
}
function sorted(who, key, at,    i, j, swap) {
    for (i = 1; i <= n[who]; i++) {
        at[i] = value[who, key, i] + 0
        for (j = i; j > 1 && at[j - 1] > at[j]; j--) {
            swap = at[j]
            at[j] = at[j - 1]
            at[j - 1] = swap
        }
    }
}
function median(who, key,    at, half) {
    sorted(who, key, at)
    half = int((n[who] + 1) / 2)
    return n[who] % 2 ? at[half] : (at[half] + at[half + 1]) / 2
}
function cell(who, key, scale, form,    at) {
    sorted(who, key, at)
    return sprintf(form " (" form "-" form ")", median(who, key) / scale, at[1] / scale,
                   at[n[who]] / scale)
}
function row(name, key, scale, form,    ours) {
    ours = median(1, key)
    printf "  %-22s %24s %24s %9s\n", name, cell(1, key, scale, form),
           cell(2, key, scale, form), ours ? sprintf("%.2f", median(2, key) / ours) : "-"
}
END {
    printf "\n  %-22s %24s %24s %9s\n", title, "mcplug", "TypeScript SDK", "SDK/mcplug"
    row("ready, s", "ready_ms", 1000, "%.2f")
    row("CPU of the host, ms", "cpu_ms", 1, "%.0f")
    row("RSS of the host, MB", "rss_kb", 1024, "%.1f")
    row("PSS of the host, MB", "pss_kb", 1024, "%.1f")
    row("peak of the host, MB", "peak_kb", 1024, "%.1f")
    row("PSS with helpers, MB", "whole_kb", 1024, "%.1f")
    row("closed, s", "close_ms", 1000, "%.2f")
    if ((1, "load", 1) in value)
        printf "  %-22s %24s %24s\n", "load before", cell(1, "load", 1, "%.1f"),
               cell(2, "load", 1, "%.1f")
    printf "  %-22s %24s %24s\n", "servers, tools",
           median(1, "servers") ", " median(1, "tools"),
           median(2, "servers") ", " median(2, "tools")
    for (who = 1; who <= 2; who++)
        for (i = 1; i <= n[who]; i++)
            if (value[who, "tools", i] != value[1, "tools", 1] || value[who, "failed", i] ||
                value[who, "left", i]) {
                print "FAIL: the runs differ, or a server failed, or a process was left"
                exit 1
            }
}
