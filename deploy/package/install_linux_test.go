package packaging_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// eachShell runs a story in every shell of this machine that systems have as sh.
func eachShell(t *testing.T, story func(t *testing.T, shell []string)) {
	t.Helper()
	for _, shell := range [][]string{{"dash"}, {"bash", "--posix"}, {"busybox", "sh"}} {
		t.Run(shell[0], func(t *testing.T) {
			t.Parallel()
			path, err := exec.LookPath(shell[0])
			if err != nil {
				t.Skipf("%s is missing on this machine", shell[0])
			}
			story(t, append([]string{path}, shell[1:]...))
		})
	}
}

const (
	pathHint  = "HOME/.local/bin is not in your PATH. To add it: export PATH=\"HOME/.local/bin:$PATH\"\n"
	nextSteps = pathHint + "Next: HOME/.local/bin/nanobot demo\n"
)

func downloading(version string) string {
	return "Downloading BASE" + strings.Replace(archivePath(version), platform, "PLATFORM", 1) + "\n"
}

func replaced(old, version string) string {
	return downloading(version) + "nanobot " + old + " -> " + version + " is installed: HOME/.local/bin/nanobot\n" +
		"Bots that are running stay with " + old + " until they are restarted.\n" + nextSteps
}

func TestTheScriptInstallsUpgradesAndRemovesTheProgram(t *testing.T) {
	t.Parallel()
	r := newReleases(t)
	for _, v := range []string{"v1.2.3", "v1.2.10-rc.2", "v1.2.10-rc.10", "v1.2.10"} {
		r.publish(t, v, v)
	}
	eachShell(t, func(t *testing.T, shell []string) {
		a := newAccount(t, r, shell...)
		a.expect(downloading("v1.2.3")+"nanobot v1.2.3 is installed: HOME/.local/bin/nanobot\n"+nextSteps, 0, "--version", "v1.2.3")
		a.expectInstalled("v1.2.3")
		a.expect("nanobot v1.2.3 is already installed: HOME/.local/bin/nanobot\n", 0, "--version", "1.2.3")

		running := exec.Command(a.program(), "serve")
		input, output := musttest.Get(running.StdinPipe())(t), &bytes.Buffer{}
		running.Stdout = output
		musttest.Do(t, running.Start())
		a.expect(replaced("v1.2.3", "v1.2.10"), 0, "--version", "v1.2.10")
		musttest.Do(t, errors.Join(input.Close(), running.Wait()))
		if !strings.HasPrefix(output.String(), "nanobot v1.2.3 ") {
			t.Errorf("what was running during the upgrade ended with %q", output)
		}
		a.expectInstalled("v1.2.10")

		older := func(v, old string) string {
			return v + " is older than the installed " + old + ": it may not open the states that " + old + " has used.\n" + replaced(old, v)
		}
		a.expect(older("v1.2.10-rc.10", "v1.2.10"), 0, "--version", "v1.2.10-rc.10")
		a.expect(older("v1.2.10-rc.2", "v1.2.10-rc.10"), 0, "--version", "v1.2.10-rc.2")
		a.expect(replaced("v1.2.10-rc.2", "v1.2.10"), 0, "--version", "v1.2.10")
		a.expect(older("v1.2.3", "v1.2.10"), 0, "--version", "v1.2.3")
		a.expectInstalled("v1.2.3")

		a.expect("Removed HOME/.local/bin/nanobot, which was v1.2.3. The folders of your bots stay, with configs and states (.nanobot).\n", 0, "--uninstall")
		a.expectInstalled("")
		a.expect("There is no HOME/.local/bin/nanobot, so nothing is removed.\n", 0, "--uninstall")
	})
}

func TestTheScriptLeadsToTheProgramThatItInstalled(t *testing.T) {
	t.Parallel()
	r := newReleases(t)
	r.publish(t, "v1.2.3", "v1.2.3")
	a := newAccount(t, r)
	installed := downloading("v1.2.3") + "nanobot v1.2.3 is installed: HOME/.local/bin/nanobot\n"
	a.environ[1] = "PATH=" + a.tools + ":" + filepath.Dir(a.program())
	a.expect(installed+"Next: nanobot demo\n", 0, "--version", "v1.2.3")
	musttest.Do(t, os.Remove(a.program()))
	// Another name of the same folder, as where homes are symbolic links.
	musttest.Do(t, os.Symlink(filepath.Dir(a.program()), filepath.Join(a.tools, "bin")))
	a.environ[1] = "PATH=" + a.tools + ":" + a.tools + "/bin/"
	a.expect(installed+"Next: nanobot demo\n", 0, "--version", "v1.2.3")
	musttest.Do(t, os.Remove(a.program()))
	a.addScript("nanobot", "")
	a.expect(installed+"Your PATH leads to another nanobot: "+a.tools+"/nanobot\nNext: HOME/.local/bin/nanobot demo\n", 0, "--version", "v1.2.3")
}

