package main

import (
	"fmt"
	"os"

	"go.uber.org/zap"

	"nanobot/config"
	"nanobot/gateway/audit"
	"nanobot/gateway/store"
	"nanobot/terminal"
)

// openAudit opens the record of who started what; nil: none is kept.
func openAudit(cfg *config.Config, beside bool, log *zap.Logger) (*audit.Log, error) {
	a := cfg.Audit
	if !a.On() {
		return nil, nil //nolint:nilnil // which takes everything and writes nothing
	}
	return audit.Open(audit.Options{
		Path: a.File, MaxSize: int64(a.MaxSize) << 20, Keep: a.Keep, Text: a.Text, Beside: beside,
		Failed: func(err error) { log.Error("audit log not written, turns go on without it", zap.Error(err)) },
	})
}

// auditFiles are the files of the record, which agents must not send.
func auditFiles(cfg *config.Config) []string {
	if !cfg.Audit.On() {
		return nil
	}
	files := []string{cfg.Audit.File}
	for n := range cfg.Audit.Keep {
		files = append(files, fmt.Sprintf("%s.%d", cfg.Audit.File, n+1))
	}
	return files
}

// lineup is how agents are started, for the record.
func lineup(r *terminal.Runner) audit.Launch {
	argv, dir, env := r.LaunchRecord()
	return audit.Launch{Argv: argv, Cwd: dir, Env: env}
}

// startedBy is who has started this program, whoever it becomes.
var startedBy = os.Getuid()

// auditPairing writes down that the operator let somebody in, or shut them out. That it was done
// matters more than the record of it.
func auditPairing(cfg *config.Config, decision string, g store.Pairing, std stdio) {
	l, err := openAudit(cfg, true, newLog(std.err, false))
	if err != nil {
		newLog(std.err, false).Error("audit log not written", zap.Error(err))
		return
	}
	defer l.Close()
	l.Write(audit.Record{
		Event: audit.Pairing, Decision: decision, By: fmt.Sprintf("uid %d", startedBy), Channel: g.Channel,
		User: audit.User{ID: g.User.ID, Name: g.User.Name, Username: g.User.Username},
	})
}
