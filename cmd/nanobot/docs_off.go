//go:build !docs

package main

import "github.com/spf13/cobra"

func docs(*cobra.Command) []*cobra.Command { return nil }
