package packaging_test

import (
	"errors"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// installFault is one way in which the script fails to replace v1.2.2.
type installFault struct {
	name  string
	cause func(a *account)
	want  string // a last line that ends with … goes on in the words of another program
	args  []string
}

const sums = "BASE/v1.2.3/SHA256SUMS"

var installFaults = []installFault{
	{name: "checksum", cause: func(a *account) {
		a.releases.files[archivePath("v1.2.3")] = []byte("something else")
	}, want: downloading("v1.2.3") + "install.sh: BASE/v1.2.3/nanobot-1.2.3-PLATFORM.tar.gz has a wrong checksum: it was changed or cut off on its way.\n"},
	{name: "connection closed within the archive", cause: func(a *account) {
		path := archivePath("v1.2.3")
		a.releases.faults[path] = cutOff(a.releases.files[path])
	}, want: downloading("v1.2.3") + "install.sh: cannot download BASE/v1.2.3/nanobot-1.2.3-PLATFORM.tar.gz: …"},
	{name: "connection closed within the checksums", cause: func(a *account) {
		a.releases.faults["/v1.2.3/SHA256SUMS"] = cutOff(a.releases.files["/v1.2.3/SHA256SUMS"])
	}, want: "install.sh: cannot download " + sums + ": …"},
	{name: "no such version", args: []string{"--version", "v9.9.9"}, want: "install.sh: there is no v9.9.9 at BASE (BASE/v9.9.9/SHA256SUMS is missing).\n"},
	{name: "archive missing", cause: func(a *account) {
		delete(a.releases.files, archivePath("v1.2.3"))
	}, want: downloading("v1.2.3") + "install.sh: cannot download BASE/v1.2.3/nanobot-1.2.3-PLATFORM.tar.gz: …"},
	{name: "no archive for the platform", cause: func(a *account) {
		a.releases.files["/v1.2.3/SHA256SUMS"] = []byte("00  nanobot-1.2.3-" + platform + ".deb\n")
	}, want: "install.sh: v1.2.3 has no nanobot-1.2.3-PLATFORM.tar.gz. Its files are listed in " + sums + ".\n"},
	{name: "server down", cause: func(a *account) { a.releases.Close() }, want: "install.sh: cannot download " + sums + ": …"},
	{name: "server without the name", args: []string{"--from", "http://nowhere.invalid/r"}, want: "install.sh: cannot download http://nowhere.invalid/r/v1.2.3/SHA256SUMS: …"},
	{name: "not an archive", cause: func(a *account) {
		a.releases.publishArchive("v1.2.3", []byte("no archive"))
	}, want: downloading("v1.2.3") + "install.sh: cannot unpack nanobot-1.2.3-PLATFORM.tar.gz: …"},
	{name: "another version in the archive", cause: func(a *account) {
		a.releases.publish(a.T, "v1.2.3", "v1.2.33")
	}, want: downloading("v1.2.3") + "install.sh: nanobot-1.2.3-PLATFORM.tar.gz is not v1.2.3, or does not run here: nanobot v1.2.33 (go1.26.0, linux/amd64)\n"},
	{name: "a program that does not run", cause: func(a *account) {
		a.releases.publishProgram(a.T, "v1.2.3", "#!/bin/sh\necho no; exit 1\n")
	}, want: downloading("v1.2.3") + "install.sh: nanobot-1.2.3-PLATFORM.tar.gz is not v1.2.3, or does not run here: no\n"},
	{name: "another platform", cause: func(a *account) {
		a.addScript("uname", `case $1 in -s) echo FreeBSD ;; -m) echo riscv64 ;; *) echo FreeBSD riscv64 ;; esac`)
	}, want: "install.sh: nanobot is released for Linux on amd64, arm64 and armv7 and for macOS on arm64, not for FreeBSD riscv64. " +
		"Build it from its source: CGO_ENABLED=0 go build ./cmd/nanobot\n"},
	{name: "no home", cause: func(a *account) { a.environ[0] = "HOME=" }, want: "install.sh: HOME is not set. Set it, or use --system.\n"},
	{name: "unknown option", args: []string{"--everywhere"}, want: "install.sh: there is no option --everywhere; --help lists them.\n"},
	{name: "option without its value", args: []string{"--version"}, want: "install.sh: --version needs a value.\n"},
	{name: "not an address", args: []string{"--from", "/srv/releases"}, want: "install.sh: /srv/releases is not an address that begins with http:// or https://.\n"},
	{name: "no server", cause: func(a *account) { a.options = nil }, want: "install.sh: this copy does not name the address of the releases: --from URL is needed.\n"},
	{name: "no package manager", args: []string{"--system"}, want: "install.sh: --system needs apt-get, dnf, zypper or apk, and this system has none of them. Leave --system out.\n"},
	{name: "not root", args: []string{"--system"}, cause: func(a *account) {
		a.addScript("id", "echo 7")
		a.addScript("apt-get", "")
	}, want: "install.sh: --system needs root. Run it as root, or install sudo.\n"},
}

func TestWhatGoesWrongLeavesTheInstalledVersion(t *testing.T) {
	t.Parallel()
	for _, fault := range installFaults {
		t.Run(fault.name, func(t *testing.T) {
			t.Parallel()
			fault.expect(t, newFaultAccount(t))
		})
	}
}

// newFaultAccount has v1.2.2 installed; its server has v1.2.3.
func newFaultAccount(t *testing.T) *account {
	t.Helper()
	a := newAccount(t, newReleases(t))
	a.releases.publish(t, "v1.2.3", "v1.2.3")
	a.installEarlier()
	return a
}

func (a *account) installEarlier() {
	a.Helper()
	musttest.Do(a, os.MkdirAll(filepath.Dir(a.program()), 0o755))
	musttest.Do(a, os.WriteFile(a.program(), []byte(fakeProgram("v1.2.2")), 0o755))
}

func (f installFault) expect(t *testing.T, a *account) {
	t.Helper()
	if f.cause != nil {
		f.cause(a)
	}
	said, status := a.run(append([]string{"--version", "v1.2.3"}, f.args...)...)
	want, others := strings.CutSuffix(f.want, "…")
	if others {
		rest, ok := strings.CutPrefix(said, want)
		if !ok || len(rest) < 10 || !strings.HasSuffix(rest, "\nNothing was changed.\n") {
			t.Errorf("said %q, want %q", said, f.want)
		}
	} else {
		wanttest.Equal(t, "said", said, want+"Nothing was changed.\n")
	}
	wanttest.Equal(t, "status", status, 1)
	a.expectInstalled("v1.2.2")
}

// The other tests download with curl.
func TestEachProgramForDownloadsIsEnough(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"wget", "/usr/lib/apt/apt-helper"} {
		for _, fault := range installFaults {
			switch fault.name {
			case "connection closed within the archive", "no such version", "server down", "server without the name":
			default:
				continue
			}
			t.Run(filepath.Base(tool)+"/"+fault.name, func(t *testing.T) {
				t.Parallel()
				a := newFaultAccount(t)
				musttest.Do(t, os.Remove(filepath.Join(a.tools, "curl")))
				a.addTool(tool)
				fault.expect(t, a)
				if fault.name == "no such version" {
					a.expect(replaced("v1.2.2", "v1.2.3"), 0, "--version", "v1.2.3")
				}
			})
		}
	}
}

