package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// printHelp prints the help of the program or of one command. Of the settings a command lists those that it uses, so that its own flags
// are not lost among them.
func printHelp(options kong.HelpOptions, ctx *kong.Context) error {
	used := usedSettings(ctx.Model.Node, ctx.Selected())
	all := true
	for _, flag := range ctx.Model.Flags {
		if isSetting(flag) && !slices.Contains(used, flag) {
			flag.Hidden, all = true, false
		}
	}
	if err := kong.DefaultHelpPrinter(options, ctx); err != nil || all {
		return err
	}
	_, err := fmt.Fprintln(ctx.Stdout, "\nOther settings are accepted too: fleetglass --help lists them.")
	return err
}

// usedSettings are the settings that a command uses. Without a command, and for one that uses all, they are all flags of the program.
func usedSettings(program, command *kong.Node) []*kong.Flag {
	used, named := settingsOf(command)
	var out []*kong.Flag
	for _, flag := range program.Flags {
		if !named || (isSetting(flag) && (slices.Contains(used, flag.Name) || slices.Contains(used, flag.Group.Key))) {
			out = append(out, flag)
		}
	}
	return out
}

// settingsOf are the settings, and groups of them, that a command uses; false when it uses all.
func settingsOf(command *kong.Node) ([]string, bool) {
	for ; command != nil; command = command.Parent {
		if command.Tag != nil && command.Tag.Has("uses") {
			return strings.Split(command.Tag.Get("uses"), ","), true
		}
	}
	return nil, false
}

// helpText adds the default to the help of a flag, where kong does not show it, and the variable to that of a setting.
func helpText(v *kong.Value) string {
	text := v.Help
	if v.Flag == nil {
		return text
	}
	if v.HasDefault && v.Default != "" && v.Flag.PlaceHolder != "" {
		text += " Default " + v.Default + "."
	}
	if isSetting(v.Flag) {
		text += " ($" + envName(v.Flag.Name) + ")"
	}
	return text
}
