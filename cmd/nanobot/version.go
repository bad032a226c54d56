package main

import (
	"fmt"
	"io"
	"runtime"

	"github.com/spf13/cobra"
)

// version is set by the linker for releases.
var version = "dev"

func newVersion(std stdio) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  noArguments,
		RunE:  func(*cobra.Command, []string) error { return printVersion(std.out) },
	}
}

func printVersion(out io.Writer) error {
	_, err := fmt.Fprintf(out, "nanobot %s (%s, %s/%s)\n", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}
