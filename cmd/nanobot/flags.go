package main

import (
	"context"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"nanobot/cmd/nanobot/exit"
	"nanobot/cmd/nanobot/trust"
	"nanobot/config"
	"nanobot/internal/placeholder"
)

// addConfigFlag adds the flag --config of a command that needs a config.
func addConfigFlag(cmd *cobra.Command, path *string) {
	cmd.Flags().StringVarP(path, "config", "c", "", "config file (default: $NANOBOT_CONFIG, else ./config.json)")
	_ = cmd.MarkFlagFilename("config", "json")
}

// withConfig adds the flag --config to a command that works while the daemon may be running, and
// has it call run with the config.
func withConfig(cmd *cobra.Command, run func(cmd *cobra.Command, cfg *config.Config,
	args []string) error,
) *cobra.Command {
	var path string
	addConfigFlag(cmd, &path)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		cfg, err := loadForCommand(path)
		if err != nil {
			return err
		}
		return run(cmd, cfg, args)
	}
	return cmd
}

// untilSignal returns a context that ends with the first signal. A second one ends the process at
// once, even while it reads from an empty pipe or writes to a full one.
func untilSignal(ctx context.Context, more ...os.Signal) (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(ctx, append(more, os.Interrupt, syscall.SIGTERM)...)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}

// agentFlags are the flags of run and chat that choose or replace the configured agent.
type agentFlags struct {
	config, agent, command, protocol, chat string
	timeout                                int
	verbose                                bool
}

func (f *agentFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVarP(&f.config, "config", "c", "",
		"config file (default: $NANOBOT_CONFIG, else ./config.json if it exists)")
	flags.StringVar(&f.agent, "agent", config.DefaultAgent, "name of a configured agent")
	flags.StringVar(&f.command, "command", "",
		"run this command instead of the configured one; the other settings stay, so add --protocol if it needs another")
	f.addProtocol(cmd)
	flags.IntVar(&f.timeout, "timeout", 0, "time limit of a turn in seconds")
	flags.StringVar(&f.chat, "chat", "local", "ID of the chat; each chat has its own folder for the agent's data")
	flags.BoolVarP(&f.verbose, "verbose", "v", false, "print the log, including the agent's log frames, on stderr")
	_ = cmd.MarkFlagFilename("config", "json")
	_ = cmd.RegisterFlagCompletionFunc("agent",
		func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			cfg, err := loadConfig(configPath(f.config))
			if err != nil {
				return nil, cobra.ShellCompDirectiveError
			}
			return cfg.AgentNames(), cobra.ShellCompDirectiveNoFileComp
		})
}

// addProtocol adds the flag --protocol.
func (f *agentFlags) addProtocol(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.protocol, "protocol", "", "protocol of the agent: "+strings.Join(protocolNames(), ", "))
	_ = cmd.RegisterFlagCompletionFunc("protocol",
		cobra.FixedCompletions(protocolNames(), cobra.ShellCompDirectiveNoFileComp))
}

// load reads the config and applies the flags to it.
func (f *agentFlags) load(cmd *cobra.Command) (*config.Config, error) {
	cfg, err := loadConfig(configPath(f.config))
	if err != nil {
		return nil, err
	}
	if cfg, err = chooseAgent(cfg, f.agent); err != nil {
		return nil, err
	}
	if err := trust.CheckAgent(cfg); err != nil {
		return nil, err
	}
	t := &cfg.Terminal
	if cmd.Flags().Changed("command") {
		if err := setCommand(cfg, "--command", f.command); err != nil {
			return nil, err
		}
	}
	if cmd.Flags().Changed("protocol") {
		if err := setProtocol(cfg, f.protocol); err != nil {
			return nil, err
		}
	}
	if cmd.Flags().Changed("timeout") {
		if f.timeout < 1 || f.timeout > config.MaxTimeout {
			return nil, exit.Usagef("--timeout: must be from 1 to %d (got %d)", config.MaxTimeout, f.timeout)
		}
		t.Timeout = f.timeout
	}
	return cfg, nil
}

// setCommand makes a command the agent of a config. name is that of the flag or argument.
func setCommand(cfg *config.Config, name, command string) error {
	t := &cfg.Terminal
	t.Command, t.Enabled = command, nil
	if strings.TrimSpace(command) == "" {
		return exit.Usagef("%s: must not be empty", name)
	}
	if _, err := placeholder.Parse(t.Shell, command); err != nil {
		return exit.Usagef("%s: %w", name, err)
	}
	return nil
}

func setProtocol(cfg *config.Config, name string) error {
	if _, ok := findProtocol(name); !ok {
		return exit.Usagef("--protocol: must be one of %s (got %q)", strings.Join(protocolNames(), ", "), name)
	}
	cfg.SetProtocol(name)
	return nil
}

// chooseAgent returns the config with the agent's section as its terminal section.
func chooseAgent(cfg *config.Config, name string) (*config.Config, error) {
	own, ok := cfg.ForAgent(name)
	if ok {
		return own, nil
	}
	names := cfg.AgentNames()
	if near := config.ClosestMatch(name, names); near != "" {
		return nil, exit.Usagef("--agent: there is no agent %q; did you mean %s?", name, near)
	}
	return nil, exit.Usagef("--agent: there is no agent %q, only %s", name, strings.Join(names, ", "))
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
