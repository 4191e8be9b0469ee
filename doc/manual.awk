# Writes the manual pages of section 3 from the comments of the public headers.
#
#   awk -v dir=DIR -v date='November 17, 2026' -f manual.awk HEADER..
#
# What stands before the first section of a header, `/* ---- NAME ---- */`, is one page,
# and so is each section; every function is a page that leads to the one it is on. A
# comment is about the declarations below it, up to the next empty line or comment.

function fail(text) {
    print FILENAME ":" FNR ": " text >"/dev/stderr"
    failed = 1
    exit 1
}

# ---- text as mdoc ----

function escaped(text) {
    gsub(/\\/, "\\e", text)
    return text
}

# A line of text: what looks like a request is none.
function guarded(line) {
    return line ~ /^[.']/ ? "\\&" line : line
}

function marked(text,   out, at, end) { # `words` that are code
    while ((at = index(text, "`")) && (end = index(substr(text, at + 1), "`"))) {
        out = out substr(text, 1, at - 1) "\\fB" substr(text, at + 1, end - 1) "\\fP"
        text = substr(text, at + end + 1)
    }
    return out text
}

function filled(text,   line, n, i, words) { # one sentence
    n = split(text, words, " ")
    for (i = 1; i <= n; i++) {
        if (line != "" && length(line) + 1 + length(words[i]) > 76) {
            put(guarded(line))
            line = ""
        }
        line = line (line == "" ? "" : " ") words[i]
    }
    if (line != "")
        put(guarded(line))
}

function paragraph(text,   at) { # a sentence begins on a line of its own
    text = marked(escaped(text))
    while (match(text, /[^. ][.!?][)"]? +[A-Z`"(\\*]/)) {
        at = RSTART + RLENGTH - 2
        filled(substr(text, 1, at))
        text = substr(text, at + 1)
    }
    filled(text)
}

# `text`: a comment without its marks, or several. Lines that are indented stay as they
# are.
function prose(text,   n, i, lines, at, literal) {
    n = split(text, lines, "\n")
    for (i = 1; i <= n; i++) {
        if (lines[i] ~ /^  / && !literal) {
            flush_paragraph()
            put(".Bd -literal -offset indent")
            literal = 1
        } else if (lines[i] !~ /^  / && lines[i] != "" && literal) {
            put(".Ed")
            literal = 0
        }
        if (literal && !(lines[i] == "" && lines[i + 1] !~ /^  /)) {
            sub(/^  /, "", lines[i])
            put(guarded(escaped(lines[i])))
        } else if (lines[i] == "") {
            flush_paragraph()
        } else if (!literal) {
            words = words (words == "" ? "" : " ") lines[i]
        }
    }
    if (literal)
        put(".Ed")
    flush_paragraph()
}

function flush_paragraph() {
    if (words == "")
        return
    if (!after_heading)
        put(".Pp")
    after_heading = 0
    paragraph(words)
    words = ""
}

function literal(text,   n, i, lines) {
    put(".Bd -literal" (after_heading ? "" : " -offset 2n"))
    after_heading = 0
    n = split(text, lines, "\n")
    for (i = 1; i <= n; i++)
        put(guarded(escaped(lines[i])))
    put(".Ed")
}

function put(line) {
    body = body line "\n"
}

# ---- a page ----

function begin_page(name, about, threads) {
    end_page()
    page = name
    title = about
    body = names = prototypes = ""
    after_heading = 1
    if (threads != "") {
        put("All of these may be called " threads ".")
        after_heading = 0
    }
}

function begin_section(text,   name, threads, n, i, parts) {
    threads = ""
    if (match(text, / *\[.*\]$/)) {
        threads = substr(text, RSTART, RLENGTH)
        text = substr(text, 1, RSTART - 1)
        gsub(/^ *\[any|\]$/, "", threads)
        threads = "on any thread" threads
    }
    name = header == "mcplug" ? "mcplug" : "mcplug_" header
    gsub(/'s/, "", text)
    n = split(text, parts, /[^a-z]+/)
    for (i = 1; i <= n; i++)
        if (parts[i] != "" && parts[i] !~ /^(a|by|how|is|of|that|the|to|what)$/)
            name = name "_" parts[i]
    begin_page(name, text, threads)
}

function end_page(   file, n, i, all) {
    if (page == "" || (body == "" && names == ""))
        return
    if (page in pages)
        fail("there are two pages " page)
    pages[page] = 1
    for (i = ++n_pages; i > 1 && order[i - 1] > page; i--)
        order[i] = order[i - 1]
    order[i] = page
    file = dir "/" page ".3"
    printf ".\\\" Made from <mcplug/%s.h>: change that.\n", header >file
    printf ".Dd %s\n.Dt %s 3\n.Os\n.Sh NAME\n.Nm %s", date, toupper(page), page >file
    n = split(names, all, " ")
    for (i = 1; i <= n; i++)
        printf " ,\n.Nm %s", all[i] >file
    printf "\n.Nd %s\n", title >file
    printf ".Sh SYNOPSIS\n.In mcplug/%s.h\n", (header == "types" ? "mcplug" : header) >file
    if (prototypes != "")
        printf ".Bd -literal\n%s.Ed\n", prototypes >file
    printf ".Sh DESCRIPTION\n%s", body >file
    if (page == "libmcplug") {
        overview = file # its list of pages comes last
    } else {
        printf ".Sh SEE ALSO\n.Xr libmcplug 3\n" >file
        close(file)
    }
    for (i = 1; i <= n; i++) {
        file = dir "/" all[i] ".3"
        if (all[i] in pages)
            fail("there are two pages " all[i])
        pages[all[i]] = 1
        printf ".so man3/%s.3\n", page >file
        close(file)
    }
}

# ---- a group: a comment, and the declarations below it ----

function end_group(   n, i, heading, all) {
    if (notes == "" && types == "" && group == "" && remarks == "")
        return
    if (group != "") {
        n = split(group, all, " ")
        for (i = 1; i <= n; i++)
            heading = heading (i > 1 ? ", " : "") all[i]
        if (notes != "" || remarks != "") {
            put(".Ss " heading)
            after_heading = 1
        }
    }
    prose(notes)
    if (types != "")
        literal(types)
    prose(remarks)
    notes = types = group = remarks = ""
}

function add_type(text) {
    types = types (types == "" ? "" : "\n") text
}

function stripped(comment) { # of its marks
    sub(/^[ \t]*\/\*+ ?/, "", comment)
    sub(/ *\*+\/[ \t]*$/, "", comment)
    gsub(/\n[ \t]*\*? ?/, "\n", comment)
    return comment
}

# The same, but what is indented in a block at the margin stays so.
function stripped_block(comment) {
    sub(/^\/\*+ ?/, "", comment)
    sub(/[ \n]*\*+\/[ \t]*$/, "", comment)
    gsub(/\n \* /, "\n", comment)
    gsub(/\n \*/, "\n", comment)
    return comment
}

function without_comments(text,   at, end) {
    while ((at = index(text, "/*")) && (end = index(substr(text, at), "*/")))
        text = substr(text, 1, at - 1) substr(text, at + end + 1)
    return text
}

function declare(text,   name, proto, comment, at, n, i, lines) {
    if (text !~ /^MCPLUG_API/) {
        add_type(text)
        return
    }
    sub(/^MCPLUG_API[ \n]+/, "", text)
    match(text, /;[^;]*$/)
    while (index(substr(text, RSTART), "*/") && !index(substr(text, RSTART), "/*")) {
        # the semicolon was one of the comment
        at = RSTART
        if (!match(substr(text, 1, at - 1), /;[^;]*$/))
            fail("no end of: " text)
    }
    proto = substr(text, 1, RSTART)
    comment = substr(text, RSTART + 1)
    sub(/^[ \t]+/, "", comment)
    name = without_comments(proto)
    sub(/\(.*/, "", name)
    sub(/.*[ *\n]/, "", name)
    sub(/\*\n/, "*", proto) # the type has a line of its own
    sub(/\nmcplug/, " mcplug", proto)
    n = split(proto, lines, "\n")
    for (i = 1; i <= n; i++) {
        if (i > 1)
            sub(/^ +/, "    ", lines[i])
        prototypes = prototypes guarded(escaped(lines[i])) "\n"
    }
    names = names " " name
    group = group " " name
    functions++
    if (comment != "")
        remarks = remarks (remarks == "" ? "" : "\n\n") "`" name "`: " stripped(comment)
}

# ---- the headers ----

FNR == 1 {
    end_group()
    end_page()
    page = ""
    header = FILENAME
    sub(/.*\//, "", header)
    sub(/\.h$/, "", header)
    text = ""
    inside = 0
    is_first = 1
}

# a block of comment at the margin
!inside && /^\/\*/ { inside = 1; text = "" }
inside == 1 {
    text = text (text == "" ? "" : "\n") $0
    if (!/\*\//)
        next
    inside = 0
    if (text ~ /^\/\* ---- /) {
        end_group()
        sub(/^\/\* ---- /, "", text)
        sub(/ -+ \*\/.*/, "", text)
        begin_section(text)
    } else if (is_first) {
        is_first = 0
        text = stripped_block(text)
        match(text, / - [^.]*[.:]/)
        about = substr(text, RSTART + 3, RLENGTH - 4)
        gsub(/\n/, " ", about)
        begin_page(header == "mcplug" ? "libmcplug" : "mcplug_" header, about)
        notes = text
        sub(/^mcplug\/[a-z]*\.h - /, "", notes)
        notes = toupper(substr(notes, 1, 1)) substr(notes, 2)
        end_group()
    } else {
        end_group()
        notes = stripped_block(text)
    }
    next
}

# one declaration, with its comments
inside == 2 || /^(MCPLUG_API|struct|enum|typedef)/ {
    text = inside == 2 ? text "\n" $0 : $0
    inside = 2
    bare = without_comments(text)
    if (index(bare, "/*") || bare !~ /;[ \t]*$/)
        next
    if (gsub(/[{]/, "", bare) != gsub(/[}]/, "", bare))
        next
    inside = 0
    declare(text)
    next
}

/^#define MCPLUG_[A-Z_]+(\([a-z]*\))? +[^ ]/ && !/ MCPLUG_API / { add_type($0) }
/^$/ { end_group() }

END {
    if (failed)
        exit 1
    end_group()
    end_page()
    if (functions < 50 || overview == "")
        fail("these are not all of the headers")
    printf ".Sh SEE ALSO\n.Xr mcplug 1 ,\n" >overview
    for (i = 1; i <= n_pages; i++)
        if (order[i] != "libmcplug")
            printf ".Xr %s 3 ,\n", order[i] >overview
    printf ".Xr mcplug.json 5 ,\n.Xr mcplug-plugin 7\n" >overview
}
