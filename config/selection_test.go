package config_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"nanobot/config"
	"nanobot/internal/musttest"
)

func TestASelectionDecidesByChat(t *testing.T) {
	for _, test := range []struct {
		text      string
		one, many bool
	}{
		{`{}`, true, true},
		{`{"terminal":{"revealErrors":true}}`, true, true},
		{`{"terminal":{"revealErrors":false}}`, false, false},
		{`{"terminal":{"revealErrors":[]}}`, false, false},
		{`{"terminal":{"revealErrors":["1"]}}`, true, false},
		{`{"terminal":{"revealErrors":["telegram:1"]}}`, true, false},
	} {
		r := loadConfig(t, test.text).Terminal.RevealErrors
		if one, many := r.Includes("1", "telegram:1"), r.Includes("2", "telegram:2"); one != test.one || many != test.many {
			t.Errorf("%s: %v %v", test.text, one, many)
		}
	}
}

func TestASelectionEncodesAsItDecodes(t *testing.T) {
	for _, text := range []string{"true", "false", `["1","telegram:2"]`} {
		var r config.Selection
		musttest.Do(t, json.Unmarshal([]byte(text), &r))
		if out, err := json.Marshal(r); err != nil || string(out) != text {
			t.Errorf("%s became %s, %v", text, out, err)
		}
	}
	for _, text := range []string{`"true"`, "1", "[1]", "{}"} {
		r := config.Selection{All: true}
		if err := json.Unmarshal([]byte(text), &r); err == nil || r.All {
			t.Errorf("%s was read as %+v", text, r)
		}
	}
}

func TestAPlaceThatIsALinkOutOfTheWorkspaceIsAMistake(t *testing.T) {
	folder := t.TempDir()
	musttest.Do(t, os.Mkdir(filepath.Join(folder, "inside"), 0o700))
	for name, target := range map[string]string{"out": "/", "up": ".", "within": "inside"} {
		musttest.Do(t, os.Symlink(target, filepath.Join(folder, name)))
	}
	path := filepath.Join(folder, "config.json")
	musttest.Do(t, os.WriteFile(path, []byte(`{"terminal":{"command":"x"},"routes":[
		{"agent":"default","workspace":"out/srv"},{"agent":"default","worktree":"up"},
		{"agent":"default","workspace":"within"},{"agent":"default","workspace":"absent/yet"}]}`), 0o600))
	_, err := config.Load(path, nil, extensions())
	var mistakes config.Mistakes
	if !errors.As(err, &mistakes) || len(mistakes) != 2 || mistakes[0].Key != "routes[0].workspace" ||
		mistakes[1].Key != "routes[1].worktree" {
		t.Error(err)
	}
}