func TestWhatIsNotOursIsNotReplaced(t *testing.T) {
	t.Parallel()
	const moveAway = "install.sh: HOME/.local/bin/nanobot is another program, or broken. " +
		"Move it away first: mv HOME/.local/bin/nanobot HOME/.local/bin/nanobot.old\n"
	for name, c := range map[string]struct {
		make func(path string) error
		want string
	}{
		"folder":          {func(path string) error { return os.Mkdir(path, 0o755) }, "install.sh: HOME/.local/bin/nanobot is a folder. Move it away first.\n"},
		"link":            {func(path string) error { return os.Symlink("/bin/true", path) }, "install.sh: HOME/.local/bin/nanobot is a symbolic link. Remove it first: rm HOME/.local/bin/nanobot\n"},
		"dangling link":   {func(path string) error { return os.Symlink("/nowhere", path) }, "install.sh: HOME/.local/bin/nanobot is a symbolic link. Remove it first: rm HOME/.local/bin/nanobot\n"},
		"another program": {func(path string) error { return os.WriteFile(path, []byte("#!/bin/sh\necho nanobot 0.1.4\n"), 0o755) }, moveAway},
		"broken program":  {func(path string) error { return os.WriteFile(path, []byte("\x7fELF"), 0o755) }, moveAway},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newFaultAccount(t)
			musttest.Do(t, errors.Join(os.Remove(a.program()), c.make(a.program())))
			before := musttest.Get(os.Lstat(a.program()))(t)
			a.expect(c.want+"Nothing was changed.\n", 1, "--version", "v1.2.3")
			a.expect(c.want+"Nothing was changed.\n", 1, "--uninstall")
			after := musttest.Get(os.Lstat(a.program()))(t)
			if !os.SameFile(before, after) || before.Mode() != after.Mode() || before.Size() != after.Size() {
				t.Errorf("it was %v and is %v", before, after)
			}
		})
	}
}

