package main

import (
	"os"
	"strings"

	"github.com/spf13/cobra"

	"nanobot/cmd/nanobot/exit"
	"nanobot/cmd/nanobot/trust"
	"nanobot/config"
)

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
	flags.StringVar(&f.protocol, "protocol", "", "how it is talked with: "+strings.Join(protocolNames(), ", "))
	flags.IntVar(&f.timeout, "timeout", 0, "seconds the agent may run")
	flags.StringVar(&f.chat, "chat", "local", "id of the chat, which has a folder of its own for the agent's data")
	flags.BoolVarP(&f.verbose, "verbose", "v", false, "show the log, with the agent's log frames, on stderr")
	_ = cmd.MarkFlagFilename("config", "json")
	_ = cmd.RegisterFlagCompletionFunc("protocol", cobra.FixedCompletions(protocolNames(), cobra.ShellCompDirectiveNoFileComp))
}

// load reads the config that the flags name and lays the flags over it.
func (f *agentFlags) load(cmd *cobra.Command) (*config.Config, error) {
	cfg, err := loadConfig(configPath(f.config))
	if err != nil {
		return nil, err
	}
	if err := trust.CheckAgent(cfg); err != nil {
		return nil, err
	}
	t := &cfg.Terminal
	if cmd.Flags().Changed("command") {
		t.Command, t.Enabled = f.command, nil
		if strings.TrimSpace(f.command) == "" {
			return nil, exit.Usagef("--command: must not be empty")
		}
		if err := config.CheckCommand(t.Shell, f.command); err != nil {
			return nil, exit.Usagef("--command: %w", err)
		}
	}
	if cmd.Flags().Changed("protocol") {
		if _, ok := findProtocol(f.protocol); !ok {
			return nil, exit.Usagef("--protocol: must be one of %s (got %q)", strings.Join(protocolNames(), ", "), f.protocol)
		}
		t.Protocol = f.protocol
	}
	if cmd.Flags().Changed("timeout") {
		if f.timeout < 1 || f.timeout > config.MaxTimeout {
			return nil, exit.Usagef("--timeout: must be from 1 to %d (got %d)", config.MaxTimeout, f.timeout)
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
