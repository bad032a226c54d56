//go:build agents

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
	"nanobot/terminal/acp/agentstest"
)

// runBotFromNPM runs a bot of testdata that uses a library.
func runBotFromNPM(t *testing.T, s *simulator, script, library string) {
	t.Helper()
	folder := agentstest.Library(t, library)
	cmd := exec.CommandContext(t.Context(), "node", filepath.Join("testdata", script), folder, s.API, s.Token)
	cmd.Stderr = os.Stderr
	musttest.Do(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Wait() })
}

func TestABotWithGrammyFromNPMRunsAgainstTheSimulator(t *testing.T) {
	s := start(t, "telegram")
	runBotFromNPM(t, s, "grammy.mjs", "grammy@1.46.0")
	s.tryTelegramBot()
}

func TestABotWithDiscordJSFromNPMRunsAgainstTheSimulator(t *testing.T) {
	s := start(t, "discord")
	runBotFromNPM(t, s, "discordjs.mjs", "discord.js@14.28.1")
	s.next(0, "PUT /applications/{application_id}/commands")
	s.tryDiscordBot()
	edit := s.next(0, "PATCH /channels/{channel_id}/messages/{message_id}")
	wanttest.Equal(t, "the edit says", edit.Text, "asked thrice")
	wanttest.EqualSlices(t, "violations are", s.violations(), nil)
}
