package main

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"nanobot/cmd/nanobot/checkagent"
	"nanobot/cmd/nanobot/exit"
	"nanobot/config"
	"nanobot/terminal"
	"nanobot/terminal/process"
)

func newCheckAgent(std stdio) *cobra.Command {
	var flags agentFlags
	o := checkagent.Options{Out: std.out, Err: std.err}
	cmd := &cobra.Command{
		Use:   "check-agent [flags] [-- COMMAND...]",
		Short: "Check whether an agent follows the rules, and say how to mend it",
		Long: `Check-agent runs an agent some twenty times in a temporary workspace, without a network: with emoji, huge texts,
missing files, SIGTERM, two at once and more. Each finding is ok, advice or failed, with the section of
docs/protocol.md and the fix; what could not be tried is left out. It first says how many turns it will run.
With a COMMAND it checks that program, with the protocol rich unless --protocol names another, and without a config.
Agents that usually have a paid model behind them need --yes.
With --json it prints {"cases":[{"id":…,"verdict":"ok|advice|failed","rule":…,"detail":…,"fix":…}],"failed":N}.

Exit status: 0 nothing failed, 1 something failed, 2 wrong usage, 78 bad config, 130 interrupted.`,
		Example: `  nanobot check-agent                        # the agent of config.json
  nanobot check-agent --agent coder --yes
  nanobot check-agent -- python3 agent.py
  nanobot check-agent --json --junit report.xml`,
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := flags.loadForCheck(cmd, args)
			if err != nil {
				return err
			}
			ctx, stop := untilSignal(cmd.Context(), syscall.SIGHUP)
			defer stop()
			supervisor := process.NewSupervisor(process.SupervisorOptions{})
			defer supervisor.Close()
			o.Config, o.Operator = cfg, localUser()
			o.NewRunner = func(cfg *config.Config, wrap func(terminal.Protocol) terminal.Protocol) (*terminal.Runner, error) {
				return newCheckedRunner(cfg, supervisor, wrap)
			}
			o.Protocol, _ = findProtocol(cfg.Terminal.Protocol)
			o.Limit = time.Duration(flags.timeout) * time.Second
			return checkagent.Run(ctx, o)
		},
	}
	f := cmd.Flags()
	addConfigFlag(cmd, &flags.config)
	f.StringVar(&flags.agent, "agent", config.DefaultAgent, "name of a configured agent")
	_ = cmd.RegisterFlagCompletionFunc("agent", completeAgents(&flags.config))
	flags.addProtocol(cmd)
	f.IntVar(&flags.timeout, "timeout", 0, fmt.Sprintf("time limit of a turn in seconds (default: %.0f; with --yes %.0f)",
		checkagent.DefaultLimit.Seconds(), checkagent.ModelLimit.Seconds()))
	f.BoolVar(&o.Yes, "yes", false, "run the turns of an agent that may cost money, or that executes what is typed")
	f.BoolVar(&o.JSON, "json", false, "print JSON")
	f.StringVar(&o.JUnit, "junit", "", "write a report in the format of JUnit to this file")
	_ = cmd.MarkFlagFilename("junit", "xml")
	return cmd
}

// loadForCheck returns the config of the agent to check: a configured one, or a command.
func (f *agentFlags) loadForCheck(cmd *cobra.Command, command []string) (*config.Config, error) {
	if len(command) > 0 {
		if f.config != "" || cmd.Flags().Changed("agent") {
			return nil, exit.Usagef("check-agent: name an agent of a config, or a COMMAND, not both")
		}
		if err := f.check(cmd); err != nil {
			return nil, err
		}
		return loadForWeb(cmd, *f, command)
	}
	cfg, err := f.load(cmd)
	if err != nil {
		return nil, err
	}
	if cfg.Terminal.Command == "" && cfg.Terminal.Enabled == nil {
		return nil, exit.Usagef("no agent to check: add a command after --, as in nanobot check-agent -- python3 agent.py")
	}
	return cfg, nil
}

// newCheckedRunner makes a runner for check-agent. The agent does not get the variable that hides a
// missing flush.
func newCheckedRunner(cfg *config.Config, supervisor *process.Supervisor,
	wrap func(terminal.Protocol) terminal.Protocol,
) (*terminal.Runner, error) {
	protocol, err := newProtocol(cfg)
	if err != nil {
		return nil, err
	}
	h := agentHost{supervisor: supervisor}
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "PYTHONUNBUFFERED=") {
			h.environ = append(h.environ, v)
		}
	}
	return newRunnerWith(cfg, wrap(protocol), h, zap.NewNop())
}