func TestASignalStopsTheDownloadAndLeavesTheInstalledVersion(t *testing.T) {
	// Without this, shells ignore SIGINT if the tests were started in the background of a script.
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt)
	t.Cleanup(func() { signal.Stop(interrupts) })
	for name, sent := range map[string]syscall.Signal{"INT": syscall.SIGINT, "TERM": syscall.SIGTERM} {
		t.Run(name, func(t *testing.T) {
			eachShell(t, func(t *testing.T, shell []string) {
				a := newFaultAccount(t)
				a.shell = shell
				started, ended := make(chan struct{}), make(chan struct{})
				path := archivePath("v1.2.3")
				a.releases.faults[path] = func(w http.ResponseWriter, req *http.Request) {
					w.Header().Set("Content-Length", "1000000")
					_, _ = w.Write(a.releases.files[path])
					_ = http.NewResponseController(w).Flush()
					close(started)
					<-req.Context().Done()
					close(ended)
				}
				cmd, out := a.command("--version", "v1.2.3")
				musttest.Do(t, cmd.Start())
				a.await("start of the download", started)
				musttest.Do(t, cmd.Process.Signal(sent))
				_ = cmd.Wait()
				a.await("end of the download", ended)
				wanttest.Equal(t, "said", a.shorten(out.String()), downloading("v1.2.3")+"install.sh: interrupted.\nNothing was changed.\n")
				wanttest.Equal(t, "status", cmd.ProcessState.ExitCode(), 128+int(sent))
				a.expectNoTemporaryFiles()
				a.expectInstalled("v1.2.2")
			})
		})
	}
}

// A killed run leaves its temporary folder to the next one, which spares those of runs that go on.
func TestTheNextRunRemovesWhatAKilledRunLeft(t *testing.T) {
	t.Parallel()
	eachShell(t, func(t *testing.T, shell []string) {
		a := newFaultAccount(t)
		a.shell = shell
		started, finish := make(chan struct{}), make(chan struct{})
		path, requests := archivePath("v1.2.3"), atomic.Int32{}
		a.releases.faults[path] = func(w http.ResponseWriter, req *http.Request) {
			if requests.Add(1) <= 2 {
				started <- struct{}{}
				select {
				case <-finish:
				case <-req.Context().Done():
				}
			}
			_, _ = w.Write(a.releases.files[path])
		}
		expectFolders := func(when string) {
			t.Helper()
			folders := musttest.Get(filepath.Glob(filepath.Join(filepath.Dir(a.program()), ".nanobot-*")))(t)
			wanttest.Equal(t, "temporary folders "+when, len(folders), 1)
		}
		killed, _ := a.command("--version", "v1.2.3")
		musttest.Do(t, killed.Start())
		a.await("start of the download", started)
		musttest.Do(t, killed.Process.Kill())
		a.releases.CloseClientConnections()
		_ = killed.Wait()
		expectFolders("of a killed run")

		slow, out := a.command("--version", "v1.2.3")
		musttest.Do(t, slow.Start())
		a.await("start of the second download", started)
		expectFolders("of the next run")
		quick, _ := a.command("--version", "v1.2.3")
		musttest.Do(t, quick.Run())
		expectFolders("of a run that goes on")
		close(finish)
		musttest.Do(t, slow.Wait())
		wanttest.Equal(t, "said", a.shorten(out.String()), replaced("v1.2.2", "v1.2.3"))
		a.expectNoTemporaryFiles()
		a.expectInstalled("v1.2.3")
	})
}

