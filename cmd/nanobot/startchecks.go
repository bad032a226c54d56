package main

import (
	"errors"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/cmd/nanobot/exit"
	"nanobot/config"
	"nanobot/gateway"
	"nanobot/internal/dbfile"
	"nanobot/terminal/process"
)

// starting is what the parts of a daemon are made with.
type starting struct {
	supervisor *process.Supervisor
	knows      func(channel, user string) bool // tells whether a user may talk to the bot, once the gateway runs
	state      *dbfile.Watch
	log        *zap.Logger
}

// prepare makes of a config what serve runs, before anything is touched: it reads the secrets, finds out whether the agent can be
// confined, and makes the channels. Its error names everything that is wrong and ends the program with status 78.
func prepare(cfg *config.Config, s starting) (gateway.Settings, map[string]channels.Channel, error) {
	settings, err := newSettings(cfg, s.supervisor, s.log)
	open, wrong := openChannels(cfg, s.knows, s.state, s.log)
	err = errors.Join(err, wrong)
	if cfg.HTTP.Listen != "" {
		_, wrong := cfg.HTTP.RevealToken()
		err = errors.Join(err, wrong)
	}
	if err != nil {
		return gateway.Settings{}, nil, exit.Error{Status: exit.Config, Err: errors.Join(err, closeChannels(open))}
	}
	return settings, open, nil
}

// checkStart refuses what serve refuses at its start. Credentials are looked for only where systemd hands them out.
func checkStart(cfg *config.Config) error {
	supervisor := process.NewSupervisor(process.SupervisorOptions{})
	defer supervisor.Close()
	_, open, err := prepare(cfg.WithoutCredentials(), starting{supervisor, noUser, dbfile.NewWatch(), zap.NewNop()})
	if err != nil {
		return err
	}
	return closeChannels(open)
}

// noUser knows nobody: it is for channels that are only made to be looked at.
func noUser(_, _ string) bool { return false }
