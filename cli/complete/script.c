/* Scripts that make shells ask us what a word may become; see cmd_candidates.c for the
 * answers. A candidate is text to them: none is ever evaluated. */
#include "cli/commands/commands.h"

#include "base/mem.h"
#include "cli/base/doc.h"
#include "cli/base/message.h"

#include <string.h>

/* clang-format off */
static const char bash_script[] =
    "# Completion of mcplug for bash 4.3 or later.\n"
    "\n"
    "# LINE: its words without their quotes in `words`, the quote left open in `quote`. Where\n"
    "# output goes is no word; `file` is set when the last one is that.\n"
    "_mcplug_split()\n"
    "{\n"
    "    local line=$1 word='' any='' c i\n"
    "    words=() quote='' file=''\n"
    "    for ((i = 0; i < ${#line}; i++)); do\n"
    "        c=${line:i:1}\n"
    "        if [[ $quote == \"'\" ]]; then\n"
    "            if [[ $c == \"'\" ]]; then quote=''; else word+=$c; fi\n"
    "        elif [[ $quote ]]; then\n"
    "            case $c in\n"
    "            '\"') quote='' ;;\n"
    "            \\\\)\n"
    "                ((i++))\n"
    "                c=${line:i:1}\n"
    "                case $c in\n"
    "                [\\$\\`\\\"\\\\]) word+=$c ;;\n"
    "                *) word+=\\\\$c ;;\n"
    "                esac\n"
    "                ;;\n"
    "            *) word+=$c ;;\n"
    "            esac\n"
    "        else\n"
    "            case $c in\n"
    "            [\\'\\\"]) quote=$c any=1 ;;\n"
    "            \\\\)\n"
    "                ((i++))\n"
    "                word+=${line:i:1} any=1\n"
    "                ;;\n"
    "            [$' \\t\\n<>'])\n"
    "                [[ ! $any || $file ]] || words+=(\"$word\")\n"
    "                [[ ! $any ]] || file=''\n"
    "                [[ $c != [\\<\\>] ]] || file=1\n"
    "                word='' any=''\n"
    "                ;;\n"
    "            *) word+=$c any=1 ;;\n"
    "            esac\n"
    "        fi\n"
    "    done\n"
    "    words+=(\"$word\")\n"
    "}\n"
    "\n"
    "# WORD OPEN: adds it to the candidates, to stand behind the quote that is open.\n"
    "_mcplug_add()\n"
    "{\n"
    "    local text=$1\n"
    "    case $2 in\n"
    "    \"'\") text=${text//\\'/\\'\\\\\\'\\'} ;;\n"
    "    '\"')\n"
    "        text=${text//\\\\/\\\\\\\\}\n"
    "        text=${text//\\\"/\\\\\\\"}\n"
    "        text=${text//\\$/\\\\\\$}\n"
    "        text=${text//\\`/\\\\\\`}\n"
    "        ;;\n"
    "    *) [[ ! $text ]] || printf -v text %q \"$text\" ;;\n"
    "    esac\n"
    "    COMPREPLY+=(\"$text\")\n"
    "}\n"
    "\n"
    "_mcplug()\n"
    "{\n"
    "    local words quote file lines=() line last word open before=''\n"
    "    COMPREPLY=()\n"
    "    _mcplug_split \"${COMP_LINE:0:COMP_POINT}\"\n"
    "    word=${words[-1]} open=$quote\n"
    "    if [[ $file ]]; then\n"
    "        last=$':1\\t'\n"
    "    else\n"
    "        mapfile -t lines < <(command mcplug __complete \"$((${#words[@]} - 1))\" -- \\\n"
    "            \"${words[@]}\" \"${COMP_WORDS[@]:COMP_CWORD + 1}\" 2>/dev/null </dev/null)\n"
    "        ((${#lines[@]})) || return 0\n"
    "        last=${lines[-1]}\n"
    "        unset 'lines[-1]'\n"
    "    fi\n"
    "\n"
    "    # Only what is behind the last break is replaced, so the rest must not come again.\n"
    "    _mcplug_split \"$open$2\"\n"
    "    [[ $word != *\"${words[-1]}\" ]] || before=${word%\"${words[-1]}\"}\n"
    "    for line in \"${lines[@]}\"; do\n"
    "        line=${line%%$'\\t'*}\n"
    "        [[ $line == \"$word\"* ]] && _mcplug_add \"${line#\"$before\"}\" \"$open\"\n"
    "    done\n"
    "    if [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *= ]]; then\n"
    "        compopt -o nospace 2>/dev/null\n"
    "    fi\n"
    "\n"
    "    # Files: behind what stands before them in the word.\n"
    "    [[ $last == :[12]$'\\t'* ]] || return 0\n"
    "    local head=${last#*$'\\t'} files=() kind=-f\n"
    "    [[ $last == :1* ]] || kind=-d\n"
    "    mapfile -t files < <(compgen \"$kind\" -- \"${word#\"$head\"}\")\n"
    "    compopt -o filenames 2>/dev/null\n"
    "    if [[ $head == \"$before\" ]]; then\n"
    "        COMPREPLY=(\"${files[@]}\")\n"
    "        return 0\n"
    "    fi\n"
    "    compopt +o filenames -o nospace 2>/dev/null\n"
    "    for line in \"${files[@]}\"; do\n"
    "        [[ ! -d $line ]] || line+=/\n"
    "        line=$head$line\n"
    "        _mcplug_add \"${line#\"$before\"}\" \"$open\"\n"
    "    done\n"
    "}\n"
    "\n"
    "complete -F _mcplug mcplug\n";

