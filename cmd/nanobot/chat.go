package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"nanobot/channels"
	"nanobot/channels/cli"
	"nanobot/config"
	"nanobot/gateway"
	"nanobot/terminal"
)

func newChat(std stdio) *cobra.Command {
	var flags agentFlags
	cmd := &cobra.Command{
		Use:   "chat [flags]",
		Short: "Talk to the agent in this terminal",
		Long: `Chat talks to the configured agent in this terminal. Without any config it talks to a built-in demo agent.
Ctrl-C stops a running turn; at the prompt, or pressed again, it leaves, as Ctrl-D does. Lines that are
pasted together are one message. When input is piped in, each line is a message.`,
		Example: `  nanobot chat
  nanobot chat --command 'python3 agent.py' --protocol rich
  printf 'hello\nand goodbye\n' | nanobot chat`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := flags.load(cmd)
			if err != nil {
				return err
			}
			demo := cfg.File() == "" && cfg.Terminal.Command == ""
			if demo {
				if err := useDemoAgent(cfg); err != nil {
					return err
				}
			} else if cfg.Terminal.Command == "" && cfg.Terminal.Enabled == nil {
				return noAgent(cfg)
			}
			return chat(cmd.Context(), cfg, flags, std, demo)
		},
	}
	flags.add(cmd)
	return cmd
}

func chat(ctx context.Context, cfg *config.Config, flags agentFlags, std stdio, demo bool) error {
	g, err := newGateway(cfg, newLog(std.err, flags.verbose))
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	s := &session{gateway: g, interrupts: make(chan os.Signal, 2)}
	signal.Notify(s.interrupts, os.Interrupt)
	defer signal.Stop(s.interrupts)
	o := cli.Options{ChatID: flags.chat, User: localUser()}
	if out, ok := std.out.(*os.File); ok && term.IsTerminal(int(std.in.Fd())) && term.IsTerminal(int(out.Fd())) {
		greet(out, cfg, demo)
		s.live = newLive(out, cfg.Terminal.Progress)
		o.Printer = s.live
		o.In = cli.NewKeyboard(std.in, out, "› ", cli.OpenHistory(filepath.Join(cfg.Gateway.StateDir, "history")))
	} else {
		o.Printer = cli.Text{Out: std.out, Progress: std.out}
		o.In = cli.NewPiped(std.in)
	}
	s.ch = cli.New(o)
	err = s.ch.Run(ctx, s.turn)
	if s.live != nil {
		fmt.Fprintln(std.out) // the prompt's line ends here
	}
	if errors.Is(err, errLeft) {
		return statusError{status: exitInterrupted}
	}
	return err
}

// newLive shows progress on one line, or as lines of its own when each frame is to be a message.
func newLive(out *os.File, progress string) *cli.Live {
	return &cli.Live{Out: out, Lines: progress == "message", Width: func() int {
		w, _, err := term.GetSize(int(out.Fd()))
		if err != nil || w < 10 {
			return 80
		}
		return w
	}}
}

// errLeft says that the user pressed Ctrl-C twice.
var errLeft = errors.New("left")

// session is one run of chat.
type session struct {
	gateway    *gateway.Gateway
	ch         *cli.Channel
	live       *cli.Live // nil when piped
	interrupts chan os.Signal
}

// turn runs the agent on one message. The first Ctrl-C stops it, the second leaves.
func (s *session) turn(ctx context.Context, in channels.Incoming) error {
	ctx, cancel := context.WithCancel(ctx)
	var pressed int
	var watch sync.WaitGroup
	done := make(chan struct{})
	watch.Go(func() {
		for {
			select {
			case <-s.interrupts:
				pressed++
				cancel()
			case <-done:
				return
			}
		}
	})
	// What the gateway could not do it has logged and told, and the chat goes on.
	_, _ = s.gateway.Turn(ctx, s.ch, in)
	close(done)
	watch.Wait()
	cancel()
	if s.live != nil {
		if err := s.live.Clear(); err != nil {
			return err
		}
	}
	if pressed > 1 {
		return errLeft
	}
	return nil
}

func greet(w io.Writer, cfg *config.Config, demo bool) {
	if demo {
		fmt.Fprint(w, `There is no config.json here, so this is the built-in demo agent.
Say hello, or type: album, fail, slow, help. Ctrl-D leaves.
Your own agent:  nanobot init --template python
or any program:  nanobot chat --command 'your program'

`)
		return
	}
	fmt.Fprintf(w, "Talking to: %s\nCtrl-C stops a turn, Ctrl-D leaves.\n\n", firstLine(cfg.Terminal.Command))
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

// useDemoAgent makes this very program the agent, in a workspace of its own that stays, so that its pictures can be looked at.
func useDemoAgent(cfg *config.Config) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		dir = os.TempDir()
	}
	cfg.Workspace = filepath.Join(dir, "nanobot", "demo")
	if err := os.MkdirAll(cfg.Workspace, 0o700); err != nil {
		return fmt.Errorf("make demo workspace: %w", err)
	}
	cfg.Gateway.StateDir = filepath.Join(cfg.Workspace, ".nanobot")
	cfg.Terminal.Command = terminal.ShellQuote(self) + " demo-agent"
	cfg.Terminal.Protocol = "rich"
	return nil
}
