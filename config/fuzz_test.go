package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"nanobot/config"
	"nanobot/internal/fuzztest"
	"nanobot/internal/musttest"
)

func FuzzLoad(f *testing.F) {
	var seeds []string
	for _, pattern := range []string{"testdata/good/*.json", "testdata/mistakes/*.json"} {
		files, _ := filepath.Glob(pattern)
		for _, file := range files {
			text := musttest.Get(os.ReadFile(file))(f)
			f.Add(text, "TERMINAL__TIMEOUT", "5")
			seeds = append(seeds, string(text))
		}
	}
	for _, text := range fuzztest.Mutate(seeds, 150) {
		f.Add([]byte(text), "TERMINAL__TIMEOUT", "5")
	}
	for name, value := range map[string]string{
		"TERMINAL": `{"timeout":1}`, "TERMINAL__ENV__": "", "TERMINAL__PROVIDERS____": "{", "CHANNELS__TELEGRAM__ALLOWFROM": "[1,[",
		"TERMINAL__REVEALERRORS": "a,b", "X": "", "": "", "__": "", "LOG__LEVEL__": "\xff", "TERMINAL__TI\n1MEOUT": "5",
		"TERMINAL__PROVIDERS__a__APIKEYS": "x", "TERMINAL__PROVIDERS__a": `{"apiKeys":1e400}`,
	} {
		f.Add([]byte(`{}`), name, value)
	}
	path := filepath.Join(f.TempDir(), "config.json")
	schema := compilePublishedSchema(f)
	f.Fuzz(func(t *testing.T, text []byte, name, value string) {
		musttest.Do(t, os.WriteFile(path, text, 0o600))
		var environ []string
		if !strings.ContainsAny(name, "=\x00") && !strings.Contains(value, "\x00") {
			environ = []string{"NANOBOT_" + name + "=" + value}
		}
		c, err := config.Load(path, environ, extensions())
		if err == nil {
			if !filepath.IsAbs(c.Workspace) || !filepath.IsAbs(c.Gateway.StateDir) || c.Terminal.Timeout < 1 {
				t.Errorf("%+v", c)
			}
			c.Warnings()
			if _, err := config.Load(path, nil, extensions()); err == nil {
				if err := schema.Validate(readStandardJSON(t, path)); err != nil {
					t.Errorf("it is loaded, and the schema forbids it: %v", err)
				}
			}
			return
		}
		var mistakes config.Mistakes
		if !errors.As(err, &mistakes) || len(mistakes) == 0 || c != nil {
			t.Fatalf("%T: %v", err, err)
		}
		lines := strings.Split(strings.TrimPrefix(string(text), "\ufeff"), "\n")
		for _, m := range mistakes {
			checkMistakePosition(t, m, lines)
		}
	})
}

// checkMistakePosition checks that a mistake is one line and points into the file or at a variable.
func checkMistakePosition(t *testing.T, m config.Mistake, lines []string) {
	t.Helper()
	switch {
	case m.Text == "" || strings.ContainsAny(m.String(), "\n\x00"):
		t.Errorf("unreadable: %#v", m)
	case strings.Contains(m.Text, "decoded") || strings.Contains(m.Text, "schema"):
		t.Errorf("the schema and the types differ: %v", m)
	case m.Variable != "" && m.Line != 0, m.Variable == "" && m.File == "":
		t.Errorf("nowhere or in two places: %#v", m)
	case m.Line == 0:
	case m.Line > len(lines):
		t.Errorf("line %d of %d: %v", m.Line, len(lines), m)
	case m.Column < 1 || m.Column > utf8.RuneCountInString(lines[m.Line-1])+1:
		t.Errorf("column %d of %q: %v", m.Column, lines[m.Line-1], m)
	}
}