static const char zsh_script[] =
    "#compdef mcplug\n"
"# Completion of mcplug for zsh: as a file _mcplug in a directory of $fpath, or read in\n"
"# behind compinit.\n\n"
"_mcplug()\n"
"{\n"
"    local line last head value about\n"
"    local -a lines open closed\n"
"    integer code=1\n\n"
"    lines=(\"${(@f)$(command mcplug __complete $((CURRENT - 1)) -- \\\n"
"        \"${(@Q)words[1,CURRENT-1]}\" \"${(Q)PREFIX}\" \"${(@Q)words[CURRENT+1,-1]}\" \\\n"
"        2>/dev/null </dev/null)}\")\n"
"    last=$lines[-1]\n"
"    lines[-1]=()\n"
"    for line in \"${(@)lines}\"; do\n"
"        value=${line%%$'\\t'*}\n"
"        about=${${line#\"$value\"}#$'\\t'}\n"
"        value=${${value//\\\\/\\\\\\\\}//:/\\\\:}\n"
"        [[ -z $about ]] || value+=:${about//\\\\/\\\\\\\\}\n"
"        if [[ ${line%%$'\\t'*} == *= ]]; then open+=(\"$value\"); else closed+=(\"$value\"); fi\n"
"    done\n"
"    (( $#closed )) && _describe -t values value closed && code=0\n"
"    (( $#open )) && _describe -t values value open -S '' && code=0\n\n"
"    if [[ $last == :[12]$'\\t'* ]]; then\n"
"        head=${last#*$'\\t'}\n"
"        [[ -z $head ]] || compset -P \"${(b)head}\" || return code\n"
"        if [[ $last == :2* ]]; then _files -/ && code=0; else _files && code=0; fi\n"
"    fi\n"
"    return code\n"
"}\n\n"
"if [[ $funcstack[1] == _mcplug ]]; then\n"
"    _mcplug \"$@\"\n"
"elif (( $+functions[compdef] )); then\n"
"    compdef _mcplug mcplug\n"
"else\n"
"    print -ru2 -- 'mcplug: completion needs compinit; run it first'\n"
"fi\n";

