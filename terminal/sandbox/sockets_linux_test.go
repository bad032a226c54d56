package sandbox_test

import (
	"bufio"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"

	"nanobot/internal/musttest"
	"nanobot/terminal/process"
	"nanobot/terminal/sandbox"
)

// newRequired returns a sandbox whose restrictions are all available. Without namespaces, sockets
// of other programs on this machine are ignored.
func newRequired(o sandbox.Options) (*sandbox.Sandbox, error) {
	o.Required = true
	c, err := sandbox.New(o)
	if err != nil && strings.HasPrefix(err.Error(), onlySockets) {
		o.Required = false
		return sandbox.New(o)
	}
	return c, err
}

const onlySockets = "sandboxRequired: is true, and this machine does not support: terminal.sandbox: the agent can leave the sandbox through sockets"

// socketScene has one real socket of each kind, by its name in socketKinds, and folders for agents.
type socketScene struct {
	sockets         map[string]string
	dir, work, dial string // dial is a program that connects to a socket
	o               sandbox.Options
}

// A kind of socket, and whether an agent in the Landlock sandbox is meant to use it.
var socketKinds = []struct {
	name           string
	granted        bool
	system, absent bool // offered to every user by the system; not in the file system
}{
	{name: "in /run"},
	{name: "behind a link that the agent has put in place of a path of sandboxPaths"},
	{name: "in XDG_RUNTIME_DIR"},
	{name: "in /tmp"},
	{name: "in a folder of the home directory"},
	{name: "in ~/.gnupg"},
	{name: "in the home directory"},
	{name: "in a folder that can be read"},
	{name: "abstract", absent: true},
	{name: "of the gateway", granted: true},
	{name: "in sandboxPaths", granted: true},
	{name: "in a folder of sandboxPaths", granted: true},
	{name: "of a name service", granted: true},
	{name: "of the system bus", system: true},
}

// runFolders are made by root for a test that runs as another user.
var runFolders = []string{"/run", "/run/dbus", "/run/nscd"}

// newRunFolder returns a new folder in one of runFolders, which root makes.
func newRunFolder(t *testing.T, parent string, owner *syscall.Credential) string {
	t.Helper()
	if os.Geteuid() != 0 {
		dir := os.Getenv("TEST_FOLDER_" + filepath.Base(parent))
		if dir == "" {
			t.Skip("only root may make folders in " + parent)
		}
		return dir
	}
	if _, err := os.Lstat(parent); err != nil {
		musttest.Do(t, os.Mkdir(parent, 0o755))
		t.Cleanup(func() { _ = os.Remove(parent) })
	}
	dir := musttest.Get(os.MkdirTemp(parent, "sandbox-test-"))(t)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	musttest.Do(t, os.Chmod(dir, 0o755))
	if owner != nil {
		musttest.Do(t, os.Chown(dir, int(owner.Uid), int(owner.Gid)))
	}
	return dir
}

func listen(t *testing.T, address string) string {
	t.Helper()
	if !strings.HasPrefix(address, "@") {
		musttest.Do(t, os.MkdirAll(filepath.Dir(address), 0o755))
	}
	l := musttest.Get(net.Listen("unix", address))(t)
	t.Cleanup(func() { _ = l.Close() })
	if !strings.HasPrefix(address, "@") {
		musttest.Do(t, os.Chmod(address, 0o666))
	}
	return address
}

func newSocketScene(t *testing.T) socketScene {
	t.Helper()
	s := socketScene{dir: os.Getenv("TEST_OUTSIDE")}
	if s.dir == "" {
		needRoot(t)
		s.dir, _ = newFoldersFor(t, nobody)
	}
	s.work, s.dial = s.dir+"/work", s.dir+"/dial"
	for _, d := range []string{s.work, s.dir + "/granted"} {
		musttest.Do(t, os.Mkdir(d, 0o755))
		t.Cleanup(func() { _ = os.RemoveAll(d) })
	}
	if out, err := exec.Command("cp", os.Args[0], s.dial).CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	home, run := s.dir+"/home", newRunFolder(t, "/run", nil)
	t.Setenv("HOME", home)
	t.Setenv("XDG_RUNTIME_DIR", s.dir+"/runtime")
	temp := musttest.Get(os.MkdirTemp("/tmp", "tmux-"))(t)
	t.Cleanup(func() { _ = os.RemoveAll(temp) })
	musttest.Do(t, os.Chmod(temp, 0o755))
	s.sockets = map[string]string{
		"in /run": run + "/foreign",
		"behind a link that the agent has put in place of a path of sandboxPaths": run + "/linked",
		"in XDG_RUNTIME_DIR":                s.dir + "/runtime/bus",
		"in /tmp":                           temp + "/default",
		"in a folder of the home directory": home + "/app/socket",
		"in ~/.gnupg":                       home + "/.gnupg/S.gpg-agent",
		"in the home directory":             home + "/socket",
		"in a folder that can be read":      s.dir + "/readable/socket",
		"abstract":                          "@" + filepath.Base(run),
		"of the gateway":                    run + "/nanobot-test/socket",
		"in sandboxPaths":                   run + "/named",
		"in a folder of sandboxPaths":       s.dir + "/granted/socket",
		"of a name service":                 newRunFolder(t, "/run/nscd", nil) + "/socket",
		"of the system bus":                 newRunFolder(t, "/run/dbus", nil) + "/socket",
	}
	for _, kind := range socketKinds {
		listen(t, s.sockets[kind.name])
	}
	musttest.Do(t, os.Symlink(s.dir+"/granted", run+"/link"))
	t.Cleanup(func() { _ = os.Remove(run + "/link") })
	musttest.Do(t, os.Symlink(run+"/linked", s.work+"/named"))
	musttest.Do(t, os.WriteFile(s.dir+"/granted/f", []byte("granted"), 0o644))
	s.o = sandbox.Options{
		Workspace: s.work, Dirs: []string{s.work}, Socket: s.sockets["of the gateway"],
		Paths: []string{s.dial + ":ro", s.dir + "/readable:ro", run + "/link", s.sockets["in sandboxPaths"], s.work + "/named", run + "/missing"},
	}
	return s
}

