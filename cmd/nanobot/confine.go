package main

import (
	"github.com/spf13/cobra"

	"nanobot/cmd/nanobot/exit"
	"nanobot/terminal/confine"
)

// newConfine is the helper that the daemon puts in front of an agent that has limits or a sandbox.
func newConfine() *cobra.Command {
	return &cobra.Command{
		Use:                confine.Command + " [flags] -- PROGRAM [ARGS]",
		Short:              "Give up rights, then become another program",
		Hidden:             true,
		DisableFlagParsing: true,
		RunE: func(_ *cobra.Command, args []string) error {
			return exit.Error{Status: exit.NotRun, Err: confine.Main(args)}
		},
	}
}
