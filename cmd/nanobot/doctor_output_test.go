package main

import (
	"path/filepath"
	"strings"
	"testing"

	"nanobot/channels"
	"nanobot/cmd/nanobot/exit"
)

// expectText fails unless the doctor's output contains all of these texts.
func expectText(t *testing.T, out string, all ...string) {
	t.Helper()
	for _, words := range all {
		if !strings.Contains(out, words) {
			t.Errorf("no %q in\n%s", words, out)
		}
	}
}

func TestDoctorHidesValuesOnlyInTheAgentsOutput(t *testing.T) {
	path := writeBot(t, `{"terminal": {"command": "echo it is $MODE >&2; exit 3", "env": {"MODE": "config"}}}`, nil)
	all, _, text := runDoctor(t, path, true)
	all.expectFinding(t, "agent", channels.Bad, "it is ***")
	expectText(t, text, "nanobot run -v --config "+path+" hello")
}

func TestDoctorSaysWhatToDoAboutAFileThatIsNoConfig(t *testing.T) {
	dir := t.TempDir()
	for _, path := range []string{filepath.Join(dir, "gone.json"), dir} {
		all, status, text := runDoctor(t, path, true)
		if status != exit.Config || len(all) != 1 {
			t.Errorf("%s: %d, %+v", path, status, all)
		}
		expectText(t, text, "→ name the bot's config with --config")
		if strings.Contains(text, "schema") {
			t.Error(text)
		}
	}
}