// connect returns which kinds of sockets an agent can connect to.
func (s socketScene) connect(t *testing.T, o sandbox.Options) map[string]bool {
	t.Helper()
	script := s.dial + " dial"
	for _, kind := range socketKinds {
		script += " '" + s.sockets[kind.name] + "'"
	}
	r := runScript(t, o, script)
	results := strings.Split(r.out, "\n")
	if len(results) != len(socketKinds) {
		t.Fatalf("not every socket was tried: %+v", r)
	}
	can := map[string]bool{}
	for i, kind := range socketKinds {
		can[kind.name] = results[i] == "dial <nil>"
	}
	return can
}

// The sandboxes: whether an agent reaches a socket of another program, an abstract socket, a socket
// in /tmp and one of the system.
func TestAnAgentReachesOnlyTheSocketsThatItsSandboxAllows(t *testing.T) {
	newLandlockOptions(t)
	s := newSocketScene(t)
	namespaces := os.Getenv("TEST_AGAIN") != "mount"
	abi, _ := ll.LandlockGetABIVersion()
	restricted := namespaces || abi >= 9
	if abi < 9 {
		t.Logf("this kernel has version %d of Landlock, so its right for sockets (version 9, Linux 7.1) is not tested", abi)
	}
	type mode struct{ foreign, abstract, temp, system bool }
	for name, tc := range map[string]struct {
		sandbox, user string
		can           mode
	}{
		"none":              {"none", "", mode{true, true, true, true}},
		"a command":         {"env A=b", "", mode{true, true, true, true}},
		"landlock":          {sandbox.Landlock, "", mode{!restricted, false, !restricted, !restricted}},
		"user":              {"none", "nobody", mode{true, false, !namespaces, true}},
		"user and landlock": {sandbox.Landlock, "nobody", mode{!restricted, false, !restricted, !restricted}},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.user != "" {
				needRoot(t)
			}
			o := s.o
			o.Sandbox, o.User = tc.sandbox, tc.user
			can := s.connect(t, o)
			for _, kind := range socketKinds {
				want := tc.can.foreign
				switch {
				case kind.granted:
					want = true
				case kind.absent:
					want = tc.can.abstract
				case kind.system:
					want = tc.can.system
				case kind.name == "in /tmp":
					want = tc.can.temp
				}
				if can[kind.name] != want {
					t.Errorf("the socket %s (%s): connected %v, want %v", kind.name, s.sockets[kind.name], can[kind.name], want)
				}
			}
			if tc.sandbox == sandbox.Landlock {
				s.checkReport(t, o, !restricted)
				if r := runScript(t, o, "cat "+filepath.Dir(s.sockets["in /run"])+"/link/f; getent hosts localhost >&2 || echo no localhost"); r.out != "granted" {
					t.Errorf("a link in /run, and a name: %+v", r)
				}
			}
		})
	}
}

// checkReport checks that exactly the sockets of other programs are reported, and refused if the
// sandbox is required.
func (s socketScene) checkReport(t *testing.T, o sandbox.Options, reported bool) {
	t.Helper()
	c := musttest.Get(sandbox.New(o))(t)
	report := strings.Join(c.MissingFeatures(), "\n")
	o.Required = true
	if _, err := sandbox.New(o); reported != (err != nil) || reported && !strings.Contains(err.Error(), "through sockets of other programs") {
		t.Errorf("required: %v", err)
	}
	if reported != strings.Contains(report, "through sockets of other programs") {
		t.Errorf("it reports %q", report)
	}
	all := sandbox.ReachableSockets(c)
	for _, kind := range socketKinds {
		if socket := s.sockets[kind.name]; strings.Contains("\n"+strings.Join(all, "\n")+"\n", "\n"+socket+"\n") == (kind.granted || kind.system || kind.absent) {
			t.Errorf("the socket %s (%s) counts, or does not: %q", kind.name, socket, all)
		}
	}
}

