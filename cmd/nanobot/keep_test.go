package main

import (
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/zap"

	"nanobot/cmd/nanobot/recording"
	"nanobot/config"
	"nanobot/gateway"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// A reload takes over all settings of the gateway.
func TestTheGatewayKeepsWhatTheConfigSays(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.json")
	musttest.Do(t, os.WriteFile(path, []byte(`{"terminal": {"command": "true"}, "gateway": {"keep": {"messages": 7, "runs": 90}, "record": "tapes"}}`), 0o600))
	cfg := musttest.Get(config.Load(path, nil, extensions()))(t)
	settings := musttest.Get(newSettings(cfg, agentHost{}, zap.NewNop()))(t)
	want := config.Default().Gateway.Keep
	want.Messages, want.Runs = 7, 90
	wanttest.Equal(t, "kept is", settings.Keep, want)
	wanttest.Equal(t, "recorded is in", settings.Recordings, gateway.Recordings(recording.Folders{
		Used:    recording.Folder(filepath.Join(filepath.Dir(path), ".nanobot", "tapes")),
		Earlier: recording.Folder(filepath.Join(filepath.Dir(path), ".nanobot", "record")),
	}))
}
