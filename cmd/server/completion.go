package main

import (
	"fmt"
	"io"
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
	words         []string // Flags, and commands below it.
}

// completed are the commands of the program. Settings belong to the one that serves.
func completed(program *kong.Node) []completion {
	var out []completion
	for _, node := range program.Children {
		if node.Hidden {
			continue
		}
		c := completion{command: node.Name, help: node.Help, words: flagsOf(node.Flags)}
		for _, below := range node.Children {
			c.words = append(c.words, below.Name)
		}
		if node.Tag.Has("default") {
			c.words = append(c.words, flagsOf(program.Flags)...)
		}
		out = append(out, c)
	}
	return out
}

func flagsOf(flags []*kong.Flag) []string {
	var out []string
	for _, flag := range flags {
		if !flag.Hidden {
			out = append(out, "--"+flag.Name)
		}
	}
	return out
}

func completeBash(w io.Writer, commands []completion) error {
	var names, cases strings.Builder
	for _, c := range commands {
		names.WriteString(c.command + " ")
		fmt.Fprintf(&cases, "\t%s) words=%q ;;\n", c.command, strings.Join(c.words, " "))
	}
	_, err := fmt.Fprintf(w, `_fleetglass() {
	local words=%q
	[ "$COMP_CWORD" -gt 1 ] && words=""
	case "${COMP_WORDS[1]}" in
%s	esac
	COMPREPLY=($(compgen -W "$words" -- "${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _fleetglass fleetglass
`, strings.TrimSpace(names.String()), cases.String())
	return err
}

func completeFish(w io.Writer, commands []completion) error {
	for _, c := range commands {
		if _, err := fmt.Fprintf(w, "complete -c fleetglass -n __fish_use_subcommand -f -a %s -d %q\n", c.command, c.help); err != nil {
			return err
		}
		for _, word := range c.words {
			form := "-f -a " + word
			if name, flag := strings.CutPrefix(word, "--"); flag {
				form = "-l " + name
			}
			if _, err := fmt.Fprintf(w, "complete -c fleetglass -n '__fish_seen_subcommand_from %s' %s\n", c.command, form); err != nil {
				return err
			}
		}
	}
	return nil
}
