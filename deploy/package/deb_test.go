package packaging_test

import (
	"bytes"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

func TestTheDebRunsInACleanRootAndLeavesNothingBehind(t *testing.T) {
	deb, r := packages(t, "*.deb"), newRoot(t)
	before := r.snapshot()

	r.dpkg("--install", deb)
	if got := r.run("/usr/bin/nanobot", "version"); !strings.HasPrefix(got, "nanobot v1.2.3 ") {
		t.Errorf("version: got %q", got)
	}
	wanttest.Equal(t, "a turn: got", r.run("/usr/bin/nanobot", "run", "--command", "echo got {message}", "it's me"), "got it's me\n")
	r.must(os.RemoveAll(filepath.Join(r.path, "users")))
	r.must(os.RemoveAll(filepath.Join(r.path, ".nanobot")))
	for _, path := range []string{
		"etc/nanobot", "usr/share/doc/nanobot/copyright", "usr/share/doc/nanobot/deploy/README.md", "usr/share/doc/nanobot/deploy/systemd/relax.conf",
		"usr/share/doc/nanobot/docs/operations.md", "usr/share/doc/nanobot/channels/web/openapi.json",
		"usr/share/doc/nanobot/deploy/examples/minimal-python/config.json",
		"usr/share/zsh/vendor-completions/_nanobot", "usr/share/fish/vendor_completions.d/nanobot.fish",
	} {
		if !r.has(path) {
			t.Errorf("/%s is not in the package", path)
		}
	}
	for _, unit := range []string{"nanobot.service", "nanobot@.service"} {
		if !strings.Contains(r.readFile("usr/lib/systemd/system/"+unit), "\nExecStart=/usr/bin/nanobot ") {
			t.Errorf("%s does not start what the package installs", unit)
		}
	}

	r.dpkg("--remove", "nanobot")
	r.expectUnchanged(before, "removal")
	r.dpkg("--purge", "nanobot")
	r.expectUnchanged(before, "purge")
	if database := r.readFile("var/lib/dpkg/status"); strings.Contains(database, "Package: nanobot") {
		t.Errorf("dpkg still knows it:\n%s", database)
	}
	if left, _ := filepath.Glob(filepath.Join(r.path, "var/lib/dpkg/info/nanobot*")); left != nil {
		t.Errorf("left in dpkg's database: %v", left)
	}
}

func (r root) expectUnchanged(before map[string]string, when string) {
	r.Helper()
	after := r.snapshot()
	if maps.Equal(before, after) {
		return
	}
	for path := range after {
		if before[path] != after[path] {
			r.Errorf("left after the %s, or changed: %s", when, path)
		}
	}
	for path := range before {
		if _, ok := after[path]; !ok {
			r.Errorf("taken away by the %s: %s", when, path)
		}
	}
}

// systemctl replaces the program of systemd and records its arguments.
const systemctl = `#!/bin/sh
echo "$*" >>/tmp/systemctl
case $* in *is-active*) [ -e /tmp/running ] ;; esac
`

// systemctlCalls returns the arguments of systemctl since the last call.
func (r root) systemctlCalls() string {
	r.Helper()
	if !r.has("tmp/systemctl") {
		return ""
	}
	said := r.readFile("tmp/systemctl")
	r.must(os.Remove(filepath.Join(r.path, "tmp/systemctl")))
	return said
}

func TestOnlyARemovalStopsBotsAndTheirFilesStay(t *testing.T) {
	deb, r := packages(t, "*.deb"), newRoot(t)
	next := nextVersion(t, deb)
	r.putFile("usr/bin/systemctl", systemctl, 0o755)
	r.must(os.MkdirAll(filepath.Join(r.path, "run/systemd/system"), 0o755))

	const asked = "daemon-reload\n--quiet is-active nanobot.service nanobot@*.service\n"

	said := r.dpkg("--install", deb)
	if got := r.systemctlCalls(); got != asked || strings.Contains(said, "try-restart") {
		t.Errorf("at the installation: systemctl was told %q, want %q; and it said\n%s", got, asked, said)
	}

	const wants = "etc/systemd/system/multi-user.target.wants/"
	r.putFile(wants+"other.service", "", 0o644)
	for link, unit := range map[string]string{"nanobot.service": "nanobot.service", "nanobot@ann.service": "nanobot@.service"} {
		r.must(os.Symlink("/usr/lib/systemd/system/"+unit, filepath.Join(r.path, wants+link)))
	}
	r.putFile("etc/nanobot/ann/config.json", "{}", 0o600)
	r.must(os.Mkdir(filepath.Join(r.path, "etc/nanobot/bob"), 0o755))

	r.putFile("tmp/running", "", 0o644)
	said = r.dpkg("--install", next)
	wanttest.Equal(t, "at the upgrade: systemctl was told", r.systemctlCalls(), asked)
	if !strings.Contains(said, "systemctl try-restart") {
		t.Errorf("the upgrade does not say how running bots get it:\n%s", said)
	}
	if !r.has(wants+"nanobot@ann.service") || !r.has("etc/nanobot/bob") {
		t.Error("the upgrade took away what the operator made")
	}

	r.dpkg("--remove", "nanobot")
	wanttest.Equal(t, "at the removal: systemctl was told", r.systemctlCalls(), "stop nanobot.service nanobot@*.service\ndaemon-reload\n")
	if r.has(wants+"nanobot.service") || r.has(wants+"nanobot@ann.service") || !r.has(wants+"other.service") {
		t.Error("the removal has to take the links of our units, and only them")
	}

	r.dpkg("--purge", "nanobot")
	if !r.has("etc/nanobot/ann/config.json") || r.has("etc/nanobot/bob") {
		t.Error("the purge has to take empty folders from /etc/nanobot, and only them")
	}
}

// nextVersion returns the same package with a higher version.
func nextVersion(t *testing.T, deb string) string {
	t.Helper()
	dir, next := filepath.Join(t.TempDir(), "unpacked"), filepath.Join(t.TempDir(), "next.deb")
	if out, err := exec.Command("dpkg-deb", "--raw-extract", deb, dir).CombinedOutput(); err != nil {
		t.Fatalf("unpack: %v\n%s", err, out)
	}
	control := filepath.Join(dir, "DEBIAN/control")
	content := musttest.Get(os.ReadFile(control))(t)
	musttest.Do(t, os.WriteFile(control, bytes.Replace(content, []byte("\nVersion: 1.2.3\n"), []byte("\nVersion: 1.2.4\n"), 1), 0o644))
	if out, err := exec.Command("dpkg-deb", "-Znone", "--root-owner-group", "--build", dir, next).CombinedOutput(); err != nil {
		t.Fatalf("pack: %v\n%s", err, out)
	}
	return next
}

func TestEveryCommandHasItsManPage(t *testing.T) {
	prefix := unpack(t)
	commands := string(musttest.Get(exec.Command(filepath.Join(prefix, "bin/nanobot"), "__complete", "").Output())(t))
	pages := 0
	for line := range strings.Lines(commands) {
		name, short, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if !ok || name == "help" {
			continue
		}
		pages++
		// In a man page, a backslash escapes a character.
		if page := strings.ReplaceAll(manPage(t, "nanobot-"+name), `\`, ""); !strings.Contains(page, "nanobot-"+name+" - "+short) {
			t.Errorf("nanobot-%s(1) does not say %q:\n%.300s", name, short, page)
		}
	}
	if pages < 10 {
		t.Errorf("found only %d commands in %q", pages, commands)
	}
	if root := strings.ReplaceAll(manPage(t, "nanobot"), `\`, ""); !strings.Contains(root, "nanobot-serve(1)") {
		t.Errorf("nanobot(1) does not lead to its commands:\n%s", root)
	}
}

func manPage(t *testing.T, name string) string {
	t.Helper()
	return string(musttest.Get(io.ReadAll(gunzipped(t, filepath.Join(unpack(t), "share/man/man1", name+".1.gz"))))(t))
}

// completionScript completes the words after "nanobot" as bash would. It does by hand what
// bash-completion does with the line first.
const completionScript = `. "$1"
_init_completion() { words=("${COMP_WORDS[@]}") cword=$COMP_CWORD cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}; }
COMP_WORDS=(nanobot run --conf) COMP_CWORD=2 COMP_TYPE=9 COMP_LINE="nanobot run --conf" COMP_POINT=18
__start_nanobot 2>/dev/null
printf '%s\n' "${COMPREPLY[@]}"`

func TestBashCompletesCommands(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("bash is missing on this machine")
	}
	prefix := unpack(t)
	cmd := exec.Command("bash", "--norc", "-c", completionScript, "bash", filepath.Join(prefix, "share/bash-completion/completions/nanobot"))
	cmd.Env = append(os.Environ(), "PATH="+filepath.Join(prefix, "bin")+":"+os.Getenv("PATH"))
	if out, err := cmd.CombinedOutput(); err != nil || strings.TrimSpace(string(out)) != "--config" {
		t.Errorf("completing run --conf: got %q, %v; want --config", out, err)
	}
}
