package main

import (
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"nanobot/config"
	"nanobot/gateway"
	"nanobot/terminal"
	"nanobot/terminal/plain"
	"nanobot/terminal/rich"
)

// protocols are the ways to talk with an agent; a new one is a line here.
var protocols = map[string]terminal.Protocol{
	"plain": plain.Protocol{},
	"rich":  rich.Protocol{},
}

// agentFlags are what run and chat let one say about the agent without a config.
type agentFlags struct {
	config, command, protocol, chat string
	timeout                         int
	verbose                         bool
}

func (f *agentFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVarP(&f.config, "config", "c", "", "config file (default: $NANOBOT_CONFIG, else config.json here if there is one)")
	flags.StringVar(&f.command, "command", "", "run this command instead of the configured agent")
	flags.StringVar(&f.protocol, "protocol", "", "how its output is read: plain or rich")
	flags.IntVar(&f.timeout, "timeout", 0, "seconds the agent may run")
	flags.StringVar(&f.chat, "chat", "local", "id of the chat, which has a folder of its own for the agent's data")
	flags.BoolVarP(&f.verbose, "verbose", "v", false, "show the log, with the agent's log frames, on stderr")
	_ = cmd.MarkFlagFilename("config", "json")
	_ = cmd.RegisterFlagCompletionFunc("protocol", cobra.FixedCompletions(slices.Sorted(maps.Keys(protocols)), cobra.ShellCompDirectiveNoFileComp))
}

// load reads the config that the flags name and lays the flags over it.
func (f *agentFlags) load(cmd *cobra.Command) (*config.Config, error) {
	path := configPath(f.config)
	cfg, err := config.Load(path, os.Environ())
	if err != nil {
		return nil, err
	}
	t := &cfg.Terminal
	if cmd.Flags().Changed("command") {
		t.Command, t.Enabled = f.command, nil
		if strings.TrimSpace(f.command) == "" {
			return nil, usage("--command: must not be empty")
		}
		if err := config.CheckCommand(t.Shell, f.command); err != nil {
			return nil, usage("--command: %w", err)
		}
	}
	if cmd.Flags().Changed("protocol") {
		if _, ok := protocols[f.protocol]; !ok {
			return nil, usage("--protocol: must be one of %s (got %q)", strings.Join(slices.Sorted(maps.Keys(protocols)), ", "), f.protocol)
		}
		t.Protocol = f.protocol
	}
	if cmd.Flags().Changed("timeout") {
		if f.timeout < 1 || f.timeout > config.MaxTimeout {
			return nil, usage("--timeout: must be from 1 to %d (got %d)", config.MaxTimeout, f.timeout)
		}
		t.Timeout = f.timeout
	}
	return cfg, nil
}

// configPath returns the config file to use, or "" if there is none.
func configPath(flag string) string {
	if flag != "" {
		return flag
	}
	if path := os.Getenv("NANOBOT_CONFIG"); path != "" {
		return path
	}
	if _, err := os.Stat("config.json"); err == nil {
		return "config.json"
	}
	return ""
}

// newDirect puts the parts together.
func newDirect(cfg *config.Config, log *zap.Logger) (*gateway.Direct, error) {
	protocol, ok := protocols[cfg.Terminal.Protocol]
	if !ok {
		return nil, fmt.Errorf("protocol %q is not part of this build", cfg.Terminal.Protocol)
	}
	runner, err := terminal.NewRunner(terminal.Options{
		Config: cfg.Terminal, Workspace: cfg.Workspace, Protocol: protocol, Environ: os.Environ(),
		Secrets: cfg.ChannelSecrets(), Private: private(cfg), Log: log,
	})
	if err != nil {
		return nil, statusError{exitConfig, err}
	}
	return &gateway.Direct{Runner: runner, HideProgress: cfg.Terminal.Progress == "off", Log: log}, nil
}

// private names what agents must not send: the config, key files, and our own state. The state's folder as a whole is not named, because
// it may be the workspace itself.
func private(cfg *config.Config) []string {
	paths := append(cfg.SecretFiles(), cfg.File())
	for _, name := range []string{"history", "spool", "daemon.lock", "nanobot.db", "nanobot.db-wal", "nanobot.db-shm"} {
		paths = append(paths, filepath.Join(cfg.Gateway.StateDir, name))
	}
	return paths
}

// newLog returns a log for people who run a command by hand: silent unless something is wrong or they ask.
func newLog(w io.Writer, verbose bool) *zap.Logger {
	level := zapcore.WarnLevel
	if verbose {
		level = zapcore.DebugLevel
	}
	enc := zap.NewDevelopmentEncoderConfig()
	enc.TimeKey, enc.CallerKey = "", ""
	return zap.New(zapcore.NewCore(zapcore.NewConsoleEncoder(enc), zapcore.Lock(zapcore.AddSync(w)), level))
}
