package main

import (
	"github.com/spf13/cobra"

	"nanobot/cmd/nanobot/exit"
	"nanobot/terminal/sandbox"
)

// newSandboxHelper returns the hidden command that starts an agent with limits or in a sandbox.
func newSandboxHelper() *cobra.Command {
	return &cobra.Command{
		Use:                sandbox.Command + " [flags] -- PROGRAM [ARGS]",
		Short:              "Restrict this process, then execute another program",
		Hidden:             true,
		DisableFlagParsing: true,
		RunE: func(_ *cobra.Command, args []string) error {
			return exit.Error{Status: exit.NotRun, Err: sandbox.Main(args)}
		},
	}
}
