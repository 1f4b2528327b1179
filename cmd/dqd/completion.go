package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// completion is the sub-command: it prints a script that teaches a shell the
// sub-commands and settings.
func completion(args []string, stdout, stderr io.Writer) int {
	shells := map[string]func(io.Writer){"bash": bash, "zsh": zsh, "fish": fish}
	if len(args) != 1 || shells[args[0]] == nil {
		return usageError(stderr, fmt.Errorf("write dqd completion bash, zsh or fish"))
	}
	shells[args[0]](stdout)
	return exitOK
}

// option is a flag as a shell completes it.
type option struct {
	name, usage string
	words       []string // its values, if they are few
	path        string   // "file" or "folder": its value names one
	value       string   // what its value is called; empty = it has none
}

// written is how it is written.
func (o *option) written() string { return strings.TrimSpace("--" + o.name + " " + o.value) }

// settingOptions are the flags of the settings.
func settingOptions() []option {
	list := []option{{name: configName, usage: configUsage, path: "file", value: "FILE"}}
	for _, s := range settings() {
		if !s.Secret {
			list = append(list, option{s.Name, s.Usage, s.Words, s.Path, "value"})
		}
	}
	return list
}

// words are what the arguments of a sub-command are chosen from: the words of its
// args, and the sub-commands.
func (c *subcommand) words() (words []string) {
	for word := range strings.FieldsSeq(strings.NewReplacer("[", "", "]", "", "...", "").Replace(c.args)) {
		switch {
		case c.takesSettings():
		case word == "SUB-COMMAND":
			words = append(words, names()...)
		case word != "|" && word == strings.ToLower(word):
			words = append(words, strings.Split(word, "|")...)
		}
	}
	return words
}

// path is "folder" or "file" if an argument of the sub-command names one.
func (c *subcommand) path() string {
	switch {
	case strings.Contains(c.args, "FILE"):
		return "file" // or DIR: a shell that completes files completes folders too
	case strings.Contains(c.args, "DIR"):
		return "folder"
	}
	return ""
}

// names are those of the sub-commands.
func names() (list []string) {
	for _, c := range subcommands {
		list = append(list, c.name)
	}
	return list
}

func bash(w io.Writer) {
	var flags []string
	options := settingOptions()
	for _, o := range options {
		flags = append(flags, "--"+o.name)
	}
	for _, c := range subcommands {
		options = append(options, c.options()...)
	}
	values := map[string][]string{} // what completes a value → the flags
	for _, o := range options {
		how := ":"
		switch {
		case o.path == "folder":
			how = "_dqd_paths -d"
		case o.path == "file":
			how = "_dqd_paths -f"
		case o.words != nil:
			how = "_dqd_words " + strings.Join(o.words, " ")
		}
		if flag := "--" + o.name; o.value != "" && !slices.Contains(values[how], flag) {
			values[how] = append(values[how], flag)
		}
	}
	fmt.Fprint(w, `# Completion of dqd for bash: source <(dqd completion bash)
_dqd_words() { COMPREPLY=($(compgen -W "$*" -- "$cur")); }
_dqd_paths() {
	local IFS=$'\n'
	compopt -o filenames 2>/dev/null
	COMPREPLY=($(compgen "$1" -- "$cur"))
}
_dqd() {
	local cur=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}
	COMPREPLY=()
	case $before in
`)
	hows := make([]string, 0, len(values))
	for how := range values {
		hows = append(hows, how)
	}
	slices.Sort(hows)
	for _, how := range hows {
		fmt.Fprintf(w, "\t%s) %s; return ;;\n", strings.Join(values[how], "|"), how)
	}
	all := strings.Join(flags, " ")
	fmt.Fprintf(w, "\tesac\n\tif [ \"$COMP_CWORD\" = 1 ] && [ \"${cur#-}\" = \"$cur\" ]; then\n\t\t_dqd_words %s\n\t\treturn\n\tfi\n\tcase ${COMP_WORDS[1]} in\n\t-*) _dqd_words %s ;;\n", strings.Join(names(), " "), all)
	for _, c := range subcommands {
		words := append(c.words(), "--help")
		for _, o := range c.options() {
			words = append(words, "--"+o.name)
		}
		switch {
		case c.takesSettings():
			fmt.Fprintf(w, "\t%s) _dqd_words %s --help ;;\n", c.name, all)
		case c.path() != "":
			fmt.Fprintf(w, "\t%s) case $cur in -*) _dqd_words %s ;; *) _dqd_paths -%c ;; esac ;;\n", c.name, strings.Join(words, " "), map[string]rune{"folder": 'd', "file": 'f'}[c.path()])
		default:
			fmt.Fprintf(w, "\t%s) _dqd_words %s ;;\n", c.name, strings.Join(words, " "))
		}
	}
	fmt.Fprint(w, "\tesac\n}\ncomplete -F _dqd dqd\n")
}