func TestTheScriptTakesItsOptionsAfterShC(t *testing.T) {
	t.Parallel()
	eachShell(t, func(t *testing.T, shell []string) {
		a := newFaultAccount(t)
		cmd, out := a.command()
		cmd.Path, cmd.Args = shell[0], append(shell, "-c", a.script, "--uninstall")
		musttest.Do(t, cmd.Run())
		if !strings.HasPrefix(out.String(), "Removed ") {
			t.Errorf("said %q", out)
		}
	})
}

func TestACopyOfTheScriptThatWasCutOffDoesNothing(t *testing.T) {
	t.Parallel()
	r := newReleases(t)
	r.publish(t, "v1.2.3", "v1.2.3")
	a := newAccount(t, r)
	whole := strings.TrimRight(a.script, "\n")
	for at := range len(whole) {
		if whole[at] != '\n' && at < len(whole)-20 {
			continue
		}
		a.script = whole[:at]
		cmd, _ := a.command("--version", "v1.2.3")
		_ = cmd.Run() // for most shells it is a mistake
	}
	wanttest.Equal(t, "requests:", r.requests.Load(), 0)
	wanttest.Equal(t, "entries of the home:", len(musttest.Get(os.ReadDir(a.home))(t)), 0)
}

// stampedScript returns the script with the values of a release.
func stampedScript(t *testing.T, values ...string) string {
	t.Helper()
	stamp := exec.Command("sh", "./stamp")
	stamp.Stdin = musttest.Get(os.Open("install.sh"))(t)
	stamp.Env = append(os.Environ(), values...)
	return string(musttest.Get(stamp.Output())(t))
}

func TestTheScriptVerifiesTheSignature(t *testing.T) {
	t.Parallel()
	key := musttest.Get(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	public := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: musttest.Get(x509.MarshalPKIXPublicKey(&key.PublicKey))(t)})
	a := newFaultAccount(t)
	// A release writes all three, and then no option is needed.
	a.script = stampedScript(t, "VERSION=v1.2.3", "BASE="+a.releases.URL+"/", "PUBLIC="+string(public))
	a.options = nil
	const signature = "/v1.2.3/SHA256SUMS.sig"
	said, _ := a.run()
	if !strings.HasPrefix(said, "install.sh: cannot download the signature BASE"+signature+": ") || !strings.HasSuffix(said, "Nothing was changed.\n") {
		t.Errorf("without a signature: %q", said)
	}
	a.releases.files[signature] = musttest.Get(ecdsa.SignASN1(rand.Reader, key, make([]byte, 32)))(t)
	a.expect("install.sh: the signature of "+sums+" is wrong: somebody else made these files.\nNothing was changed.\n", 1)
	a.expectInstalled("v1.2.2")

	sum := sha256.Sum256(a.releases.files["/v1.2.3/SHA256SUMS"])
	a.releases.files[signature] = musttest.Get(ecdsa.SignASN1(rand.Reader, key, sum[:]))(t)
	a.expect(replaced("v1.2.2", "v1.2.3"), 0)
	a.expectInstalled("v1.2.3")

	a.installEarlier()
	musttest.Do(t, os.Remove(filepath.Join(a.tools, "openssl")))
	a.expect("openssl is not installed, so only the checksum is verified and not the signature.\n"+replaced("v1.2.2", "v1.2.3"), 0)
}

func TestTheScriptFindsThePlatform(t *testing.T) {
	t.Parallel()
	for uname, want := range map[string]string{
		"Linux x86_64 64": "linux-amd64", "Linux aarch64 64": "linux-arm64", "Linux aarch64 32": "linux-armv7",
		"Linux armv7l 32": "linux-armv7", "Linux armv8l 32": "linux-armv7", "Darwin arm64 64": "darwin-arm64",
	} {
		t.Run(uname, func(t *testing.T) {
			t.Parallel()
			a := newFaultAccount(t)
			a.releases.files["/v1.2.3/SHA256SUMS"] = nil
			words := strings.Fields(uname)
			a.addScript("uname", `case $1 in -s) echo `+words[0]+` ;; -m) echo `+words[1]+` ;; esac`)
			a.addScript("getconf", "echo "+words[2])
			said, _ := a.run("--version", "v1.2.3")
			if want := "install.sh: v1.2.3 has no nanobot-1.2.3-" + want + ".tar.gz."; !strings.HasPrefix(strings.ReplaceAll(said, "PLATFORM", platform), want) {
				t.Errorf("said %q, want %q", said, want)
			}
		})
	}
}