func TestSocketsAreAlsoClosedWithoutNamespacesAndWithoutRoot(t *testing.T) {
	newLandlockOptions(t)
	const test = "TestAnAgentReachesOnlyTheSocketsThatItsSandboxAllows"
	needRoot(t)
	runTestAgain(t, test, "mount", nil)
	for _, filter := range []string{"nothing", "mount"} {
		for _, parent := range runFolders {
			t.Setenv("TEST_FOLDER_"+filepath.Base(parent), newRunFolder(t, parent, nobody))
		}
		runTestAgain(t, test, filter, nobody)
	}
}

// A socket that nobody listens on, and one that the agent's user may not connect to, are no way
// out.
func TestSocketsThatTheAgentCannotUseAreNotReported(t *testing.T) {
	needRoot(t)
	newLandlockOptions(t)
	s := newSocketScene(t)
	dir := filepath.Dir(s.sockets["in /run"])
	closed := listen(t, dir+"/closed")
	musttest.Do(t, os.Chmod(closed, 0o660))
	folder := listen(t, dir+"/folder/socket")
	musttest.Do(t, os.Chmod(filepath.Dir(folder), 0o700))
	stale := dir + "/stale"
	l := musttest.Get(net.ListenUnix("unix", &net.UnixAddr{Name: stale, Net: "unix"}))(t)
	l.SetUnlinkOnClose(false)
	musttest.Do(t, l.Close())
	other := listen(t, dir+"/nanobot-other/socket")
	s.o.Sandbox = sandbox.Landlock
	for user, count := range map[string]bool{"nobody": false, "": true} {
		s.o.User = user
		c := musttest.Get(sandbox.New(s.o))(t)
		all := strings.Join(sandbox.ReachableSockets(c), "\n")
		for _, path := range []string{closed, folder} {
			if strings.Contains(all, path) != count {
				t.Errorf("%q, %s: %s", user, path, all)
			}
		}
		if strings.Contains(all, stale) || strings.Contains(all, other) || !strings.Contains(all, dir+"/foreign") {
			t.Errorf("%q: %s", user, all)
		}
	}
}

func TestAnAgentCannotLeaveTheSandboxThroughTmux(t *testing.T) {
	tmux := requireProgram(t, "tmux")
	newLandlockOptions(t)
	s := newSocketScene(t)
	socket := filepath.Dir(s.sockets["in /run"]) + "/tmux"
	if out, err := exec.Command(tmux, "-f", "/dev/null", "-S", socket, "new-session", "-d", "sleep 600").CombinedOutput(); err != nil {
		t.Skipf("%v %s", err, out)
	}
	t.Cleanup(func() { _ = exec.Command(tmux, "-S", socket, "kill-server").Run() })
	for name, out := range map[string]bool{"none": true, sandbox.Landlock: false} {
		s.o.Sandbox = name
		mark := s.dir + "/left-" + name
		r := runScript(t, s.o, tmux+" -S "+socket+" run-shell 'touch "+mark+"'")
		if _, err := os.Stat(mark); (err == nil) != out {
			t.Errorf("%s: outside: %v, want %v, %+v", name, err == nil, out, r)
		}
	}
}

// bindMount mounts a file or folder a second time, until the test ends.
func bindMount(t *testing.T, from, to string) {
	t.Helper()
	if err := unix.Mount(from, to, "", unix.MS_BIND, ""); err != nil {
		t.Skip("we cannot mount:", err)
	}
	t.Cleanup(func() { musttest.Do(t, unix.Unmount(to, unix.MNT_DETACH)) })
}

