// Command nanobot puts any command-line program into a chat.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"nanobot/config"
	"nanobot/terminal/confine"
)

// The exit statuses that scripts may rely on.
const (
	exitFailed      = 1
	exitUsage       = 2
	exitLost        = 74 // EX_IOERR: the state was removed or replaced while the daemon ran; systemd restarts on it
	exitConfig      = 78 // EX_CONFIG: systemd is told not to restart on it
	exitTimeout     = 124
	exitInterrupted = 130
)

func main() {
	// Before anything is read that is secret. The helper of agents has no secrets, and must be dumpable to map users in a namespace.
	if len(os.Args) < 2 || os.Args[1] != confine.Command {
		if err := hideMemory(); err != nil {
			fmt.Fprintln(os.Stderr, "nanobot: agents of the same user can read this process's environment:", err)
		}
	}
	os.Exit(run(context.Background(), os.Args[1:], stdio{os.Stdin, os.Stdout, os.Stderr}))
}

// stdio is where a command reads and writes.
type stdio struct {
	in       *os.File
	out, err io.Writer
}

// statusError ends the program with a status. Without an error in it everything has been said already.
type statusError struct {
	status int
	err    error
}

func (e statusError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit status %d", e.status)
	}
	return e.err.Error()
}

func (e statusError) Unwrap() error { return e.err }

func usage(format string, args ...any) error {
	return statusError{exitUsage, fmt.Errorf(format, args...)}
}

func run(ctx context.Context, args []string, std stdio) int {
	root := newRoot(std)
	root.SetArgs(args)
	root.SetIn(std.in)
	root.SetOut(std.out)
	root.SetErr(std.err)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	var mistakes config.Mistakes
	if errors.As(err, &mistakes) {
		fmt.Fprintln(std.err, strings.TrimRight(mistakes.Error(), "\n"))
		return exitConfig
	}
	var status statusError
	if !errors.As(err, &status) {
		status = statusError{exitFailed, err}
		if strings.HasPrefix(err.Error(), "unknown command") {
			status.status = exitUsage // cobra has no type for it
		}
	}
	if status.err != nil {
		fmt.Fprintln(std.err, "nanobot:", status.err)
	}
	if status.status == exitUsage {
		fmt.Fprintln(std.err, `Run "nanobot --help" or "nanobot COMMAND --help" for how to use it.`)
	}
	return status.status
}

func newRoot(std stdio) *cobra.Command {
	root := &cobra.Command{
		Use:   "nanobot",
		Short: "Put any command-line program into a chat",
		Long: `nanobot puts any command-line program into a chat. It starts your program for each message, hands it
the message as one line of JSON, and shows what it prints: text, live progress, pictures and files.`,
		Example: `  nanobot demo                     see it work in a browser
  nanobot chat                     talk to a built-in demo agent in this terminal
  nanobot init --template python   write a first agent and its config
  nanobot run --command 'fortune' hello`,
		SilenceErrors: true, SilenceUsage: true,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return statusError{exitUsage, err} })
	root.AddCommand(
		newServe(std), newDemo(std), newRun(std), newChat(std), newInit(std), newCheckConfig(std), newSchema(std), newPair(std), newLink(std), newBackup(std), newRestore(std), newDoctor(std), newBots(std), newVersion(std), newDemoAgent(std), newConfine(),
	)
	root.AddCommand(docs(root)...)
	return root
}
