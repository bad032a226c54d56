//go:build docs

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// docsCommands returns a command for the build of packages, which writes the man pages and the
// shell completions. It has a build tag because the templates of the generator keep the linker from
// dropping unused methods, which costs the daemon 3.5 MiB.
func docsCommands(root *cobra.Command) []*cobra.Command {
	return []*cobra.Command{{
		Use:    "docs FOLDER",
		Short:  "Write man pages and completions",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE:   func(_ *cobra.Command, args []string) error { return writeDocs(root, args[0]) },
	}}
}

// writeDocs writes FOLDER/man/*.1 and the completions FOLDER/nanobot.bash, .zsh and .fish. The
// pages are dated by $SOURCE_DATE_EPOCH.
func writeDocs(root *cobra.Command, folder string) error {
	man := filepath.Join(folder, "man")
	if err := os.MkdirAll(man, 0o755); err != nil {
		return fmt.Errorf("make folder: %w", err)
	}
	root.DisableAutoGenTag = true
	header := &doc.GenManHeader{Section: "1", Source: "nanobot " + version, Manual: "nanobot"}
	if err := doc.GenManTree(root, header, man); err != nil {
		return fmt.Errorf("write man pages: %w", err)
	}
	path := func(shell string) string { return filepath.Join(folder, "nanobot."+shell) }
	err := errors.Join(root.GenBashCompletionFileV2(path("bash"), true), root.GenZshCompletionFile(path("zsh")),
		root.GenFishCompletionFile(path("fish"), true))
	if err != nil {
		return fmt.Errorf("write completions: %w", err)
	}
	return nil
}
