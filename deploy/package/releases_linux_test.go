package packaging_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// releases is a server of releases that can fail. Its programs are shell scripts.
type releases struct {
	*httptest.Server
	files    map[string][]byte // by path
	faults   map[string]http.HandlerFunc
	requests atomic.Int64
}

func newReleases(t *testing.T) *releases {
	t.Helper()
	r := &releases{files: map[string][]byte{}, faults: map[string]http.HandlerFunc{}}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		r.requests.Add(1)
		if fault := r.faults[req.URL.Path]; fault != nil {
			fault(w, req)
		} else if content, ok := r.files[req.URL.Path]; ok {
			_, _ = w.Write(content)
		} else {
			http.NotFound(w, req)
		}
	}))
	t.Cleanup(r.Close)
	return r
}

func archivePath(version string) string {
	return "/" + version + "/nanobot-" + strings.TrimPrefix(version, "v") + "-" + platform + ".tar.gz"
}

// publish adds a version whose program is a script of 300 KB that says that it is another version.
func (r *releases) publish(t *testing.T, version, says string) {
	t.Helper()
	r.publishProgram(t, version, fakeProgram(says))
}

func (r *releases) publishProgram(t *testing.T, version, program string) {
	t.Helper()
	var archive bytes.Buffer
	z := gzip.NewWriter(&archive)
	w := tar.NewWriter(z)
	name := strings.TrimSuffix(filepath.Base(archivePath(version)), ".tar.gz") + "/bin/nanobot"
	musttest.Do(t, w.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(program))}))
	musttest.Get(w.Write([]byte(program)))(t)
	musttest.Do(t, errors.Join(w.Close(), z.Close()))
	r.publishArchive(version, archive.Bytes())
}

func (r *releases) publishArchive(version string, archive []byte) {
	sum := sha256.Sum256(archive)
	r.files[archivePath(version)] = archive
	r.files["/"+version+"/SHA256SUMS"] = []byte(strings.Repeat("0", 64) + "  nanobot-other.tar.gz\n" +
		hex.EncodeToString(sum[:]) + "  " + filepath.Base(archivePath(version)) + "\n")
}

// fakeProgram answers as nanobot does; serve answers only after a line of its input.
func fakeProgram(version string) string {
	padding := make([]byte, 150_000)
	_, _ = rand.Read(padding)
	return "#!/bin/sh\n[ \"$1\" != serve ] || read -r line\necho 'nanobot " + version + " (go1.26.0, linux/amd64)'\nexit\n# " +
		hex.EncodeToString(padding) + "\n"
}

// cutOff answers with the first half and closes the connection.
func cutOff(content []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", fmt.Sprint(len(content)))
		_, _ = w.Write(content[:len(content)/2])
		panic(http.ErrAbortHandler)
	}
}

// account is somebody who runs the script: a home, and a PATH with only the programs that the
// script may use.
type account struct {
	*testing.T
	home, tools string
	environ     []string
	shell       []string
	script      string
	options     []string // before those of a run
	releases    *releases
}

// usedTools are all programs that the script starts, except for downloads.
var usedTools = []string{
	"cat", "chmod", "df", "env", "getconf", "grep", "gzip", "head", "id", "mkdir", "mktemp", "mv", "openssl", "rm", "sed",
	"sh", "sha256sum", "sort", "tail", "tar", "uname",
}

func newAccount(t *testing.T, r *releases, shell ...string) *account {
	t.Helper()
	dir := t.TempDir()
	a := &account{
		T: t, home: filepath.Join(dir, "my home"), tools: filepath.Join(dir, "tools"), releases: r, shell: shell,
		script: string(musttest.Get(os.ReadFile("install.sh"))(t)), options: []string{"--from", r.URL + "/"},
	}
	for _, d := range []string{a.home, a.tools, filepath.Join(dir, "tmp")} {
		musttest.Do(t, os.Mkdir(d, 0o755))
	}
	for _, tool := range append(usedTools, "curl") {
		a.addTool(tool)
	}
	a.environ = []string{"HOME=" + a.home, "PATH=" + a.tools, "TMPDIR=" + filepath.Join(dir, "tmp")}
	return a
}

// addTool adds a program of this machine to the PATH.
func (a *account) addTool(name string) {
	a.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		a.Skipf("%s is missing on this machine", name)
	}
	musttest.Do(a, os.Symlink(path, filepath.Join(a.tools, filepath.Base(name))))
}

// addScript adds a program to the PATH that is a shell script.
func (a *account) addScript(name, script string) {
	a.Helper()
	path := filepath.Join(a.tools, name)
	_ = os.Remove(path)
	musttest.Do(a, os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o755))
}

func (a *account) program() string { return filepath.Join(a.home, ".local/bin/nanobot") }

// command pipes the script into a shell, as people do.
func (a *account) command(args ...string) (cmd *exec.Cmd, out *bytes.Buffer) {
	shell := a.shell
	if shell == nil {
		shell = []string{"sh"}
	}
	args = slices.Concat(shell, []string{"-s", "--"}, a.options, args)
	cmd, out = exec.CommandContext(a.Context(), args[0], args[1:]...), &bytes.Buffer{}
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = a.home, a.environ, strings.NewReader(a.script), out, out
	return cmd, out
}

// run runs the script, which must leave no temporary file.
func (a *account) run(args ...string) (said string, status int) {
	a.Helper()
	cmd, out := a.command(args...)
	_ = cmd.Run()
	a.expectNoTemporaryFiles()
	return a.shorten(out.String()), cmd.ProcessState.ExitCode()
}

// shorten replaces what differs from run to run.
func (a *account) shorten(said string) string {
	return strings.NewReplacer(a.releases.URL, "BASE", a.home, "HOME", platform, "PLATFORM").Replace(said)
}

func (a *account) expectNoTemporaryFiles() {
	a.Helper()
	musttest.Do(a, filepath.WalkDir(filepath.Dir(a.home), func(path string, _ fs.DirEntry, err error) error {
		if strings.Contains(path, "-XXXXXX") || strings.HasPrefix(filepath.Base(path), ".nanobot-") {
			a.Errorf("%s is left", path)
		}
		return err
	}))
}

func (a *account) expect(want string, wantStatus int, args ...string) {
	a.Helper()
	said, status := a.run(args...)
	wanttest.Equal(a, strings.Join(args, " ")+": said", said, want)
	wanttest.Equal(a, strings.Join(args, " ")+": status", status, wantStatus)
}

// expectInstalled runs the program that is installed; an empty version means that there is none.
func (a *account) expectInstalled(version string) {
	a.Helper()
	entries := musttest.Get(os.ReadDir(filepath.Dir(a.program())))(a)
	if version == "" {
		wanttest.Equal(a, "entries beside the program:", len(entries), 0)
		return
	}
	out, err := exec.Command(a.program(), "version").CombinedOutput()
	if want := "nanobot " + version + " ("; err != nil || !strings.HasPrefix(string(out), want) || len(entries) != 1 {
		a.Errorf("version: got %q, %v beside %v, want %s", out, err, entries, want)
	}
}