func zsh(w io.Writer) {
	quote := func(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
	escape := strings.NewReplacer(`\`, `\\`, "[", `\[`, "]", `\]`, ":", `\:`).Replace
	action := func(words []string, path string) string {
		switch {
		case path == "folder":
			return "_files -/"
		case path == "file":
			return "_files"
		case words != nil:
			return "(" + strings.Join(words, " ") + ")"
		}
		return " "
	}
	spec := func(o option) string {
		text := "--" + o.name + "[" + escape(o.usage) + "]"
		if o.value != "" {
			text += ":" + o.value + ":" + action(o.words, o.path)
		}
		return quote(text)
	}
	fmt.Fprint(w, "#compdef dqd\n# Completion of dqd for zsh: a file _dqd in a folder of $fpath.\n_dqd() {\n\tlocal -a commands settings\n\tcommands=(\n")
	for _, c := range subcommands {
		fmt.Fprintf(w, "\t\t%s\n", quote(escape(c.name)+":"+c.summary()))
	}
	fmt.Fprint(w, "\t)\n\tsettings=(\n")
	for _, o := range settingOptions() {
		fmt.Fprintf(w, "\t\t%s\n", spec(o))
	}
	fmt.Fprint(w, "\t)\n\tif (( CURRENT == 2 )) && [[ $words[2] != -* ]]; then\n\t\t_describe 'sub-command' commands\n\t\treturn\n\tfi\n\tcase $words[2] in\n\t-*) _arguments $settings ;;\n")
	for _, c := range subcommands {
		what := "$settings"
		if !c.takesSettings() {
			what = quote("*:argument:" + action(c.words(), c.path()))
			for _, o := range c.options() {
				what += " " + spec(o)
			}
		}
		fmt.Fprintf(w, "\t%s) shift words; (( CURRENT-- )); _arguments %s ;;\n", c.name, what)
	}
	fmt.Fprint(w, "\tesac\n}\nif [ \"$funcstack[1]\" = _dqd ]; then _dqd \"$@\"; else compdef _dqd dqd; fi\n")
}

func fish(w io.Writer) {
	quote := func(s string) string { return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(s) + "'" }
	action := func(words []string, path string) string {
		switch {
		case path == "folder":
			return " -a '(__fish_complete_directories)'"
		case path == "file":
			return " -F"
		case words != nil:
			return " -a " + quote(strings.Join(words, " "))
		}
		return ""
	}
	flag := func(when string, o option) {
		needs := " -x" // a value that is in no folder
		switch {
		case o.value == "":
			needs = ""
		case o.path == "file":
			needs = " -r"
		}
		fmt.Fprintf(w, "complete -c dqd -n '%s' -l %s%s%s -d %s\n", when, o.name, needs, action(o.words, o.path), quote(o.usage))
	}
	fmt.Fprint(w, "# Completion of dqd for fish: a file dqd.fish in ~/.config/fish/completions.\ncomplete -c dqd -f\n")
	var takers []string
	for _, c := range subcommands {
		fmt.Fprintf(w, "complete -c dqd -n __fish_use_subcommand -a %s -d %s\n", c.name, quote(c.summary()))
		if c.takesSettings() {
			takers = append(takers, c.name)
		} else if a := action(c.words(), c.path()); a != "" {
			fmt.Fprintf(w, "complete -c dqd -n '__fish_seen_subcommand_from %s'%s\n", c.name, a)
		}
		for _, o := range c.options() {
			flag("__fish_seen_subcommand_from "+c.name, o)
		}
	}
	for _, o := range settingOptions() {
		flag("__fish_use_subcommand; or __fish_seen_subcommand_from "+strings.Join(takers, " "), o)
	}
}
