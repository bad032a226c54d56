// Package systemd_test tests the units with systemd-analyze and, where one can be started, with a
// real systemd and real agents.
package systemd_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"nanobot/internal/musttest"
)

var units = []string{"nanobot.service", "nanobot@.service"}

const notifyUnit = "nanobot-notify@.service"

// maxExposure is the largest allowed exposure, in tenths as for --threshold. 100 means no
// protection.
const maxExposure = "15"

func analyze(t *testing.T, args ...string) (string, error) {
	t.Helper()
	path, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is missing on this machine, so nobody can say what systemd thinks of the units")
	}
	out, err := exec.Command(path, append([]string{"--no-pager"}, args...)...).CombinedOutput()
	return string(out), err
}

func readUnit(t *testing.T, name string) string {
	t.Helper()
	b := musttest.Get(os.ReadFile(name))(t)
	return string(b)
}

func TestTheUnitsExposeLittle(t *testing.T) {
	for _, unit := range units {
		out, err := analyze(t, "security", "--offline=true", "--threshold="+maxExposure, "./"+unit)
		if err != nil && !strings.Contains(out, "Overall exposure level") {
			t.Skipf("this systemd-analyze cannot rate files: %v\n%s", err, out)
		}
		if err != nil {
			t.Errorf("%s: more than %s tenths: %v\n%s", unit, maxExposure, err, out)
		}
		t.Log(out[strings.LastIndex(out, "Overall"):])
	}
}

// verify checks a unit with a drop-in by systemd-analyze.
func verify(t *testing.T, unit, dropIn string) (string, error) {
	t.Helper()
	dir := t.TempDir()
	self := musttest.Get(os.Executable())(t)
	text := strings.NewReplacer("/usr/bin/nanobot", self, "/usr/lib/nanobot/notify-failure", self).Replace(readUnit(t, unit))
	for name, content := range map[string]string{unit: text, unit + ".d/relax.conf": dropIn} {
		musttest.Do(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		musttest.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644))
	}
	return analyze(t, "verify", "--man=no", filepath.Join(dir, unit))
}

// inRelax matches a commented setting of relax.conf.
var inRelax = regexp.MustCompile(`(?m)^#([A-Z][A-Za-z]+=)`)

func TestSystemdAcceptsTheUnitsAndRelaxConf(t *testing.T) {
	relaxed := inRelax.ReplaceAllString(readUnit(t, "relax.conf"), "$1")
	if strings.Count(relaxed, "\n") < 20 || relaxed == readUnit(t, "relax.conf") {
		t.Fatal("nothing was relaxed")
	}
	if out, err := verify(t, notifyUnit, ""); err != nil || out != "" {
		t.Errorf("%s: %v\n%s", notifyUnit, err, out)
	}
	for _, unit := range units {
		for name, dropIn := range map[string]string{"as it is": readUnit(t, "relax.conf"), "with everything in it": relaxed} {
			if out, err := verify(t, unit, dropIn); err != nil || out != "" {
				t.Errorf("%s, %s: %v\n%s", unit, name, err, out)
			}
		}
		if out, _ := verify(t, unit, "[Service]\nMistake=yes\n"); !strings.Contains(out, "Mistake") {
			t.Errorf("a mistake is not found: %q", out)
		}
	}
}

func TestAUnitOnSeveralMachinesIsAcceptedAndStartsAgainWithoutALease(t *testing.T) {
	_, page, _ := strings.Cut(readUnit(t, "../README.md"), "\n## One bot on several machines\n")
	_, page, _ = strings.Cut(page, "```ini\n")
	dropIn, _, found := strings.Cut(page, "```")
	if !found {
		t.Fatal("the page has no settings")
	}
	for _, unit := range units {
		if out, err := verify(t, unit, dropIn); err != nil || out != "" {
			t.Errorf("%s: %v\n%s", unit, err, out)
		}
		text := readUnit(t, unit)
		if !strings.Contains(text, "\nRestart=on-failure\n") || !strings.Contains(text, "\nRestartPreventExitStatus=78\n") {
			t.Errorf("%s does not start again after status 75", unit)
		}
	}
}

func TestTheTwoUnitsDifferOnlyInTheirPaths(t *testing.T) {
	settings := func(text string) string {
		text = strings.NewReplacer("/%i", "", " %i", "", "-%i", "", "/NAME", "").Replace(text)
		return text[strings.Index(text, "[Unit]"):]
	}
	if one, many := settings(readUnit(t, "nanobot.service")), settings(readUnit(t, "nanobot@.service")); one != many {
		t.Errorf("they differ:\n%s\n---\n%s", one, many)
	}
}

func TestOtherUsersMayEnterTheFolderOfTheSocket(t *testing.T) {
	for unit, folder := range map[string]string{"nanobot.service": "nanobot", "nanobot@.service": "nanobot/%i"} {
		text := readUnit(t, unit)
		for _, want := range []string{"\nRuntimeDirectory=" + folder + "\n", "\nRuntimeDirectoryMode=0711\n"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: %q is missing", unit, want)
			}
		}
	}
}