static const char fish_script[] =
    "# Completion of mcplug for fish.\n"
    "\n"
    "# Asks for candidates, in $__mcplug_lines. False: fish knows better, it is a file.\n"
    "function __mcplug_ask\n"
    "    set -l words (commandline -opc)\n"
    "    set -l word (commandline -ct)\n"
    "    for close in '' \"'\" '\"' # without its quotes, and one may be open\n"
    "        if set -l plain (string unescape -- \"$word$close\" 2>/dev/null)\n"
    "            set word \"$plain\"\n"
    "            break\n"
    "        end\n"
    "    end\n"
    "    set -g __mcplug_lines (command mcplug __complete (count $words) -- $words \"$word\" \\\n"
    "        2>/dev/null </dev/null)\n"
    "    set -q __mcplug_lines[1]; or return 0\n"
    "    set -l last (string split -m 1 \\t -- $__mcplug_lines[-1])\n"
    "    set -e __mcplug_lines[-1]\n"
    "    switch \"$last[1]\"\n"
    "        case :1 :2\n"
    "            if string match -q -- '*@' \"$last[2]\"\n"
    "                set -l path (string sub -s (math (string length -- \"$last[2]\") + 1) -- \"$word\")\n"
    "                for file in $path*\n"
    "                    test -d $file; and set file $file/\n"
    "                    set -a __mcplug_lines $last[2]$file\n"
    "                end\n"
    "                return 0\n"
    "            end\n"
    "            test $last[1] = :2; or return 1\n"
    "            set -g __mcplug_lines (__fish_complete_directories)\n"
    "    end\n"
    "    return 0\n"
    "end\n"
    "\n"
    "complete -c mcplug -e\n"
    "complete -c mcplug -k -f -n __mcplug_ask -a '$__mcplug_lines'\n";
/* clang-format on */

static int put(struct cli *cli, const char *shell, const char *script)
{
    json_t *tree;
    int code;

    if (!cli->args.json) {
        cli_out_s(&cli->out, script);
        return CLI_OK;
    }
    tree = json_pack("{s:s,s:s}", "shell", shell, "script", script);
    code = cli_put_tree(cli, tree, CLI_OK);
    json_decref(tree);
    return code;
}

static int run(struct cli *cli)
{
    static const struct {
        const char *shell, *script;
    } scripts[] = {{"bash", bash_script}, {"zsh", zsh_script}, {"fish", fish_script}};
    const char *wanted = cli->args.words.n ? cli->args.words.items[0] : NULL;

    for (size_t i = 0; wanted && i < MP_COUNT(scripts); i++)
        if (strcmp(wanted, scripts[i].shell) == 0)
            return put(cli, wanted, scripts[i].script);
    if (wanted)
        cli_error("unknown shell \"%s\": expected bash, zsh or fish", wanted);
    else
        cli_error("no shell given: expected bash, zsh or fish");
    cli_hint("`mcplug help completion` explains how to install it.");
    return CLI_USAGE;
}

static const struct cli_choice shells[] = {
    {"bash", NULL}, {"zsh", NULL}, {"fish", NULL}, {0}};

const struct cli_command cli_cmd_completion = {
    .name = "completion",
    .words = "SHELL",
    .summary = "Print the completion script for bash, zsh or fish.",
    .details =
        "Install it for yourself with one of:\n\n"
        "  mcplug completion bash > ~/.local/share/bash-completion/completions/mcplug\n"
        "  mcplug completion zsh > ~/.zsh/_mcplug  (a directory of $fpath)\n"
        "  mcplug completion fish > ~/.config/fish/completions/mcplug.fish\n\n"
        "Or try it in the current shell: source <(mcplug completion bash), the same for "
        "zsh, and in fish: mcplug completion fish | source\n\n"
        "Commands, options and server names are completed, and also tools, prompts, "
        "resources and arguments, as the server listed them when it was last used. No "
        "server is started.",
    .max_words = 1,
    .complete = {{.choices = shells}},
    .run = run,
};