// A socket has more than one path if its folder is mounted elsewhere, as in a chroot. One that is
// mounted into a container belongs to another network namespace, so the kernel does not list it.
func TestSocketsAreAlsoClosedByOtherPaths(t *testing.T) {
	needRoot(t)
	newLandlockOptions(t)
	s := newSocketScene(t)
	alias, mounted := s.dir+"/alias", s.dir+"/mounted"
	musttest.Do(t, os.Mkdir(alias, 0o755))
	bindMount(t, s.dir+"/runtime", alias)
	distant := filepath.Dir(s.sockets["in /run"]) + "/distant/socket"
	musttest.Do(t, os.Mkdir(filepath.Dir(distant), 0o755))
	other := exec.Command(os.Args[0], "listen", distant)
	other.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNET}
	in := musttest.Get(other.StdinPipe())(t)
	out := musttest.Get(other.StdoutPipe())(t)
	if err := other.Start(); err != nil {
		t.Skip("we cannot make a network namespace:", err)
	}
	t.Cleanup(func() { _, _ = in.Close(), other.Wait() })
	musttest.Get(out.Read(make([]byte, 1)))(t)
	musttest.Do(t, os.WriteFile(mounted, nil, 0o600))
	bindMount(t, distant, mounted)
	s.o.Sandbox = sandbox.Landlock
	c := musttest.Get(sandbox.New(s.o))(t)
	if all := sandbox.ReachableSockets(c); !slices.Contains(all, distant) || !slices.Contains(all, mounted) {
		t.Errorf("they are not reported: %q", all)
	}
	for _, o := range []string{"none", sandbox.Landlock} {
		s.o.Sandbox = o
		for _, path := range []string{alias + "/bus", distant, mounted} {
			if r := runScript(t, s.o, s.dial+" dial "+path); strings.Contains(r.out, "dial <nil>") != (o == "none") {
				t.Errorf("%s, %s: %+v", o, path, r)
			}
		}
	}
}

// If the workspace is in /tmp, the agent has no /tmp of its own.
func TestSocketsInTempAreClosedThoughTheWorkspaceIsThere(t *testing.T) {
	newLandlockOptions(t)
	dir := musttest.Get(os.MkdirTemp("/tmp", "sandbox-"))(t)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	work, own := dir+"/work", listen(t, dir+"/nanobot-1/socket")
	musttest.Do(t, os.Mkdir(work, 0o700))
	foreign := listen(t, dir+"/tmux/default")
	o := sandbox.Options{Sandbox: sandbox.Landlock, Workspace: work, Dirs: []string{work}, Paths: []string{os.Args[0] + ":ro"}, Socket: own}
	if c, err := sandbox.New(o); err != nil || strings.Contains(strings.Join(c.MissingFeatures(), ""), "no mount namespaces") {
		t.Skip("there are no mount namespaces here", err)
	}
	for path, want := range map[string]bool{foreign: false, own: true} {
		if r := runScript(t, o, os.Args[0]+" dial "+path); strings.Contains(r.out, "dial <nil>") != want {
			t.Errorf("%s: %+v", path, r)
		}
	}
}

// A mount hides a whole folder, because programs create sockets at any time.
func TestSocketsThatAreCreatedWhileTheAgentRunsAreClosed(t *testing.T) {
	newLandlockOptions(t)
	s := newSocketScene(t)
	s.o.Sandbox = sandbox.Landlock
	work, err := os.MkdirTemp("/tmp", "work-") // so that the agent has no /tmp of its own
	musttest.Do(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(work) })
	s.o.Workspace, s.o.Dirs = work, []string{work}
	musttest.Do(t, os.Mkdir(s.dir+"/fresh", 0o755))
	t.Setenv("XDG_RUNTIME_DIR", s.dir+"/fresh")
	musttest.Do(t, os.Mkdir(s.dir+"/home/.docker", 0o755))
	c := musttest.Get(sandbox.New(s.o))(t)
	if strings.Contains(strings.Join(c.MissingFeatures(), ""), "no mount namespaces") {
		t.Skip("there are no mount namespaces here")
	}
	all := []string{s.sockets["in /run"] + "-later", s.dir + "/fresh/bus", work + "-tmux/default", s.sockets["in a folder of the home directory"] + "-later", s.dir + "/home/.docker/socket"}
	t.Cleanup(func() { _ = os.RemoveAll(work + "-tmux") })
	script := "echo up; read -r line\n"
	for _, socket := range all {
		script += s.dial + " dial " + socket + "\n"
	}
	child := musttest.Get(process.Start(c.Apply(process.Options{
		Args: []string{"/bin/sh", "-c", script + s.dial + " dial " + s.sockets["of the gateway"]}, Dir: s.o.Workspace, Env: os.Environ(), KeepInput: true,
	}, chatOf(t, c, s.o, "1"))))(t)
	defer child.Kill()
	out := bufio.NewReader(child.Stdout)
	if line, err := out.ReadString('\n'); line != "up\n" {
		t.Fatal(line, err)
	}
	for _, socket := range all {
		listen(t, socket)
	}
	musttest.Get(child.Write([]byte("go\n")))(t)
	said, _ := io.ReadAll(out)
	_ = child.Wait()
	if strings.Count(string(said), "\n") != len(all)+1 || strings.Count(string(said), "dial <nil>") != 1 || !strings.HasSuffix(string(said), "dial <nil>\n") {
		t.Errorf("it connects to one of %q:\n%s", all, said)
	}
}
