package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"nanobot/channels"
	"nanobot/channels/web"
	"nanobot/cmd/nanobot/starter"
	"nanobot/config"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

func TestTheCommentedChannelsOfInitLetNobodyInAndGiveNoWarning(t *testing.T) {
	t.Parallel()
	for _, template := range starter.Names() {
		dir := t.TempDir()
		a, _ := starter.Find(template)
		musttest.Do(t, starter.Write(dir, a))
		path := filepath.Join(dir, "config.json")
		text := string(musttest.Get(os.ReadFile(path))(t))
		at := strings.Index(text, `  // "channels"`)
		if at < 0 {
			t.Fatalf("%s has no channels to uncomment:\n%s", template, text)
		}
		uncommented := text[:at] + regexp.MustCompile(`(?m)^  // `).ReplaceAllString(text[at:], "  ")
		musttest.Do(t, os.WriteFile(path, []byte(uncommented), 0o600))
		cfg := musttest.Get(config.Load(path, nil, extensions()))(t)
		enabled := 0
		for _, n := range enabledChannels(cfg) {
			enabled++
			if list, ok := cfg.Channels[n.Name].(channels.AccessList); ok && len(list.Allowed()) > 0 {
				t.Errorf("%s lets %q in", template, list.Allowed())
			}
		}
		if enabled != 2 || !web.Describe().Enabled(cfg) {
			t.Errorf("%s enables %d channels:\n%s", template, enabled, uncommented)
		}
		wanttest.EqualSlices(t, template+": the warnings are", cfg.Warnings(), nil)
	}
}

func TestThePairingOfTheREADMEGivesNoWarning(t *testing.T) {
	t.Parallel()
	readme := string(musttest.Get(os.ReadFile(filepath.Join("..", "..", "README.md")))(t))
	sections := regexp.MustCompile("(?s)## On Telegram.*?```jsonc\n(.*?)```").FindStringSubmatch(readme)
	if sections == nil {
		t.Fatal("the README has no channel to add")
	}
	dir := t.TempDir()
	a, _ := starter.Find("python")
	musttest.Do(t, starter.Write(dir, a))
	path := filepath.Join(dir, "config.json")
	text := string(musttest.Get(os.ReadFile(path))(t))
	end := strings.LastIndex(text, "}")
	musttest.Do(t, os.WriteFile(path, []byte(text[:end]+strings.TrimSpace(sections[1])+"\n}\n"), 0o600))
	musttest.Do(t, os.WriteFile(filepath.Join(dir, "token.txt"), []byte("123456789:AAE0123456789abcdefghijklmnopqrstuv\n"), 0o600))
	out := musttest.Get(programCommand(t, "check-config", "--config", path).CombinedOutput())(t)
	wanttest.Equal(t, "check-config says", string(out), path+": ok\n")
	out, _ = programCommand(t, "doctor", "--config", path).CombinedOutput() // there is no network
	if strings.Contains(string(out), "warn  config") {
		t.Errorf("doctor says:\n%s", out)
	}
}
