package main

import (
	"errors"
	"fmt"

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
	if near := config.ClosestMatch(args[0], names); near != "" {
		err = fmt.Errorf("%w; did you mean %q?", err, cmd.CommandPath()+" "+near)
	}
	return exit.Error{Status: exit.Usage, Err: err}
}

// explainFlagError is the FlagErrorFunc of all commands. For an unknown flag it suggests the
// nearest name, also for -name with one hyphen.
func explainFlagError(cmd *cobra.Command, err error) error {
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
	if near := config.ClosestMatch(name, names); len(name) > 1 && near != "" {
		err = fmt.Errorf("%w; did you mean --%s?", err, near)
	}
	return exit.Error{Status: exit.Usage, Err: err}
}
