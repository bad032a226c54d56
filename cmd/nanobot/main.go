// Command nanobot puts any command-line program into a chat.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"nanobot/cmd/nanobot/exit"
	"nanobot/config"
	"nanobot/terminal/sandbox"
)

func main() {
	// The process makes itself undumpable before it reads any secret. Some commands have no secrets
	// and stay dumpable: the sandbox helper, which maps users in a namespace, and those that an
	// agent uses on the daemon's socket, whose processes the daemon looks up in /proc.
	if len(os.Args) < 2 || os.Args[1] != sandbox.Command &&
		(!slices.Contains([]string{"mcp", "send", "ask"}, os.Args[1]) || os.Getenv(config.SocketVariable) == "") {
		if err := hideMemory(); err != nil {
			fmt.Fprintln(os.Stderr, "nanobot: agents of the same user can read the environment of this process:", err)
		}
	}
	os.Exit(run(context.Background(), os.Args[1:], stdio{os.Stdin, os.Stdout, os.Stderr}))
}

// stdio has the standard streams of a command.
type stdio struct {
	in       *os.File
	out, err io.Writer
}

func run(ctx context.Context, args []string, std stdio) int {
	root, helpFailed := newRoot(std)
	root.SetArgs(args)
	root.SetIn(std.in)
	root.SetOut(std.out)
	root.SetErr(std.err)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		err = *helpFailed
	}
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
		fmt.Fprintln(std.err, helpHint(cmd))
	}
	return status.Status
}

// newRoot makes all commands. The error is that of a help that was asked for, once the command has
// run.
func newRoot(std stdio) (root *cobra.Command, helpFailed *error) {
	var showVersion bool
	root = &cobra.Command{
		Use:   "nanobot",
		Short: "Put any command-line program into a chat",
		Long: `nanobot puts any command-line program into a chat. It starts your program for each message, passes it
the message as one line of JSON, and shows its output in the chat: text, live progress, pictures and files.`,
		Example: `  nanobot demo                            try it in a browser
  nanobot web 'python3 agent.py'          talk to your program in a browser
  nanobot chat                            talk to a built-in demo agent in this terminal
  nanobot init --template python mybot    write your first agent and its config
  nanobot run --command 'uname -a' hello  send one message to a command`,
		SilenceErrors: true, SilenceUsage: true,
		Args: requireSubcommand,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if showVersion {
				return printVersion(std.out)
			}
			return cmd.Help()
		},
	}
	root.Flags().BoolVar(&showVersion, "version", false, "print the version")
	root.SetFlagErrorFunc(explainFlagError)
	root.AddCommand(
		newServe(std), newWeb(std), newDev(std), newDemo(std), newRun(std), newChat(std), newSend(std), newAsk(std),
		newParse(std), newCheckAgent(std), newReplay(std), newInit(std), newCheckConfig(std), newSchema(std), newWords(std),
		newPair(std), newLink(std), newBackup(std), newRestore(std), newDoctor(std), newLogin(std), newBots(std),
		newRunbook(std), newRoutes(std), newSchedulesCommand(std), newUsage(std), newProve(std), newMembers(std),
		newDrain(std), newMove(std), newMCP(std), newVersion(std), newExport(std), newForget(std), newDemoAgent(std),
		newSandboxHelper(),
	)
	root.AddCommand(docsCommands(root)...)
	helpFailed = new(error)
	rejectUnknownTopics(root, helpFailed)
	return root, helpFailed
}