// addManager adds a package manager that records its arguments, and installs or removes a program.
func (a *account) addManager(name, system string) {
	a.Helper()
	a.script = strings.Replace(a.script, "program=/usr/bin/nanobot", "program="+system, 1)
	a.addScript("id", "echo 7")
	a.addScript("sudo", `[ "$1" = `+name+` ] && exec "$@"`)
	a.addScript(name, `for last; do :; done
		echo "got $* " | sed 's, /[^ ]*/, ,; s/ $//'
		[ "$last" != nanobot ] || exec rm `+system+`
		grep -q '^the package$' "$last" && echo 'echo "nanobot v1.2.3 (go1.26.0, linux/amd64)"' >`+system+` && chmod 755 `+system)
}

func TestThePackageIsInstalledByWhatTheSystemHas(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ format, old, install, remove, update string }{
		"apt-get":       {"deb", "v1.3.0", "install -y --allow-downgrades", "purge -y", " If it does not find ca-certificates: sudo apt-get update"},
		"dnf":           {"rpm", "v1.2.2", "install -y", "remove -y", ""},
		"dnf downgrade": {"rpm", "v1.3.0", "downgrade -y", "remove -y", ""},
		"zypper":        {"rpm", "v1.2.2", "-n install --allow-unsigned-rpm --oldpackage", "-n remove", ""},
		"apk":           {"apk", "v1.2.2", "add --allow-untrusted", "del", " If it does not find ca-certificates: sudo apk update"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAccount(t, newReleases(t))
			manager, _, _ := strings.Cut(name, " ")
			system := filepath.Join(filepath.Dir(a.tools), "nanobot") // unlike the home, without a space
			musttest.Do(t, os.WriteFile(system, []byte(fakeProgram(c.old)), 0o755))
			if manager == "apt-get" {
				a.addScript("dnf", "echo on Debian, it does not install packages; exit 1")
			}
			a.addManager(manager, system)
			file := "nanobot-1.2.3-PLATFORM." + c.format
			a.releases.files["/v1.2.3/"+strings.Replace(file, "PLATFORM", platform, 1)] = []byte("the package\n")
			a.releases.files["/v1.2.3/SHA256SUMS"] = fmt.Appendf(nil, "%x  %s\n", sha256.Sum256([]byte("the package\n")),
				strings.Replace(file, "PLATFORM", platform, 1))

			want := "Downloading BASE/v1.2.3/" + file + "\ngot " + c.install + " " + file + "\n" +
				"nanobot " + c.old + " -> v1.2.3 is installed: " + system + "\nBots that are running stay with " + c.old +
				" until they are restarted.\nNext: sudo nanobot bots create mybot --template python --telegram-token-file -\n"
			if c.old == "v1.3.0" {
				want = "v1.2.3 is older than the installed v1.3.0: it may not open the states that v1.3.0 has used.\n" + want
			}
			a.expect(want, 0, "--system", "--version", "v1.2.3")
			a.expect("got "+c.remove+" nanobot\nRemoved nanobot v1.2.3. "+
				"These stay: /etc/nanobot with configs and tokens, /var/lib/nanobot with states.\n", 0, "--system", "--uninstall")
			musttest.Do(t, os.WriteFile(system, []byte(fakeProgram("v1.2.3")), 0o755))
			a.addScript(manager, "echo nothing to do")
			a.expect("nothing to do\ninstall.sh: "+system+" is still there, because no package owns it. To remove it: sudo rm "+system+
				"\nSee above what "+manager+" says.\n", 1, "--system", "--uninstall")
			musttest.Do(t, os.Remove(system))
			a.addScript(manager, "echo no room; exit 1")
			a.expect("Downloading BASE/v1.2.3/"+file+"\nno room\ninstall.sh: "+manager+" did not install "+file+".\nSee above what "+manager+
				" says."+c.update+"\n", 1, "--system", "--version", "v1.2.3")
		})
	}
}

func TestTheScriptInstallsWhatBuildMakes(t *testing.T) {
	t.Parallel()
	folder := filepath.Dir(packages(t, "SHA256SUMS"))
	r := newReleases(t)
	r.Config.Handler = http.StripPrefix("/v1.2.3", http.FileServer(http.Dir(folder)))
	a := newAccount(t, r)
	a.expect(downloading("v1.2.3")+"nanobot v1.2.3 is installed: HOME/.local/bin/nanobot\n"+nextSteps, 0, "--version", "v1.2.3")
	a.expectInstalled("v1.2.3")
}

func TestShellcheckFindsNothing(t *testing.T) {
	t.Parallel()
	path, err := exec.LookPath("shellcheck")
	if err != nil {
		t.Skip("shellcheck is missing on this machine")
	}
	scripts := map[string]bool{}
	musttest.Do(t, filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		scripts[path] = bytes.HasPrefix(content, []byte("#!/bin/sh\n"))
		return err
	}))
	maps.DeleteFunc(scripts, func(_ string, isScript bool) bool { return !isScript })
	names := slices.Sorted(maps.Keys(scripts))
	if len(names) < 5 {
		t.Fatalf("found only %v", names)
	}
	if out, err := exec.CommandContext(t.Context(), path, names...).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
