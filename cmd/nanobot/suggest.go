package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"nanobot/cmd/nanobot/exit"
	"nanobot/config"
)

// requireSubcommand is the Args of a command that only has subcommands. For an unknown one it
// suggests the nearest name.
func requireSubcommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	err := fmt.Errorf("unknown command %q for %q", args[0], cmd.CommandPath())
	near := []string{config.ClosestMatch(args[0], names)}
	if near[0] == "" {
		near = slices.DeleteFunc(names, func(name string) bool { return !strings.HasPrefix(name, args[0]) })
	}
	for i, name := range near {
		near[i] = strconv.Quote(cmd.CommandPath() + " " + name)
	}
	if len(near) == 1 || len(near) == 2 {
		err = fmt.Errorf("%w; did you mean %s?", err, strings.Join(near, " or "))
	}
	return exit.Error{Status: exit.Usage, Err: err}
}

// rejectUnknownTopics makes --help, the help command and the commands that only have subcommands
// fail for an unknown command, for which cobra shows the help above it and succeeds. It stores the
// error of --help, which has no result.
func rejectUnknownTopics(root *cobra.Command, failed *error) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	showHelp := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		if cmd.HasSubCommands() {
			*failed = requireSubcommand(cmd, cmd.Flags().Args())
		}
		if *failed == nil {
			showHelp(cmd, args)
		}
	})
	help, _, _ := root.Find([]string{"help"})
	show := help.Run
	help.Run, help.RunE = nil, func(cmd *cobra.Command, args []string) error {
		if found, rest, err := root.Find(args); err == nil && len(rest) > 0 {
			return requireSubcommand(found, rest)
		}
		show(cmd, args)
		return nil
	}
}

// helpHint names the command whose help explains a usage error.
func helpHint(cmd *cobra.Command) string {
	if cmd.Name() == "help" {
		cmd = cmd.Root()
	}
	if cmd.HasAvailableSubCommands() {
		return fmt.Sprintf("Run %q to see its commands.", cmd.CommandPath()+" --help")
	}
	return fmt.Sprintf("Run %q for its options.", cmd.CommandPath()+" --help")
}

// explainFlagError is the FlagErrorFunc of all commands. For an unknown flag it suggests the
// nearest name, also for -name with one hyphen.
func explainFlagError(cmd *cobra.Command, err error) error {
	var invalid *pflag.InvalidValueError
	if errors.As(err, &invalid) {
		return explainFlagValue(invalid)
	}
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return exit.Error{Status: exit.Usage, Err: err}
	}
	name := unknown.GetSpecifiedName()
	if group := unknown.GetSpecifiedShortnames(); len(group) > 1 {
		name = group
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	near := config.ClosestMatch(name, names)
	switch {
	case len(name) > 1 && near != "":
		err = fmt.Errorf("%w; did you mean --%s?", err, near)
	case !cmd.HasParent() && config.ClosestMatch(name, []string{"config"}) != "":
		err = fmt.Errorf("%w; did you mean \"nanobot COMMAND --config\"?", err)
	}
	return exit.Error{Status: exit.Usage, Err: err}
}

// explainFlagValue says which values a flag takes, for the types whose errors in pflag are those of
// the parsing functions of Go.
func explainFlagValue(invalid *pflag.InvalidValueError) error {
	f := invalid.GetFlag()
	want, ok := map[string]string{
		"int": "must be a whole number of seconds", "duration": "must be a time such as 30s or 5m",
		"uint": "must be a whole number", "bool": "must be true or false",
	}[f.Value.Type()]
	if !ok {
		return exit.Usagef("--%s: %w (got %q)", f.Name, errors.Unwrap(invalid), invalid.GetValue())
	}
	return exit.Usagef("--%s: %s (got %q)", f.Name, want, invalid.GetValue())
}