// await waits for what a failing script would never do.
func (a *account) await(what string, done <-chan struct{}) {
	a.Helper()
	select {
	case <-done:
	case <-time.After(5 * time.Minute):
		a.releases.CloseClientConnections()
		a.Fatalf("no %s within five minutes", what)
	}
}

// mountScript mounts a filesystem over a folder of the home and puts the earlier program into it.
// It installs with the rest of its arguments, and then prints what is in the home.
const mountScript = `set -e
mkdir ../earlier && mv .local/bin/nanobot ../earlier && mount -t tmpfs -o "size=$2" tmpfs "$1" && cd "$PWD"
mkdir -p .local/bin && cp ../earlier/nanobot .local/bin
if [ "$3" = ro ]; then mount -o remount,ro "$1"; fi
if [ "$3" = full ]; then head -c 1M /dev/zero >.local/bin/full || :; fi 2>/dev/null
PATH=$4 && shift 4 && status=0
sh "$@" || status=$?
rm -f .local/bin/full && find . && .local/bin/nanobot version
exit $status`

// The home or the folder of the program is a small or read-only filesystem.
func TestAFullOrReadOnlyDiskLeavesTheInstalledVersion(t *testing.T) {
	t.Parallel()
	if out, err := exec.Command("unshare", "--map-root-user", "--mount", "true").CombinedOutput(); err != nil {
		t.Skipf("no namespace for mounts can be made here: %v %s", err, out)
	}
	const archive = "nanobot-1.2.3-PLATFORM.tar.gz"
	for name, c := range map[string]struct{ folder, size, state, want string }{
		"full during the download": {
			".local/bin", "400k", "", downloading("v1.2.3") +
				"install.sh: cannot download BASE/v1.2.3/" + archive + ": the disk of HOME/.local/bin is full\n",
		},
		"full while unpacking": {
			".local/bin", "700k", "",
			downloading("v1.2.3") + "install.sh: cannot unpack " + archive + ": the disk of HOME/.local/bin is full\n",
		},
		"full before":    {".local/bin", "400k", "full", "install.sh: cannot download " + sums + ": the disk of HOME/.local/bin is full\n"},
		"read-only":      {".local/bin", "400k", "ro", "install.sh: cannot write into HOME/.local/bin: is it read-only, full or not yours?\n"},
		"read-only home": {".", "400k", "ro", "install.sh: cannot write into HOME/.local/bin: is it read-only, full or not yours?\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newFaultAccount(t)
			a.addTool("find")
			a.shell = []string{
				"env", "PATH=" + os.Getenv("PATH"), "unshare", "--map-root-user", "--mount", "sh", "-c", mountScript, "sh",
				c.folder, c.size, c.state, a.tools,
			}
			said, status := a.run("--version", "v1.2.3")
			wanttest.Equal(t, "said", said, c.want+"Nothing was changed.\n"+
				".\n./.local\n./.local/bin\n./.local/bin/nanobot\nnanobot v1.2.2 (go1.26.0, linux/amd64)\n")
			wanttest.Equal(t, "status", status, 1)
		})
	}
}

func TestWithoutPermissionTheInstalledVersionStays(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ locked, want string }{
		"folder": {".local/bin", "install.sh: cannot write into HOME/.local/bin: is it read-only, full or not yours?\n"},
		"home":   {".", "install.sh: cannot make the folder HOME/.local/bin: is your home read-only, full or not yours?\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newFaultAccount(t)
			if c.locked == "." {
				musttest.Do(t, os.RemoveAll(filepath.Join(a.home, ".local")))
			}
			musttest.Do(t, os.Chmod(filepath.Join(a.home, c.locked), 0o555))
			t.Cleanup(func() { _ = os.Chmod(filepath.Join(a.home, c.locked), 0o755) })
			cmd, out := a.command("--version", "v1.2.3")
			if os.Getuid() == 0 {
				musttest.Do(t, os.Chmod(filepath.Dir(filepath.Dir(a.home)), 0o755))
				cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
			}
			_ = cmd.Run()
			wanttest.Equal(t, "said", a.shorten(out.String()), c.want+"Nothing was changed.\n")
			a.expectNoTemporaryFiles()
			if c.locked != "." {
				a.expectInstalled("v1.2.2")
			}
		})
	}
}
