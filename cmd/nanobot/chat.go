package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"nanobot/channels"
	"nanobot/channels/cli"
	"nanobot/cmd/nanobot/exit"
	"nanobot/config"
	"nanobot/gateway"
	"nanobot/internal/words"
	"nanobot/terminal"
	"nanobot/terminal/process"
	"nanobot/terminal/rich"
)

func newChat(std stdio) *cobra.Command {
	var flags agentFlags
	var record string
	cmd := &cobra.Command{
		Use:   "chat [flags]",
		Short: "Talk to the agent in this terminal",
		Long: `Chat talks to the configured agent in this terminal. Without a config it talks to a built-in demo agent.
Ctrl-C stops a running turn; pressed again or at the prompt, it leaves the chat, as do Ctrl-D and /quit. /help lists
the commands. Lines pasted together are one message. From a pipe, each line is a message. Root can use it only with
bots that run as root.`,
		Example: `  nanobot chat
  nanobot chat --command 'python3 agent.py' --protocol rich
  printf 'hello\nand goodbye\n' | nanobot chat`,
		Args: noArguments,
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
				return noAgentError(cfg)
			}
			path, err := recordInto(record)
			if err != nil {
				return err
			}
			return runChat(cmd.Context(), cfg, flags, std, chatOptions{demo, path})
		},
	}
	flags.add(cmd)
	cmd.Flags().StringVar(&record, "record", "", "record each turn as a cassette in this `folder`, for nanobot replay")
	_ = cmd.MarkFlagDirname("record")
	return cmd
}

// chatOptions says that the chat is with the demo agent, and where its turns are recorded.
type chatOptions struct {
	demo   bool
	record recordPath
}

func runChat(ctx context.Context, cfg *config.Config, flags agentFlags, std stdio, with chatOptions) error {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	defer disableSIGPIPE()()
	user := localUser()
	user.Language = words.FromEnvironment(os.Getenv)
	s := &chatSession{cfg: cfg, words: words.New(wordSettings(cfg)).For(user.Language)}
	o := cli.Options{ChatID: flags.chat, User: user}
	logTo := std.err
	if out, ok := std.out.(*os.File); ok && term.IsTerminal(int(std.in.Fd())) && term.IsTerminal(int(out.Fd())) {
		keyboard, err := s.openTerminal(std.in, out, with.demo)
		if err != nil {
			return err
		}
		o.In, o.Printer, logTo = keyboard, s.live, s.live.AboveProgress(std.err)
	} else {
		o.Printer = cli.TextPrinter{Out: std.out, Progress: std.out, Words: s.words}
		o.In = cli.NewPiped(std.in)
	}
	supervisor := process.NewSupervisor(process.SupervisorOptions{})
	defer supervisor.Close()
	var err error
	if s.gateway, err = newDirect(cfg, supervisor, with.record, newLog(logTo, flags.verbose)); err != nil {
		return err
	}
	defer s.gateway.Close()
	s.gateway.Words = s.words
	next := &inputWithNext{Input: o.In}
	if keyboard, ok := o.In.(*cli.Keyboard); ok { // a person can answer questions
		here := terminal.ControlRequest{Chat: channels.Chat{Channel: cli.Name, ID: flags.chat}.String()}
		keyboard.Hides = func() bool { return s.gateway.Runner.ReadsSecret(here) }
		s.gateway.Answer = func(ctx context.Context) (string, error) { return s.readDuringTurn(ctx, keyboard) }
		s.gateway.AnswerSecret = func(ctx context.Context) (string, error) {
			return s.readDuringTurn(ctx, cli.SecretInput{Keyboard: keyboard})
		}
		s.gateway.Dismissed = next.add
		s.gateway.ShowCaptions, s.gateway.ShowDrafts = true, true
		if own := s.gateway.Controls(); len(own) > 0 {
			if err := s.printAbove(s.listCommands(own)); err != nil {
				return err
			}
		}
	}
	o.In = next
	s.ch = cli.New(o)
	s.gateway.Listen = func(ctx context.Context) (channels.Incoming, error) {
		if s.live != nil {
			if err := s.live.Clear(); err != nil {
				return channels.Incoming{}, err
			}
		}
		text, err := s.readDuringTurn(ctx, o.In)
		return s.ch.Incoming(text, nil), err
	}
	err = s.run(ctx)
	if s.live != nil {
		fmt.Fprintln(std.out) // the prompt's line ends here
	}
	return err
}

// openTerminal greets the person on a terminal, prepares the printer and returns the keyboard.
func (s *chatSession) openTerminal(in, out *os.File, demo bool) (*cli.Keyboard, error) {
	keyboard := cli.NewKeyboard(in, out, "› ", cli.OpenHistory(filepath.Join(s.cfg.Gateway.StateDir, "history")))
	keyboard.SecretEnded = s.words.Text(words.ChatSecretEnded)
	s.live = newLivePrinter(out, s.cfg.Terminal.Progress)
	s.live.Words = s.words
	if err := s.printAbove(s.greeting(demo)); err != nil {
		return nil, err
	}
	s.live.Out = keyboard // a turn may print while it waits for input
	return keyboard, nil
}

