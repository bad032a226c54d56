package main

import (
	"cmp"
	"context"
	"maps"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"nanobot/cmd/nanobot/doctor"
	"nanobot/config"
	"nanobot/gateway"
	"nanobot/internal/dbfile"
	"nanobot/terminal"
	"nanobot/terminal/process"
)

func newDoctor(std stdio) *cobra.Command {
	var path string
	var noTurn bool
	o := doctor.Options{Out: std.out, Listen: 5 * time.Second}
	cmd := &cobra.Command{
		Use:   "doctor [flags]",
		Short: "Check whether the bot works, and say how to fix it",
		Long: `Doctor repeats the checks of the daemon's start, asks the chat networks about the bot, and sends the agent a
harmless message in a separate chat. You can run it while the daemon runs. As root it checks with the permissions
of the state's owner, provided that only root can change the config. Each line is ok, warn or fail, with the fix.
With --json it prints [{"check":…,"status":"ok|warn|fail","detail":…,"fix":…}].

Exit status: 0 no check failed, 1 a check failed, 78 bad config or a damaged state.`,
		Example: `  nanobot doctor
  nanobot doctor --config /etc/nanobot/mybot/config.json --no-turn`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			o.Path, o.Turn = cmp.Or(configPath(path), "config.json"), !noTurn
			_, err := doctor.Run(ctx, addWiring(o))
			return err
		},
	}
	addConfigFlag(cmd, &path)
	cmd.Flags().BoolVar(&o.JSON, "json", false, "print JSON")
	cmd.Flags().BoolVar(&noTurn, "no-turn", false, "do not run the agent")
	cmd.Flags().StringVar(&o.OnlyAgent, "only-agent", "", "only run this agent")
	cmd.Flags().DurationVar(&o.CheckTime, "check-time", doctor.DefaultCheckTime, "time limit for checking the databases")
	_ = cmd.Flags().MarkHidden("only-agent")
	return cmd
}

// missingFeatures returns the configured features of isolation that this machine lacks, of all
// agents.
func missingFeatures(s gateway.Settings) []string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(s.Agents)) {
		for _, missing := range s.Agents[name].Runner.MissingFeatures() {
			if name != config.DefaultAgent {
				missing = "agent " + name + ": " + missing
			}
			all = append(all, missing)
		}
	}
	return all
}

// addWiring adds the functions of this package that the doctor needs.
func addWiring(o doctor.Options) doctor.Options {
	o.Load, o.Protocol = loadConfig, findProtocol
	o.Prepare = func(cfg *config.Config) (doctor.Prepared, error) {
		supervisor := process.NewSupervisor(process.SupervisorOptions{})
		defer supervisor.Close()
		settings, open, err := prepare(cfg, prepareOptions{
			agentHost{supervisor: supervisor},
			admitsNobody, nil, dbfile.NewWatch(),
			zap.NewNop(),
		})
		if err != nil {
			return doctor.Prepared{}, err
		}
		return doctor.Prepared{
			Channels: open, MissingFeatures: missingFeatures(settings), Schedules: nextOccurrences(cfg),
			Hooks: settings.Hooks,
		}, nil
	}
	o.ServeTools = serveTrialTools
	o.NewRunner = func(cfg *config.Config, supervisor *process.Supervisor, socket string,
		wrap func(terminal.Protocol) terminal.Protocol,
	) (*terminal.Runner, error) {
		protocol, err := newProtocol(cfg)
		if err != nil {
			return nil, err
		}
		return newRunnerWith(cfg, wrap(protocol), agentHost{supervisor: supervisor, socket: socket}, zap.NewNop())
	}
	o.OpenStore = func(ctx context.Context, cfg *config.Config) (doctor.Store, error) { return openStore(ctx, cfg, true) }
	o.Database = databaseOptions
	o.PrivateFiles = privatePaths
	o.Operator = localUser()
	return o
}
