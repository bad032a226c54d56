package main

import (
	"github.com/spf13/cobra"

	"nanobot/terminal/confine"
)

// exitNotRun is what shells say of a program that is there and could not be run.
const exitNotRun = 126

// newConfine is the helper that the daemon puts in front of an agent that has limits or a sandbox.
func newConfine() *cobra.Command {
	return &cobra.Command{
		Use:                confine.Command + " [flags] -- PROGRAM [ARGS]",
		Short:              "Give up rights, then become another program",
		Hidden:             true,
		DisableFlagParsing: true,
		RunE:               func(_ *cobra.Command, args []string) error { return statusError{exitNotRun, confine.Main(args)} },
	}
}
