package main

import (
	"strings"

	"github.com/spf13/cobra"

	"nanobot/cmd/nanobot/exit"
)

// noArguments is the Args of a command that takes only flags.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return exit.Usagef("%s takes no arguments (got %q)", subcommandPath(cmd), args[0])
	}
	return nil
}

// oneArgument returns the Args of a command that needs one argument, which description names.
func oneArgument(description string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return exit.Usagef("%s: add %s", subcommandPath(cmd), description)
		}
		return atMostOneArgument(cmd, args)
	}
}

// atMostOneArgument is the Args of a command with one optional argument.
func atMostOneArgument(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return exit.Usagef("%s takes one argument (got %d)", subcommandPath(cmd), len(args))
	}
	return nil
}

// subcommandPath returns the name of a command without that of the program: "runbook check".
func subcommandPath(cmd *cobra.Command) string {
	return strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" ")
}
