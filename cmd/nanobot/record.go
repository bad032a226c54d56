package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"nanobot/cmd/nanobot/recording"
	"nanobot/cmd/nanobot/state"
	"nanobot/config"
	"nanobot/terminal"
	"nanobot/terminal/cassette"
)

// recordTurns returns the function that records the turns of an agent; nil: they are not recorded.
func recordTurns(cfg *config.Config, r *recording.Recorder) terminal.RecordFunc {
	if r == nil || cfg.Gateway.Record == "" {
		return nil
	}
	return r.For(recordedAgent(cfg))
}

// recordedAgent returns what turns of the agent in terminal are recorded with.
func recordedAgent(cfg *config.Config) recording.Agent {
	t := cfg.Terminal
	a := recording.Agent{
		Folder: recording.Folder(cfg.Gateway.Record), Environ: os.Environ(), URLs: []string{cfg.Gateway.Store},
		Header: cassette.Header{
			Agent: cfg.AgentName(), Protocol: t.Protocol, Nanobot: version,
			Config: cassette.Config{
				Interactive: t.Interactive, PassMedia: t.PassMedia, Format: string(t.Format), Stderr: t.Stderr,
			},
		},
	}
	for _, s := range cfg.AllSecrets() {
		if value, err := s.Reveal(); err == nil && value != "" { // a secret that cannot be read is in no text
			a.Secrets = append(a.Secrets, value)
		}
	}
	for _, agent := range agentSettings(cfg) {
		for variable, value := range agent.Env {
			a.Environ = append(a.Environ, variable+"="+value)
		}
		for _, p := range agent.Providers {
			a.URLs = append(a.URLs, p.BaseURL)
		}
		for _, s := range agent.MCPServers {
			a.URLs = append(a.URLs, s.URL)
		}
	}
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
			return refuse(fmt.Sprintf("must be out of reach of agents, which work in %s; use a folder in gateway.stateDir", used))
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
