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

// openAudit opens the audit log, or returns nil if the config turns it off. shared says that the
// daemon may be writing to the same file.
func openAudit(cfg *config.Config, shared bool, log *zap.Logger) (*audit.Log, error) {
	a := cfg.Audit
	if !a.On() {
		return nil, nil //nolint:nilnil // a nil log accepts records and writes nothing
	}
	return audit.Open(audit.Options{
		Path: a.File, MaxSize: int64(a.MaxSize) << 20, Keep: a.Keep, Text: a.Text, Beside: shared,
		Failed: func(err error) { log.Error("audit log not written, turns continue without it", zap.Error(err)) },
	})
}

// auditFiles returns the files of the audit log, which agents must not send.
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

// launchRecord returns how a runner starts agents, for the audit log.
func launchRecord(r *terminal.Runner) audit.Launch {
	return audit.NewLaunch(r.LaunchRecord())
}

// callerUID is the user who has started this program. If root has, the process may switch to
// another user later.
var callerUID = os.Getuid()

// auditPairing records in the audit log that the operator has granted or revoked access. It only
// logs its errors, because access has changed already.
func auditPairing(cfg *config.Config, decision string, g store.Pairing, std stdio) {
	l, err := openAudit(cfg, true, newLog(std.err, false))
	if err != nil {
		newLog(std.err, false).Error("audit log not written", zap.Error(err))
		return
	}
	defer l.Close()
	l.Write(audit.Record{
		Event: audit.Pairing, Decision: decision, By: fmt.Sprintf("uid %d", callerUID), Channel: g.Channel,
		User: audit.User{ID: g.User.ID, Name: g.User.Name, Username: g.User.Username},
	})
}
