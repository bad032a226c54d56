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
	"nanobot/cmd/nanobot/exit"
	"nanobot/config"
	"nanobot/gateway"
	"nanobot/terminal"
	"nanobot/terminal/process"
	"nanobot/terminal/rich"
)

func newChat(std stdio) *cobra.Command {
	var flags agentFlags
	cmd := &cobra.Command{
		Use:   "chat [flags]",
		Short: "Talk to the agent in this terminal",
		Long: `Chat talks to the configured agent in this terminal. Without a config it talks to a built-in demo agent.
Ctrl-C stops a running turn; pressed again or at the prompt, it leaves the chat, as does Ctrl-D. Lines pasted
together are one message. From a pipe, each line is a message. Root can use it only with bots that run as root.`,
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
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	defer writeErrors()()
	s := &session{}
	o := cli.Options{ChatID: flags.chat, User: localUser()}
	logTo := std.err
	if out, ok := std.out.(*os.File); ok && term.IsTerminal(int(std.in.Fd())) && term.IsTerminal(int(out.Fd())) {
		greet(out, cfg, demo)
		keyboard := cli.NewKeyboard(std.in, out, "› ", cli.OpenHistory(filepath.Join(cfg.Gateway.StateDir, "history")))
		s.live = newLive(out, cfg.Terminal.Progress)
		s.live.Out = keyboard // a turn may speak while it waits for what is typed
		o.In, o.Printer, logTo = keyboard, s.live, s.live.Beside(std.err)
	} else {
		o.Printer = cli.Text{Out: std.out, Progress: std.out}
		o.In = cli.NewPiped(std.in)
	}
	supervisor := process.NewSupervisor(process.SupervisorOptions{})
	defer supervisor.Close()
	var err error
	if s.gateway, err = newDirect(cfg, supervisor, newLog(logTo, flags.verbose)); err != nil {
		return err
	}
	defer s.gateway.Close()
	if s.live != nil { // somebody sits here
		s.gateway.Answer = o.In.Read
		s.gateway.ShowCaptions = true
		greetControls(std.out, s.gateway.Controls())
	}
	s.ch = cli.New(o)
	s.gateway.Listen = func(ctx context.Context) (channels.Incoming, error) {
		if s.live != nil {
			if err := s.live.Clear(); err != nil {
				return channels.Incoming{}, err
			}
		}
		text, err := o.In.Read(ctx)
		return s.ch.Incoming(text, nil), err
	}
	err = s.talk(ctx)
	if s.live != nil {
		fmt.Fprintln(std.out) // the prompt's line ends here
	}
	return err
}

// newLive shows progress on one line, or as lines of its own when each frame is to be a message.
// The user turns styles off by NO_COLOR (https://no-color.org); a dumb terminal has none.
func newLive(out *os.File, progress string) *cli.Live {
	style := os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	return &cli.Live{Out: out, Lines: progress == "message", Style: style, Width: func() int {
		w, _, err := term.GetSize(int(out.Fd()))
		if err != nil || w < 10 {
			return 80
		}
		return w
	}}
}

// session is one run of chat.
type session struct {
	gateway *gateway.Direct
	ch      *cli.Channel
	live    *cli.Live // nil when piped

	mu   sync.Mutex
	stop context.CancelFunc // ends the turn that runs; nil when none does, or it was told to end already
}

// talk runs turns until the user leaves. Ctrl-C stops the turn that runs; without one, or pressed
// again, it leaves.
func (s *session) talk(ctx context.Context) error {
	ctx, leave := context.WithCancel(ctx)
	defer leave()
	interrupts := make(chan os.Signal, 2)
	signal.Notify(interrupts, os.Interrupt)
	defer signal.Stop(interrupts)
	left := false
	var watch sync.WaitGroup
	watch.Go(func() {
		for {
			select {
			case <-interrupts:
				if !s.stopTurn() {
					left = true
					leave()
				}
			case <-ctx.Done():
				return
			}
		}
	})
	err := s.ch.Run(ctx, s.turn)
	leave()
	watch.Wait()
	if left && err == nil || errors.Is(err, errLeft) {
		return exit.Error{Status: exit.Interrupted}
	}
	return err
}

// errLeft ends a chat whose user pressed Ctrl-C when the answer was there and its turn about to
// end.
var errLeft = errors.New("left")

// stopTurn ends the turn that runs, and reports whether there was one to be told.
func (s *session) stopTurn() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stop == nil {
		return false
	}
	s.stop()
	s.stop = nil
	return true
}

// turn runs the agent on one message, unless its protocol carries it out itself. What the gateway
// could not do it has logged and told, and the chat goes on, unless there is nobody left to tell.
func (s *session) turn(ctx context.Context, in channels.Incoming) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.mu.Lock()
	s.stop = cancel
	s.mu.Unlock()
	done, err := s.gateway.Control(ctx, s.ch, in)
	var out terminal.Outcome
	if !done && err == nil {
		out, err = s.gateway.Turn(ctx, s.ch, in)
	}
	s.mu.Lock()
	late := err == nil && s.stop == nil && out.Status != terminal.Stopped && !done
	s.stop = nil
	s.mu.Unlock()
	var se *channels.SendError
	switch {
	case late:
		return errLeft
	case errors.As(err, &se) && se.Permanent:
		return err
	case s.live != nil:
		return s.live.Clear()
	}
	return nil
}

func greet(w io.Writer, cfg *config.Config, demo bool) {
	if demo {
		fmt.Fprint(w, `There is no config.json here, so this is the built-in demo agent.
Say hello, or type: album, slow, markdown, fail, help. Ctrl-D leaves.
Your own agent:  nanobot init --template python
or any program:  nanobot chat --command 'your program'

`)
		return
	}
	fmt.Fprintf(w, "Talking to: %s\nCtrl-C stops a turn, Ctrl-D leaves.\n\n", firstLine(cfg.Terminal.Command))
}

// greetControls lists the commands of the agent's protocol.
func greetControls(w io.Writer, commands []terminal.Command) {
	for _, c := range commands {
		fmt.Fprintf(w, "/%s: %s\n", c.Name, c.Help)
	}
	if len(commands) > 0 {
		fmt.Fprintln(w)
	}
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

// useDemoAgent makes this very program the agent, in a workspace of its own that stays, so that its
// pictures can be looked at.
func useDemoAgent(cfg *config.Config) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	if cfg.Workspace, err = demoWorkspace(); err != nil {
		return fmt.Errorf("make demo workspace: %w", err)
	}
	cfg.Gateway.StateDir = filepath.Join(cfg.Workspace, ".nanobot")
	cfg.Terminal.Command = terminal.ShellQuote(self) + " demo-agent"
	cfg.Terminal.Protocol = rich.Name
	return nil
}

func demoWorkspace() (string, error) {
	if cache, err := os.UserCacheDir(); err == nil && filepath.IsAbs(cache) {
		dir := filepath.Join(cache, "nanobot", "demo")
		if os.MkdirAll(dir, 0o700) == nil {
			return dir, nil
		}
	}
	return os.MkdirTemp("", "nanobot-demo-") // a name that nobody can have prepared
}
