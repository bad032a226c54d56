// Package systemd_test tries the units: what systemd thinks of them, and where one can be started,
// with a real systemd and real agents.
package systemd_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var units = []string{"nanobot.service", "nanobot@.service"}

// most is the exposure that is allowed, in tenths as --threshold counts. 100 is wide open.
const most = "15"

func analyze(t *testing.T, args ...string) (string, error) {
	t.Helper()
	path, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is missing on this machine, so nobody can say what systemd thinks of the units")
	}
	out, err := exec.Command(path, append([]string{"--no-pager"}, args...)...).CombinedOutput()
	return string(out), err
}

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestTheUnitsExposeLittle(t *testing.T) {
	for _, unit := range units {
		out, err := analyze(t, "security", "--offline=true", "--threshold="+most, "./"+unit)
		if err != nil && !strings.Contains(out, "Overall exposure level") {
			t.Skipf("this systemd-analyze cannot rate files: %v\n%s", err, out)
		}
		if err != nil {
			t.Errorf("%s: more than %s tenths: %v\n%s", unit, most, err, out)
		}
		t.Log(out[strings.LastIndex(out, "Overall"):])
	}
}

// verify has systemd check a unit with a drop-in.
func verify(t *testing.T, unit, dropIn string) (string, error) {
	t.Helper()
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(read(t, unit), "/usr/bin/nanobot", self)
	for name, content := range map[string]string{unit: text, unit + ".d/relax.conf": dropIn} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return analyze(t, "verify", "--man=no", filepath.Join(dir, unit))
}

// inRelax is a commented setting of relax.conf.
var inRelax = regexp.MustCompile(`(?m)^#([A-Z][A-Za-z]+=)`)

func TestSystemdUnderstandsTheUnitsAndWhatRelaxesThem(t *testing.T) {
	relaxed := inRelax.ReplaceAllString(read(t, "relax.conf"), "$1")
	if strings.Count(relaxed, "\n") < 20 || relaxed == read(t, "relax.conf") {
		t.Fatal("nothing was relaxed")
	}
	for _, unit := range units {
		for name, dropIn := range map[string]string{"as it is": read(t, "relax.conf"), "with everything in it": relaxed} {
			if out, err := verify(t, unit, dropIn); err != nil || out != "" {
				t.Errorf("%s, %s: %v\n%s", unit, name, err, out)
			}
		}
		if out, _ := verify(t, unit, "[Service]\nMistake=yes\n"); !strings.Contains(out, "Mistake") {
			t.Errorf("a mistake is not found: %q", out)
		}
	}
}

func TestOneBotAndManyDifferOnlyInTheirPlaces(t *testing.T) {
	settings := func(text string) string {
		text = strings.NewReplacer("/%i", "", " %i", "", "-%i", "", "/NAME", "").Replace(text)
		return text[strings.Index(text, "[Unit]"):]
	}
	if one, many := settings(read(t, "nanobot.service")), settings(read(t, "nanobot@.service")); one != many {
		t.Errorf("they differ:\n%s\n---\n%s", one, many)
	}
}

func TestASocketHasAFolderThatOthersMayPassThrough(t *testing.T) {
	for unit, folder := range map[string]string{"nanobot.service": "nanobot", "nanobot@.service": "nanobot/%i"} {
		text := read(t, unit)
		for _, want := range []string{"\nRuntimeDirectory=" + folder + "\n", "\nRuntimeDirectoryMode=0711\n"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: %q is missing", unit, want)
			}
		}
	}
}
