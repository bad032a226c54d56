package gateway_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/channels/channelstest"
	"nanobot/channels/telegram"
	"nanobot/config"
	"nanobot/gateway"
	"nanobot/gateway/gatewaytest"
	"nanobot/gateway/intake"
	"nanobot/gateway/store"
	"nanobot/gateway/turn"
	"nanobot/terminal"
	"nanobot/terminal/process"
	"nanobot/terminal/rich"
)

// daemonVariable makes the test binary a daemon: see TestMain. It holds a daemonSpec.
const daemonVariable = "NANOBOT_TEST_DAEMON"

// daemonSpec configures a daemon in its own process.
type daemonSpec struct {
	Dir         string // workspace
	State       string // folder of the store
	Command     string
	Named       map[string]string // commands of other agents, by name
	User        string            // who the command runs as; "": as the daemon
	Supervisor  bool              // agents have one
	Timeout     int               // of a turn, in seconds; 0: the usual one
	Slots       int               // how many turns may run; 0: 4
	OnCrash     string
	Inject      bool
	Stream      bool   // the command speaks as streaming says
	Keep        bool   // the agent is persistent, see persistentProtocol
	SelfKilling bool   // the protocol kills its own process
	Steps       bool   // see stepsProtocol; no message has what is on the board
	Telegram    string // where a Bot API is, and the token for it
	Token       string
	Runbooks    string // the folder of the runbooks
	Number      int    // how many daemons there were before
	Networks    []networkSpec
}

type networkSpec struct {
	Name, URL  string
	Idempotent bool
	Timeout    time.Duration // of a send; 0: the gateway's
	timedOut   func(key string)
}

// runDaemon runs a gateway until SIGTERM. It prints a line when it is ready and logs into its
// workspace.
func runDaemon(spec string) int {
	var s daemonSpec
	if err := json.Unmarshal([]byte(spec), &s); err != nil {
		fmt.Fprintln(os.Stderr, "read spec:", err)
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	if err := s.run(ctx, func() { fmt.Println("ready") }); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// commands returns the commands of all agents, by name.
func (s daemonSpec) commands() map[string]string {
	all := map[string]string{store.DefaultAgent: s.Command}
	maps.Copy(all, s.Named)
	return all
}

func (s daemonSpec) run(ctx context.Context, ready func()) error {
	logs := zap.NewProductionConfig()
	logs.Level = zap.NewAtomicLevelAt(zap.WarnLevel)
	logs.OutputPaths, logs.Sampling = []string{filepath.Join(s.Dir, "log")}, nil
	log, err := logs.Build(zap.Fields(zap.Int("daemon", s.Number)))
	if err != nil {
		return err
	}
	cfg := config.Default().Terminal
	cfg.Command, cfg.Protocol, cfg.User = s.Command, "rich", s.User
	cfg.Timeout = cmp.Or(s.Timeout, cfg.Timeout)
	var supervisor *process.Supervisor
	if s.Supervisor {
		supervisor = process.NewSupervisor(process.SupervisorOptions{})
		defer supervisor.Close()
	}
	var protocol terminal.Protocol = rich.Protocol{}
	switch {
	case s.Stream:
		protocol = streamProtocol{}
	case s.Keep:
		protocol = &persistentProtocol{}
	case s.Steps:
		protocol = stepsProtocol{required: true}
	case s.SelfKilling:
		protocol = &selfKillingProtocol{dir: s.Dir}
	}
	agents := map[string]gateway.Agent{}
	for name, command := range s.commands() {
		cfg.Command = command
		runner, err := terminal.NewRunner(terminal.Options{Config: cfg, Workspace: s.Dir, Protocol: protocol, Environ: os.Environ(), Supervisor: supervisor, Log: log})
		if err != nil {
			return err
		}
		agents[name] = gateway.Agent{Runner: runner, Progress: "edit", Injectable: true}
	}
	st, err := openState(ctx, s.State)
	if err != nil {
		return err
	}
	chans, allow := map[string]channels.Channel{}, map[string][]string{}
	for _, n := range s.Networks {
		chans[n.Name] = &gatewaytest.Channel{Name: n.Name, URL: n.URL, Idempotent: n.Idempotent, Timeout: n.Timeout, TimedOut: n.timedOut, Sender: s.Number}
		allow[n.Name] = []string{"*"}
	}
	if s.Telegram != "" {
		chans[telegram.Name], err = telegram.New(telegram.Options{
			Token: s.Token, APIBase: s.Telegram,
			Folder: channelstest.ChatFolders(s.Dir),
		})
		if err != nil {
			return err
		}
	}
	whileRunning := "queue"
	if s.Inject {
		whileRunning = "inject"
	}
	gw := gateway.New(gateway.Options{
		Channels: chans, Store: st, MaxConcurrent: cmp.Or(s.Slots, 4), Log: log, BoardDelay: time.Hour,
		Settings: gateway.Settings{
			Agents:       agents,
			WhileRunning: intake.WhileRunning(whileRunning), AllowFrom: allow, OnCrash: turn.OnCrash(s.OnCrash), DrainTimeout: 10 * time.Second,
			Runbooks: gateway.Runbooks{Folder: s.Runbooks},
		},
	})
	if err := gw.Run(ctx, ready); err != nil {
		return err
	}
	return st.Close()
}
