package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

type completionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"The shell: bash, zsh or fish."`
}

// Run prints a script that completes commands and flags. To load it: source <(fleetglass completion bash).
func (c completionCmd) Run(l *loaded, t *terminal) error {
	commands := completed(l.context.Model.Node)
	switch c.Shell {
	case "fish":
		return completeFish(t.out, commands)
	case "zsh":
		if _, err := fmt.Fprintln(t.out, "autoload -U +X bashcompinit && bashcompinit"); err != nil {
			return err
		}
	}
	return completeBash(t.out, commands)
}

// completion is what may follow a command.
type completion struct {
	command, help string
	words         []string // Commands below it, and the choices of its argument.
	flags         []*kong.Flag
	starts        bool // It is what the program does without a command.
}

// completed are the commands of the program, with the settings that each uses.
func completed(program *kong.Node) []completion {
	var out []completion
	for _, node := range program.Children {
		if node.Hidden {
			continue
		}
		c := completion{command: node.Name, help: node.Help, flags: node.Flags, starts: node.Tag.Has("default")}
		for _, below := range node.Children {
			c.words = append(c.words, below.Name)
		}
		for _, argument := range node.Positional {
			c.words = append(c.words, choices(argument)...)
		}
		c.flags = append(slices.Clip(c.flags), usedSettings(program, node)...)
		c.flags = slices.DeleteFunc(slices.Clone(c.flags), func(f *kong.Flag) bool { return f.Hidden })
		out = append(out, c)
	}
	return out
}

// choices are the values that a flag or an argument may have; none where it may have any.
func choices(v *kong.Value) []string {
	if v.Enum == "" {
		return nil
	}
	return v.EnumSlice()
}

// names are a flag as it is written.
func names(f *kong.Flag) []string {
	out := []string{"--" + f.Name}
	if f.Short != 0 {
		out = append(out, "-"+string(f.Short))
	}
	return out
}

func completeBash(w io.Writer, commands []completion) error {
	var first, follow, values strings.Builder
	for _, c := range commands {
		fmt.Fprintf(&first, "%s ", c.command)
		words, pattern := slices.Clone(c.words), c.command
		if c.starts {
			pattern += "|-*"
		}
		for _, f := range c.flags {
			words = append(words, "--"+f.Name)
			of := choices(f.Value)
			if of == nil {
				continue
			}
			for _, name := range names(f) {
				fmt.Fprintf(&values, "\t%q) words=%q ;;\n", c.command+" "+name, strings.Join(of, " "))
			}
		}
		fmt.Fprintf(&follow, "\t%s) words=%q ;;\n", pattern, strings.Join(words, " "))
	}
	_, err := fmt.Fprintf(w, `_fleetglass() {
	local words=%q
	[ "$COMP_CWORD" -gt 1 ] && words=""
	case "${COMP_WORDS[1]}" in
%s	esac
	case "${COMP_WORDS[1]} ${COMP_WORDS[COMP_CWORD-1]}" in
%s	esac
	COMPREPLY=($(compgen -W "$words" -- "${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _fleetglass fleetglass
`, strings.TrimSpace(first.String()), follow.String(), values.String())
	return err
}

func completeFish(w io.Writer, commands []completion) error {
	var script strings.Builder
	for _, c := range commands {
		fmt.Fprintf(&script, "complete -c fleetglass -n __fish_use_subcommand -f -a %s -d %q\n", c.command, c.help)
		after := "'__fish_seen_subcommand_from " + c.command + "'"
		if c.starts {
			after = "'__fish_use_subcommand; or __fish_seen_subcommand_from " + c.command + "'"
		}
		for _, word := range c.words {
			fmt.Fprintf(&script, "complete -c fleetglass -n %s -f -a %s\n", after, word)
		}
		for _, f := range c.flags {
			form := " -l " + f.Name
			if f.Short != 0 {
				form += " -s " + string(f.Short)
			}
			switch of := choices(f.Value); {
			case of != nil:
				form += " -x -a '" + strings.Join(of, " ") + "'"
			case !f.IsBool():
				form += " -r"
			}
			fmt.Fprintf(&script, "complete -c fleetglass -n %s%s\n", after, form)
		}
	}
	_, err := io.WriteString(w, script.String())
	return err
}
