package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"nanobot/cmd/nanobot/exit"
	"nanobot/cmd/nanobot/recording"
	"nanobot/cmd/nanobot/state"
	"nanobot/config"
	"nanobot/terminal"
	"nanobot/terminal/cassette"
)

// recordPath returns the path of the cassette of a turn.
type recordPath func(terminal.Request) (string, error)

// recordTurns returns the function that records the daemon's turns of an agent.
func recordTurns(r *recording.Recorder) func(*config.Config) terminal.RecordFunc {
	return func(cfg *config.Config) terminal.RecordFunc {
		if cfg.Gateway.Record == "" {
			return nil
		}
		_ = os.MkdirAll(cfg.Gateway.Record, 0o700) // before an agent runs; the first turn reports a failure
		return r.For(recordedAgent(cfg, recording.Folder(cfg.Gateway.Record).Path))
	}
}

// recordTo creates the cassette of one turn.
func recordTo(file string) (recordPath, error) {
	if file == "" {
		return nil, nil
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil, exit.Usagef("--record: %s exists already; choose another name, or remove it", file)
	}
	if err != nil {
		return nil, exit.Usagef("--record: %v", err)
	}
	return func(terminal.Request) (string, error) { return file, nil }, f.Close()
}

// dropEmpty removes the file of recordTo if no turn began.
func dropEmpty(file string, record recordPath) {
	if info, err := os.Lstat(file); record != nil && err == nil && info.Mode().IsRegular() && info.Size() == 0 {
		_ = os.Remove(file)
	}
}

// recordInto returns the function that creates a cassette in a folder for each turn, which is named
// after the time.
func recordInto(dir string) (recordPath, error) {
	if dir == "" {
		return nil, nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, exit.Usagef("--record: %v", err)
	}
	return func(terminal.Request) (string, error) {
		f, err := os.CreateTemp(dir, time.Now().Format("20060102-150405.000-*")+cassette.Suffix)
		if err != nil {
			return "", err
		}
		return f.Name(), f.Close()
	}, nil
}

// recordFolder returns the folder of recorded turns. Without gateway.record it is the one of
// nanobot dev, which may not exist.
func recordFolder(cfg *config.Config) string { return string(recordFolders(cfg).Used) }

// recordFolders returns the folder of recorded turns, and that of nanobot dev: what was recorded
// there earlier is pruned and forgotten, too.
func recordFolders(cfg *config.Config) recording.Folders {
	dev := filepath.Join(cfg.Gateway.StateDir, state.Record)
	return recording.Folders{Used: recording.Folder(cmp.Or(cfg.Gateway.Record, dev)), Earlier: recording.Folder(dev)}
}

// recordedAgent returns what turns of the agent in terminal are recorded with.
func recordedAgent(cfg *config.Config, path recordPath) recording.Agent {
	a := recording.Agent{Path: path, Header: cassette.Header{
		Agent: cfg.AgentName(), Protocol: cfg.Terminal.Protocol, Nanobot: version, Config: cassetteConfig(cfg.Terminal),
	}}
	a.Environ, a.Secrets, a.URLs = cassetteSecrets(cfg)
	return a
}

// agentSettings returns the settings of all agents.
func agentSettings(cfg *config.Config) []*config.Terminal {
	return slices.AppendSeq([]*config.Terminal{&cfg.Terminal}, maps.Values(cfg.Agents))
}

// checkRecordFolder returns an error if the folder of cassettes is, or has, a folder that agents
// can use or that nanobot uses otherwise. In the state folder it is out of reach, unless agents
// work there.
func checkRecordFolder(cfg *config.Config) error {
	folder := cfg.Gateway.Record
	if folder == "" {
		return nil
	}
	refuse := func(text string) error {
		return cfg.Locate(config.Problem{Path: []string{"gateway", "record"}, Text: text})
	}
	users := filepath.Join(cfg.Workspace, "users")
	if containsAny(users, folder) || containsAny(folder, users) {
		return refuse(fmt.Sprintf("must not be in or around %s, which people and agents use", users))
	}
	reach := map[string]bool{cfg.Workspace: true}
	for _, agent := range agentSettings(cfg) {
		if agent.Cwd != "" {
			reach[agent.Cwd] = true
		}
	}
	dir := cfg.Gateway.StateDir
	private := containsAny(dir, folder) && !containsAny(dir, append(slices.Collect(maps.Keys(reach)), users)...)
	for _, used := range slices.Sorted(maps.Keys(reach)) {
		if containsAny(folder, used) || containsAny(used, folder) && !private {
			return refuse(fmt.Sprintf("must be out of reach of agents, which work in %s; use a folder in gateway.stateDir",
				used))
		}
	}
	for _, part := range state.Parts(stateFolders()) {
		at := filepath.Join(dir, part.Name)
		if containsAny(folder, at) || containsAny(at, folder) {
			return refuse(fmt.Sprintf("must be a folder of its own, apart from %s; record is a good name", at))
		}
	}
	if err := recording.Folder(folder).Check(); err != nil {
		return refuse(fmt.Sprintf("%s %v", folder, err))
	}
	return nil
}
