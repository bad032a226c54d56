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

	"nanobot/cmd/nanobot/exit"
	"nanobot/config"
	"nanobot/terminal/sandbox"
)

func main() {
	// Before anything is read that is secret. The helper of agents has no secrets, and must be
	// dumpable to map users in a namespace. Nor has what connects an agent with the daemon, which
	// must be able to see it in /proc: that may hide what is not dumpable.
	if len(os.Args) < 2 || os.Args[1] != sandbox.Command && (os.Args[1] != "mcp" || os.Getenv(config.SocketVariable) == "") {
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
		return exit.Config
	}
	var status exit.Error
	if !errors.As(err, &status) {
		status = exit.Error{Status: exit.Failed, Err: err}
		if strings.HasPrefix(err.Error(), "unknown command") {
			status.Status = exit.Usage // cobra has no type for it
		}
	}
	if status.Err != nil {
		fmt.Fprintln(std.err, "nanobot:", status.Err)
	}
	if status.Status == exit.Usage {
		fmt.Fprintln(std.err, `Run "nanobot --help" or "nanobot COMMAND --help" for how to use it.`)
	}
	return status.Status
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
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return exit.Error{Status: exit.Usage, Err: err} })
	root.AddCommand(
		newServe(std), newDemo(std), newRun(std), newChat(std), newParse(std), newInit(std), newCheckConfig(std), newSchema(std), newPair(std), newLink(std), newBackup(std), newRestore(std), newDoctor(std), newBots(std), newRunbook(std), newMCP(std), newVersion(std), newDemoAgent(std), newSandboxHelper(),
	)
	root.AddCommand(docs(root)...)
	return root
}
