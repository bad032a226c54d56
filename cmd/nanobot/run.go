package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"nanobot/channels"
	"nanobot/channels/cli"
	"nanobot/cmd/nanobot/exit"
	"nanobot/config"
	"nanobot/terminal"
	"nanobot/terminal/process"
)

func newRun(std stdio) *cobra.Command {
	var flags agentFlags
	var media []string
	var asJSON bool
	var record string
	cmd := &cobra.Command{
		Use:   "run [flags] [TEXT|-]",
		Short: "Send one message to the agent and print the reply",
		Long: `Run sends one message to the agent and prints the reply on stdout and progress on stderr.
With --json it prints everything on stdout as it happens, one object per line:
  {"kind":"progress|message|error","text":…,"media":[…],"buttons":[…],"code":…}
Root can use it only with bots that run as root.

Exit status: 0 done, 1 the agent failed, 2 wrong usage, 78 bad config, 124 timeout, 130 interrupted.`,
		Example: `  nanobot run 'hello there'
  echo 'a long text' | nanobot run -
  nanobot run --media photo.jpg 'what is this?'
  nanobot run --command 'python3 agent.py' --protocol rich --json hi
  nanobot run --record hello.nbt.jsonl hello`,
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := messageText(args, media, std.in)
			if err != nil {
				return err
			}
			files, err := absoluteFiles(media)
			if err != nil {
				return err
			}
			cfg, err := flags.load(cmd)
			if err != nil {
				return err
			}
			if cfg.Terminal.Command == "" && cfg.Terminal.Enabled == nil {
				return noAgentError(cfg)
			}
			cassette, err := recordTo(record)
			if err != nil {
				return err
			}
			defer dropEmpty(record, cassette)
			if len(files) > 0 && !cfg.Terminal.PassMedia {
				fmt.Fprintln(std.err, "nanobot: terminal.passMedia is false, so the agent does not get the files")
			}
			var printer cli.Printer = cli.TextPrinter{Out: std.out, Progress: std.err}
			if asJSON {
				printer = cli.JSONPrinter{Out: std.out}
			}
			return runOnce(cmd.Context(), cfg, oneTurn{
				flags: flags, printer: printer, text: text, media: files,
				record: cassette, stderr: std.err,
			})
		},
	}
	flags.add(cmd)
	cmd.Flags().StringArrayVar(&media, "media", nil, "file to send with the message; may be repeated")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object per line")
	cmd.Flags().StringVar(&record, "record", "", "record the turn as a cassette in this new `file`, for nanobot replay")
	return cmd
}

// oneTurn has the message of `nanobot run` and the printer of its reply.
type oneTurn struct {
	flags   agentFlags
	printer cli.Printer
	text    string
	media   []string
	record  recordPath
	stderr  io.Writer
}

func runOnce(ctx context.Context, cfg *config.Config, t oneTurn) error {
	log := newLog(t.stderr, t.flags.verbose)
	supervisor := process.NewSupervisor(process.SupervisorOptions{})
	defer supervisor.Close()
	g, err := newDirect(cfg, supervisor, t.record, log)
	if err != nil {
		return err
	}
	defer g.Close()
	ctx, stop := untilSignal(ctx, syscall.SIGHUP)
	defer stop()
	defer disableSIGPIPE()()
	ch := cli.New(cli.Options{ChatID: t.flags.chat, User: localUser(), Printer: t.printer})
	out, err := g.Turn(ctx, ch, ch.Incoming(t.text, t.media))
	if err != nil {
		return exit.Error{Status: exit.Failed} // the reason is in the log
	}
	return outcomeStatus(out)
}

// disableSIGPIPE turns a write to a closed pipe into an error. The signal would end this process
// without stopping its agent.
func disableSIGPIPE() (restore func()) {
	pipe := make(chan os.Signal, 1)
	signal.Notify(pipe, syscall.SIGPIPE)
	return func() { signal.Stop(pipe) }
}

func outcomeStatus(out terminal.Outcome) error {
	switch out.Status {
	case terminal.Failed:
		return exit.Error{Status: exit.Failed}
	case terminal.TimedOut:
		return exit.Error{Status: exit.Timeout}
	case terminal.Stopped:
		return exit.Error{Status: exit.Interrupted}
	case terminal.Done, terminal.Refused, terminal.Silent:
	}
	return nil
}

// messageText returns the text of the arguments, or the content of stdin for "-".
func messageText(args, media []string, in io.Reader) (string, error) {
	switch {
	case len(args) == 0 && len(media) == 0:
		return "", exit.Usagef("no message: add a TEXT, - to read it from stdin, or --media")
	case len(args) == 1 && args[0] == "-":
		b, err := io.ReadAll(in)
		if err != nil {
			return "", fmt.Errorf("read message from stdin: %w", err)
		}
		return strings.TrimRight(string(b), "\r\n"), nil
	}
	return strings.Join(args, " "), nil
}

func absoluteFiles(paths []string) ([]string, error) {
	var out []string
	for _, p := range paths {
		abs, err := filepath.Abs(p)
		if err != nil {
			return nil, fmt.Errorf("--media %s: %w", p, err)
		}
		info, err := os.Stat(abs)
		if err != nil {
			return nil, exit.Usagef("--media: %v", err)
		}
		if !info.Mode().IsRegular() {
			return nil, exit.Usagef("--media: %s is not a file", p)
		}
		out = append(out, abs)
	}
	return out, nil
}

func noAgentError(cfg *config.Config) error {
	if cfg.File() == "" {
		return exit.Error{
			Status: exit.Config,
			Err:    errors.New(`no agent: there is no config.json in this folder; run "nanobot init" to write one, or use --command`),
		}
	}
	return config.Mistakes{{
		File: cfg.File(), Key: "terminal.command",
		Text: "must name the agent's command; or use --command",
	}}
}

// localUser returns the user who runs this program.
func localUser() channels.User {
	u, err := user.Current()
	if err != nil {
		return channels.User{ID: strconv.Itoa(os.Getuid())}
	}
	return channels.User{ID: u.Uid, Name: u.Name, Username: u.Username}
}
