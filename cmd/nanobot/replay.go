package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"nanobot/cmd/nanobot/exit"
	"nanobot/config"
	"nanobot/internal/linediff"
	"nanobot/internal/placeholder"
	"nanobot/internal/words"
	"nanobot/terminal"
	"nanobot/terminal/cassette"
	"nanobot/terminal/process"
)

func newReplay(std stdio) *cobra.Command {
	var flags agentFlags
	var asAgent, pace bool
	mode := string(cassette.Exact)
	cmd := &cobra.Command{
		Use:   "replay [flags] CASSETTE|FOLDER… [-- CMD ARG…]",
		Short: "Run the agent on recorded messages and compare what it sends",
		Long: `Replay runs the agent on the message of each cassette, in a temporary workspace, answers its questions as they
were answered, and compares what it sends with what was recorded. A folder stands for all cassettes in it. Without a
config, --command and CMD get the protocol and the settings of the cassette.
With --as-agent it is an agent itself, for a protocol of JSON frames: it reads an envelope and prints the frames of one
cassette. --compare is one of:
  exact  texts, formats, buttons, progress, files by their content, and the exit code
  text   texts, without regard to white space
  shape  kinds and number of messages and files

Exit status: 0 all are the same, 1 one differs or cannot be replayed, 2 wrong usage, 78 bad config, 130 interrupted.`,
		Example: `  nanobot replay tests
  nanobot replay --compare text tests/hello.nbt.jsonl -- python3 agent.py
  nanobot chat --protocol rich --command 'nanobot replay --as-agent tests/hello.nbt.jsonl'`,
		RunE: func(cmd *cobra.Command, args []string) error {
			args, err := flags.takeCommand(cmd, args)
			switch {
			case err != nil:
				return err
			case asAgent && len(args) != 1:
				return exit.Usagef("replay: add one CASSETTE to --as-agent (got %d)", len(args))
			case asAgent:
				return playCassette(args[0], cassette.Player{In: std.in, Out: std.out, Err: std.err, Pace: pace})
			case len(args) == 0:
				return exit.Usagef("replay: add a CASSETTE or a FOLDER of them")
			}
			paths, err := findCassettes(args)
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
			return replayAll(cmd.Context(), replaySuite{
				std: std, mode: cassette.Mode(mode), verbose: flags.verbose,
				load: func(c *cassette.Cassette) (*config.Config, error) { return flags.loadFor(cmd, c) },
			}, paths)
		},
	}
	flags.addAgent(cmd)
	cmd.Flags().Var(checkedFlag{&mode, checkMode}, "compare", "what is compared: exact, text or shape")
	cmd.Flags().BoolVar(&asAgent, "as-agent", false, "be the agent that was recorded")
	cmd.Flags().BoolVar(&pace, "pace", false, "with --as-agent, keep the recorded times of the frames")
	_ = cmd.RegisterFlagCompletionFunc("compare", cobra.FixedCompletions(modes, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

var modes = []string{string(cassette.Exact), string(cassette.Text), string(cassette.Shape)}

func checkMode(mode string) error {
	if !slices.Contains(modes, mode) {
		return fmt.Errorf("must be one of %s", strings.Join(modes, ", "))
	}
	return nil
}

// takeCommand makes the arguments behind "--" the agent's command, and returns the others.
func (f *agentFlags) takeCommand(cmd *cobra.Command, args []string) ([]string, error) {
	n := cmd.ArgsLenAtDash()
	if n < 0 || n == len(args) {
		return args, nil
	}
	if cmd.Flags().Changed("command") {
		return nil, exit.Usagef("%s: --command and -- are two commands", subcommandPath(cmd))
	}
	words := make([]string, 0, len(args)-n)
	for _, arg := range args[n:] {
		if arg != placeholder.Message { // which nanobot quotes itself
			arg = terminal.ShellQuote(arg)
		}
		words = append(words, arg)
	}
	return args[:n], cmd.Flags().Set("command", strings.Join(words, " "))
}

// loadFor is load for the replay of a cassette. A command without a config has the settings with
// which the cassette was recorded.
func (f *agentFlags) loadFor(cmd *cobra.Command, c *cassette.Cassette) (*config.Config, error) {
	cfg, err := f.load(cmd)
	if err != nil || cfg.File() != "" {
		return cfg, err
	}
	if t := &cfg.Terminal; !cmd.Flags().Changed("protocol") {
		if err := checkProtocol(c.Header.Protocol); err != nil {
			return nil, fmt.Errorf("protocol %q: %w; or use --protocol", c.Header.Protocol, err)
		}
		cfg.SetProtocol(c.Header.Protocol)
		t.Interactive, t.PassMedia, t.Format = c.Header.Config.Interactive, c.Header.Config.PassMedia, c.Header.Config.Format
		if c.Header.Config.Stderr != "" {
			t.Stderr = c.Header.Config.Stderr
		}
	}
	return cfg, nil
}

// cassetteConfig returns the settings of an agent on which a replay depends.
func cassetteConfig(t config.Terminal) cassette.Config {
	return cassette.Config{Interactive: t.Interactive, PassMedia: t.PassMedia, Format: t.Format, Stderr: t.Stderr}
}

// cassetteSecrets returns what cassettes must not contain: variables, of which those with the name
// of a secret are redacted, secrets, and addresses that may contain some.
func cassetteSecrets(cfg *config.Config) (environ, secrets, urls []string) {
	environ = os.Environ()
	literals := map[config.Secret]bool{} // in the env of MCP servers, where they may be as common as 1
	for _, t := range agentSettings(cfg) {
		for name, value := range t.Env {
			environ = append(environ, name+"="+value)
		}
		for _, p := range t.Providers {
			urls = append(urls, p.BaseURL)
		}
		for _, s := range t.MCPServers {
			urls = append(urls, s.URL)
			for _, value := range s.Env {
				literals[value] = !value.IsReference()
			}
		}
	}
	for _, s := range cfg.Secrets() {
		switch value, err := s.Reveal(); {
		case err != nil:
		case literals[s]:
			environ = append(environ, "SECRET="+value)
		default:
			secrets = append(secrets, value)
		}
	}
	return environ, secrets, urls
}

// playCassette is the agent of a cassette.
func playCassette(path string, p cassette.Player) error {
	c, err := cassette.Read(path)
	if err != nil {
		return err
	}
	code, err := p.Play(c)
	switch {
	case err != nil:
		return err
	case code < 0 || code > 255:
		return exit.Error{Status: exit.Failed}
	case code > 0:
		return exit.Error{Status: code}
	}
	return nil
}

// findCassettes returns the cassettes of files and folders, each once.
func findCassettes(args []string) (paths []string, err error) {
	for _, arg := range args {
		info, err := os.Stat(arg)
		if err != nil || !info.IsDir() {
			paths = append(paths, arg) // whatever is wrong with it
			continue
		}
		found := 0
		if err := filepath.WalkDir(arg, func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() && strings.HasSuffix(path, cassette.Suffix) {
				paths, found = append(paths, path), found+1
			}
			return err
		}); err != nil {
			return nil, err
		}
		if found == 0 {
			return nil, exit.Usagef("replay: there is no *%s in %s", cassette.Suffix, arg)
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths), nil
}

// replaySuite is what the replays of several cassettes share.
type replaySuite struct {
	std     stdio
	mode    cassette.Mode
	verbose bool
	load    func(*cassette.Cassette) (*config.Config, error)

	supervisor *process.Supervisor
}

func replayAll(ctx context.Context, s replaySuite, paths []string) error {
	ctx, stop := untilSignal(ctx, syscall.SIGHUP)
	defer stop()
	defer disableSIGPIPE()()
	s.supervisor = process.NewSupervisor(process.SupervisorOptions{})
	defer s.supervisor.Close()
	ok, differs, failed := 0, 0, 0
	for _, path := range paths {
		name := cassette.Name(path)
		diff, ended, err := s.replay(ctx, path)
		if ctx.Err() != nil {
			return exit.Error{Status: exit.Interrupted}
		}
		note := ""
		if !ended {
			note = " (the recording was cut off; what it has was compared)"
		}
		switch {
		case err != nil:
			failed++
			fmt.Fprintf(s.std.out, "error %s: %v\n", name, err)
		case diff != "":
			differs++
			fmt.Fprintf(s.std.out, "differs %s%s\n  --- recorded\n  +++ replayed\n%s", name, note, diff)
		default:
			ok++
			fmt.Fprintf(s.std.out, "ok %s%s\n", name, note)
		}
	}
	_, err := fmt.Fprintf(s.std.out, "%d ok, %d differ, %d could not be replayed\n", ok, differs, failed)
	if err == nil && differs+failed > 0 {
		err = exit.Error{Status: exit.Failed}
	}
	return err
}

// replay runs one turn, and returns the difference to its cassette.
func (s replaySuite) replay(ctx context.Context, path string) (diff string, ended bool, err error) {
	c, err := cassette.Read(path)
	if err != nil {
		return "", false, err
	}
	cfg, err := s.load(c)
	if err != nil {
		return "", false, err
	}
	temp, err := filepath.EvalSymlinks(os.TempDir()) // no link leads to files that are sent
	if err == nil {
		temp, err = os.MkdirTemp(temp, "nanobot-replay-")
	}
	if err != nil {
		return "", false, fmt.Errorf("make a workspace: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()
	environ, secrets, urls := cassetteSecrets(cfg)
	redactor := cassette.NewRedactor(environ, secrets...)
	for _, address := range urls {
		redactor.AddURL(address)
	}
	language := words.New(wordSettings(cfg))
	moveWorkspace(cfg, temp)
	turn, err := cassette.NewReplay(c, cassette.ReplayOptions{Workspace: temp, Redactor: redactor, WordsFor: language.For})
	if err != nil {
		return "", false, err
	}
	logTo := io.Discard
	if s.verbose {
		logTo = s.std.err
	}
	runner, err := newRunner(cfg, agentHost{supervisor: s.supervisor}, newLog(logTo, s.verbose))
	if err != nil {
		return "", false, err
	}
	defer runner.Close()
	out, turnErr := runner.Turn(ctx, turn.Request(), turn)
	before, after, ended, err := turn.Compare(s.mode, out, turnErr)
	if err := errors.Join(err, turnErr); err != nil {
		return "", ended, err
	}
	if before != after {
		diff = linediff.Compare(before, after).Unified()
		diff = "  " + strings.ReplaceAll(strings.TrimSuffix(diff, "\n"), "\n", "\n  ") + "\n"
	}
	return diff, ended, nil
}

// moveWorkspace gives the agent another workspace. The agent works where it did, and may send files
// from there.
func moveWorkspace(cfg *config.Config, to string) {
	t := &cfg.Terminal
	if t.Cwd == "" {
		t.Cwd = cfg.Workspace
	}
	if len(t.MediaRoots) == 0 {
		t.MediaRoots = []string{to, t.Cwd, cfg.Workspace, os.TempDir(), "/tmp"}
	}
	cfg.Workspace = to
}
