//go:build !docs

package main

import "github.com/spf13/cobra"

func docsCommands(*cobra.Command) []*cobra.Command { return nil }