// newLivePrinter returns a printer that shows progress on one line, or as separate lines if
// terminal.progress is "message". Styles are off if NO_COLOR (https://no-color.org) is set or the
// terminal is dumb.
func newLivePrinter(out *os.File, progress string) *cli.TerminalPrinter {
	style := os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	return &cli.TerminalPrinter{Out: out, Lines: progress == "message", Style: style, Width: func() int {
		w, _, err := term.GetSize(int(out.Fd()))
		if err != nil || w < 10 {
			return 80
		}
		return w
	}}
}

// chatSession is one execution of `nanobot chat`.
type chatSession struct {
	cfg     *config.Config
	words   words.Words
	gateway *gateway.Direct
	ch      *cli.Channel
	live    *cli.TerminalPrinter // nil if stdin or stdout is not a terminal

	last lastTurn

	mu    sync.Mutex
	stop  context.CancelFunc // stops the running turn; nil if none runs or it was stopped already
	quits bool               // the chat ends with the running turn
}

// run runs turns until the user leaves. Ctrl-C stops the running turn; at the prompt, or pressed
// again, it leaves the chat.
func (s *chatSession) run(ctx context.Context) error {
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
	err := s.ch.Run(ctx, s.runTurn)
	leave()
	watch.Wait()
	if errors.Is(err, errQuit) {
		return nil
	}
	if left && err == nil || errors.Is(err, errLeft) {
		return exit.Error{Status: exit.Interrupted}
	}
	return err
}

// errLeft ends the chat: the user pressed Ctrl-C when the answer was complete, so there was no turn
// left to stop.
var errLeft = errors.New("the user left the chat")

// stopTurn stops the running turn. It reports false if no turn runs or it was stopped already.
func (s *chatSession) stopTurn() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stop == nil {
		return false
	}
	s.stop()
	s.stop = nil
	return true
}

// runTurn runs the agent on one message, unless the message is a command of its protocol. The
// gateway has reported its errors already, so the chat continues, except if nothing can be printed
// any more.
func (s *chatSession) runTurn(ctx context.Context, in channels.Incoming) error {
	if command := chatCommand(in.Text); command != "" && !in.Pressed {
		return s.runCommand(ctx, in, command)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.mu.Lock()
	s.stop = cancel
	s.mu.Unlock()
	began := time.Now()
	done, err := s.gateway.Control(ctx, s.ch, in)
	var out terminal.Outcome
	if !done && err == nil {
		out, err = s.gateway.Turn(ctx, s.ch, in)
	}
	if !done {
		s.last = lastTurn{cmp.Or(out.Status, terminal.Failed), time.Since(began)}
	}
	s.mu.Lock()
	late := err == nil && s.stop == nil && out.Status != terminal.Stopped && !done
	quits := s.quits
	s.stop = nil
	s.mu.Unlock()
	var se *channels.SendError
	switch {
	case quits:
		return errQuit
	case late:
		return errLeft
	case errors.As(err, &se) && se.Permanent:
		return err
	case s.live != nil:
		return s.live.Clear()
	}
	return nil
}

// greeting tells the person what the chat talks to.
func (s *chatSession) greeting(demo bool) string {
	if demo {
		return s.words.Text(words.ChatDemo, demoExampleWords, "nanobot init --template python",
			"nanobot chat --command 'your program'")
	}
	return s.words.Text(words.ChatGreeting, firstLine(s.cfg.Terminal.Command))
}

// demoExampleWords are words that the demo agent understands.
const demoExampleWords = "album, slow, ask, stream, buttons, markdown, fail, help"

// printAbove prints a text above the first prompt, with a blank line after it.
func (s *chatSession) printAbove(text string) error {
	if err := s.live.Show(channels.Outgoing{Kind: channels.Answer, Text: text, Format: channels.Literal}); err != nil {
		return err
	}
	_, err := fmt.Fprintln(s.live.Out)
	return err
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

// useDemoAgent makes this program the agent of a config, in a workspace of its own. The workspace
// is not removed, so that people can look at the agent's pictures afterwards.
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
	cfg.Terminal.Protocol, cfg.Terminal.Interactive = rich.Name, true
	return nil
}

func demoWorkspace() (string, error) {
	if cache, err := os.UserCacheDir(); err == nil && filepath.IsAbs(cache) {
		dir := filepath.Join(cache, "nanobot", "demo")
		if os.MkdirAll(dir, 0o700) == nil {
			return dir, nil
		}
	}
	return os.MkdirTemp("", "nanobot-demo-") // a random name, which no other user can have created before
}
