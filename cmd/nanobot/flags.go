package main

import (
	"context"
	"fmt"
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

// checkedFlag is a text flag whose value is checked while the command line is parsed. So a wrong
// value is wrong use, whatever else is wrong.
type checkedFlag struct {
	target *string
	check  func(string) error
}

func (f checkedFlag) String() string { return *f.target }

// Type is the name of the type in the help.
func (checkedFlag) Type() string { return "string" }

// Set stores the value if it is right.
func (f checkedFlag) Set(value string) error {
	if err := f.check(value); err != nil {
		return err
	}
	*f.target = value
	return nil
}

// completeNames completes the arguments of a command, or the value of a flag, with names.
func completeNames(names func() []string) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return names(), cobra.ShellCompDirectiveNoFileComp
	}
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
	f.addAgent(cmd)
	cmd.Flags().StringVar(&f.chat, "chat", "local", "ID of the chat; each chat has its own folder for the agent's data")
}

// addAgent adds the flags of commands that have no chat.
func (f *agentFlags) addAgent(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVarP(&f.config, "config", "c", "",
		"config file (default: $NANOBOT_CONFIG, else ./config.json if it exists)")
	flags.StringVar(&f.agent, "agent", config.DefaultAgent, "name of a configured agent")
	flags.StringVar(&f.command, "command", "",
		"run this command instead of the configured one; the other settings stay, so add --protocol if it needs another")
	f.addProtocol(cmd)
	flags.IntVar(&f.timeout, "timeout", 0, "time limit of a turn in seconds")
	flags.BoolVarP(&f.verbose, "verbose", "v", false, "print the log, including the agent's log frames, on stderr")
	_ = cmd.MarkFlagFilename("config", "json")
	_ = cmd.RegisterFlagCompletionFunc("agent", completeAgents(&f.config))
}

// completeAgents completes the name of an agent in the config that a flag names.
func completeAgents(path *string) cobra.CompletionFunc {
	return completeNames(func() []string {
		cfg, err := loadConfig(configPath(*path))
		if err != nil {
			return nil
		}
		return cfg.AgentNames()
	})
}

// addProtocol adds the flag --protocol.
func (f *agentFlags) addProtocol(cmd *cobra.Command) {
	cmd.Flags().Var(checkedFlag{&f.protocol, checkProtocol}, "protocol",
		"protocol of the agent: "+strings.Join(protocolNames(), ", "))
	_ = cmd.RegisterFlagCompletionFunc("protocol",
		cobra.FixedCompletions(protocolNames(), cobra.ShellCompDirectiveNoFileComp))
}

// load reads the config and applies the flags to it.
func (f *agentFlags) load(cmd *cobra.Command) (*config.Config, error) {
	if err := f.check(cmd); err != nil {
		return nil, err
	}
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
		cfg.SetProtocol(f.protocol)
	}
	if cmd.Flags().Changed("timeout") {
		t.Timeout = f.timeout
	}
	return cfg, nil
}

// setCommand makes a command the agent of a config. name is that of the flag or argument.
func setCommand(cfg *config.Config, name, command string) error {
	t := &cfg.Terminal
	t.Command, t.Enabled = command, nil
	if _, err := placeholder.Parse(t.Shell, command); err != nil {
		return exit.Usagef("%s: %w", name, err)
	}
	return nil
}

// checkProtocol accepts the name of a protocol.
func checkProtocol(name string) error {
	if _, ok := findProtocol(name); !ok {
		return fmt.Errorf("must be one of %s", strings.Join(protocolNames(), ", "))
	}
	return nil
}

// check returns the error of wrong flags, whatever the config is.
func (f *agentFlags) check(cmd *cobra.Command) error {
	if cmd.Flags().Changed("command") && strings.TrimSpace(f.command) == "" {
		return exit.Usagef("--command: must not be empty")
	}
	if cmd.Flags().Changed("timeout") && (f.timeout < 1 || f.timeout > config.MaxTimeout) {
		return exit.Usagef("--timeout: must be from 1 to %d (got %d)", config.MaxTimeout, f.timeout)
	}
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
