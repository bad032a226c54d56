package sandbox_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"nanobot/internal/musttest"
	"nanobot/terminal/process"
	"nanobot/terminal/sandbox"
)

// unsupported is the reason why this process cannot have a Landlock sandbox. Its search for sockets
// reads up to 10,000 entries of /tmp.
var unsupported = sync.OnceValue(func() error {
	_, err := newRequired(sandbox.Options{Sandbox: sandbox.Landlock})
	return err
})

// newLandlockOptions returns options for a Landlock sandbox, and its new workspace.
func newLandlockOptions(t *testing.T) (sandbox.Options, string) {
	t.Helper()
	if err := unsupported(); err != nil {
		t.Skip(err)
	}
	dir := newFolderOutsideTemp(t)
	work := filepath.Join(dir, "work")
	musttest.Do(t, os.Mkdir(work, 0o700))
	musttest.Do(t, os.WriteFile(filepath.Join(dir, "secret"), []byte("secret"), 0o600))
	return sandbox.Options{Sandbox: sandbox.Landlock, Dirs: []string{work}, Workspace: work}, dir
}

func TestLandlockRestrictsTheAgentToItsFolders(t *testing.T) {
	o, dir := newLandlockOptions(t)
	user := filepath.Join(dir, "user")
	musttest.Do(t, os.Mkdir(user, 0o700))
	o.Dirs = append(o.Dirs, user)
	for _, tc := range []struct {
		script string
		out    string // "": it must fail
	}{
		{"cat " + dir + "/secret", ""},
		{"ls " + dir, ""},
		{"echo x > " + dir + "/new", ""},
		{"echo x > " + dir + "/secret", ""},
		{"rm " + dir + "/secret", ""},
		{"mv " + dir + "/work/../secret " + dir + "/work/mine", ""},
		{"ln " + dir + "/secret " + dir + "/work/mine", ""},
		{"ln -s " + dir + "/secret " + dir + "/work/link; cat " + dir + "/work/link", ""},
		{"ls /root", ""},
		{"touch /etc/nanobot-was-here", ""},
		{"touch /usr/nanobot-was-here", ""},
		{"cat /proc/" + strconv.Itoa(os.Getpid()) + "/environ", ""},
		{"kill -0 " + strconv.Itoa(os.Getpid()), ""},
		{"cd " + dir + "/work && mkdir a b && echo hi > a/f && mv a/f b/f && cat b/f", "hi"},
		{"echo mine > " + user + "/f && cat " + user + "/f", "mine"},
		{"d=$(mktemp -d) && echo x > $d/f && cat $d/f && rm -r $d", "x"},
		{"echo out > /dev/null; echo two > /dev/stderr; head -c 3 /dev/urandom | wc -c", "3"},
		{"sleep 60 & kill $! && echo killed", "killed"},
		{"cat /etc/passwd | head -n 1 | cut -c 1-5", "root:"},
	} {
		r := runScript(t, o, tc.script)
		if tc.out == "" && (r.exit.OK() || r.out != "") || tc.out != "" && (!r.exit.OK() || r.out != tc.out) {
			t.Errorf("%s: out %q, err %q, exit %+v", tc.script, r.out, r.err, r.exit)
		}
	}
	if b, err := os.ReadFile(dir + "/secret"); string(b) != "secret" {
		t.Errorf("the secret is %q: %v", b, err)
	}
}

// Root could read whole disks through their devices. On a machine without a disk, the test uses
// another device.
func TestLandlockLetsNobodyOpenADevice(t *testing.T) {
	o, _ := newLandlockOptions(t)
	disks, _ := filepath.Glob("/dev/[hsv]d[a-z]")
	tried := 0
	for _, device := range append(disks, "/dev/nvme0n1", "/dev/mem", "/dev/fuse", "/dev/kvm", "/dev/loop-control") {
		f, err := os.Open(device)
		if err != nil {
			continue
		}
		_ = f.Close()
		tried++
		if r := runScript(t, o, "exec 3< "+device+"; echo open"); r.out != "" || r.exit.OK() {
			t.Errorf("%s: %+v", device, r)
		}
	}
	if tried == 0 {
		t.Skip("there is no device that we could open ourselves")
	}
}

func TestLandlockForbidsAbstractSocketsOfOthers(t *testing.T) {
	o, dir := newLandlockOptions(t)
	if c, err := sandbox.New(o); err != nil || strings.Contains(strings.Join(c.MissingFeatures(), ""), "sockets") {
		t.Skip("this kernel cannot", err)
	}
	o.Paths = []string{os.Args[0] + ":ro"}
	for address, answer := range map[string]string{"@nanobot-" + filepath.Base(dir): "operation not permitted", dir + "/work/socket": "dial <nil>"} {
		l := musttest.Get(net.Listen("unix", address))(t)
		r := runScript(t, o, os.Args[0]+" dial "+address)
		_ = l.Close()
		if !strings.HasSuffix(r.out, answer) {
			t.Errorf("%s: %+v", address, r)
		}
	}
}

// A program gets capabilities because it runs as root, or by inheriting them.
func TestLandlockDropsInheritedCapabilities(t *testing.T) {
	needRoot(t)
	o, _ := newLandlockOptions(t)
	t.Setenv("HOME", "/nonexistent") // which the other user cannot enter
	for _, user := range []uint32{0, 65534} {
		c := musttest.Get(sandbox.New(o))(t)
		p := c.Apply(process.Options{Args: []string{"/bin/sh", "-c", "grep Cap /proc/self/status"}}, sandbox.ChatDirs{})
		cmd := exec.Cmd{Path: p.Path, Args: p.Args, Dir: "/", SysProcAttr: &syscall.SysProcAttr{
			Cloneflags:  p.Namespaces, // without which the mounts would be this machine's
			AmbientCaps: []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_BPF, unix.CAP_NET_BIND_SERVICE}, Credential: &syscall.Credential{Uid: user, Gid: user},
		}}
		out, err := cmd.CombinedOutput()
		if errors.Is(err, syscall.EPERM) {
			t.Skip("we have no such powers to hand on")
		}
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		for line := range strings.Lines(string(out)) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), ":\t")
			set, err := strconv.ParseUint(value, 16, 64)
			if err != nil || name != "CapBnd" && set&(1<<unix.CAP_SYS_ADMIN|1<<unix.CAP_BPF) != 0 || set&(1<<unix.CAP_NET_BIND_SERVICE) == 0 {
				t.Errorf("user %d: %s, %v", user, line, err)
			}
		}
	}
}

func TestConfiguredPathsAreAccessible(t *testing.T) {
	o, dir := newLandlockOptions(t)
	for _, name := range []string{"more", "readable"} {
		musttest.Do(t, os.Mkdir(filepath.Join(dir, name), 0o700))
		musttest.Do(t, os.WriteFile(filepath.Join(dir, name, "f"), []byte(name), 0o600))
	}
	o.Paths = []string{dir + "/more", dir + "/readable:ro", dir + "/secret", dir + "/missing"}
	r := runScript(t, o, "cd "+dir+"; cat more/f readable/f secret; echo x > more/g; echo y > secret; echo z > readable/g")
	if r.out != "morereadablesecret" || r.exit.OK() {
		t.Errorf("%+v", r)
	}
	if r := runScript(t, o, "cat "+dir+"/more/g "+dir+"/secret"); r.out != "x\ny" {
		t.Errorf("%+v", r)
	}
}

func TestAgentsOfThreeLanguagesWorkUnderLandlock(t *testing.T) {
	o, dir := newLandlockOptions(t)
	file := filepath.Join(dir, "work", "f")
	o.Paths = []string{os.Args[0] + ":ro"}
	agents := map[string]string{"go": os.Args[0] + " agent " + file}
	if node, err := exec.LookPath("node"); err == nil {
		agents["node"] = node + ` -e 'const fs = require("fs"); const t = fs.readFileSync(0, "utf8"); fs.writeFileSync("` + file + `", t); ` +
			`require("child_process").execSync("true"); console.log("node", t)'`
	}
	where, err := exec.Command("python3", "-c", "import sys; print(sys.executable); print(sys.base_prefix)").Output()
	if python, prefix, _ := strings.Cut(strings.TrimSpace(string(where)), "\n"); err == nil {
		o.Paths = append(o.Paths, prefix+":ro", filepath.Dir(python)+":ro")
		agents["python"] = python + ` -c 'import json, os, subprocess, sys, tempfile, threading; t = sys.stdin.read(); open("` + file + `", "w").write(t); ` +
			`subprocess.run(["true"], check=True); tempfile.TemporaryFile(); print("python", t)'`
	}
	for name, command := range agents {
		_ = os.Remove(file)
		r := runScript(t, o, command)
		b, _ := os.ReadFile(file)
		if !strings.HasPrefix(r.out, name+" input") || !r.exit.OK() || string(b) != "input" {
			t.Errorf("%s: %+v wrote %q", name, r, b)
		}
	}
	if len(agents) < 3 {
		t.Skipf("there is no node or no python3 here, so only these were tried: %v", agents)
	}
}

// Private files that cannot be protected are reported, and refused where the sandbox is required.
func TestPrivateFilesThatCannotBeProtectedAreReported(t *testing.T) {
	for name, harm := range map[string]func(t *testing.T, o *sandbox.Options, dir string) string{
		"a hard link to a secret": func(t *testing.T, o *sandbox.Options, dir string) string {
			musttest.Do(t, os.Link(dir+"/secret", dir+"/work/mine"))
			o.Private = []string{dir + "/secret"}
			return dir + "/secret has another hard link, through which the agent may reach it; replace it by a copy: cp -p"
		},
		"a hard link to the config": func(t *testing.T, o *sandbox.Options, dir string) string {
			musttest.Do(t, os.Link(dir+"/secret", dir+"/elsewhere"))
			o.ReadOnly = []string{dir + "/secret"}
			return dir + "/secret has another hard link"
		},
		"the config in a chat's folder": func(t *testing.T, o *sandbox.Options, dir string) string {
			musttest.Do(t, os.MkdirAll(dir+"/work/users/1", 0o700))
			musttest.Do(t, os.WriteFile(dir+"/work/users/1/config.json", nil, 0o600))
			o.ReadOnly = []string{dir + "/work/users/1/config.json"}
			return "config.json is in the folder of a chat, whose agent may change it; move it out of the workspace, for example to " + dir
		},
		"a link in a chat's folder": func(t *testing.T, o *sandbox.Options, dir string) string {
			musttest.Do(t, os.MkdirAll(dir+"/work/users/1", 0o700))
			musttest.Do(t, os.Symlink(dir+"/secret", dir+"/work/users/1/secret"))
			o.Private = []string{dir + "/work/users/1/secret"}
			return "users/1/secret is in the folder of a chat"
		},
		"a secret that is named as a path for the agent": func(_ *testing.T, o *sandbox.Options, dir string) string {
			o.Private, o.Paths = []string{dir + "/secret"}, []string{dir + "/secret:ro"}
			return dir + "/secret is hidden from the agent, but terminal.sandboxPaths or the workspace is in it"
		},
	} {
		t.Run(name, func(t *testing.T) {
			o, dir := newLandlockOptions(t)
			want := harm(t, &o, dir)
			c, err := sandbox.New(o)
			if err != nil || !strings.Contains(strings.Join(c.MissingFeatures(), "\n"), want) {
				t.Errorf("%v, %q", err, c.MissingFeatures())
			}
			o.Required = true
			if _, err := sandbox.New(o); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("required: %v", err)
			}
		})
	}
}

// A config that the operator replaces while an agent runs loses its protecting mount, so a config
// in the workspace is reported even if it is protected.
func TestAConfigInTheWorkspaceIsReported(t *testing.T) {
	o, dir := newLandlockOptions(t)
	musttest.Do(t, os.WriteFile(dir+"/work/config.json", nil, 0o600))
	o.ReadOnly, o.Private = []string{dir + "/work/config.json"}, []string{dir + "/secret", dir + "/missing"}
	o.Required = true
	c, err := sandbox.New(o)
	if err != nil || len(c.MissingFeatures()) != 1 || !strings.Contains(c.MissingFeatures()[0], dir+"/work/config.json lies where the agent may write") || !strings.Contains(c.MissingFeatures()[0], "for example to "+dir) {
		t.Error(err, c.MissingFeatures())
	}
	o.ReadOnly = []string{dir + "/secret"}
	if c, err = sandbox.New(o); err != nil || len(c.MissingFeatures()) > 0 {
		t.Error(err, c.MissingFeatures())
	}
}

func TestLongListsOfFoldersAreAbbreviated(t *testing.T) {
	o, dir := newLandlockOptions(t)
	for i := range 9 {
		o.Private = append(o.Private, fmt.Sprintf("%s/work/%d/missing", dir, i))
	}
	c, err := sandbox.New(o)
	if err != nil || len(c.MissingFeatures()) != 1 || !strings.Contains(c.MissingFeatures()[0], dir+"/work/1 and 7 more is granted") {
		t.Error(err, c.MissingFeatures())
	}
}

// The file modes would allow the agent's user to read the private files.
func TestPrivateFilesAreAlsoProtectedFromAnotherUser(t *testing.T) {
	needRoot(t)
	newLandlockOptions(t)
	home, _ := newFoldersFor(t, nobody)
	work := home + "/work"
	musttest.Do(t, os.MkdirAll(work+"/open", 0o755))
	for _, name := range []string{"token", "open/token", "open/note"} {
		musttest.Do(t, os.WriteFile(filepath.Join(work, name), []byte(name), 0o666))
		musttest.Do(t, os.Chmod(filepath.Join(work, name), 0o666))
	}
	musttest.Do(t, os.Chmod(work+"/open", 0o777))
	o := sandbox.Options{
		Sandbox: sandbox.Landlock, User: "nobody", Workspace: work, Dirs: []string{work}, Required: true,
		Private: []string{work + "/token", work + "/open/token"},
	}
	r := runScript(t, o, "id -un; cat token open/token open/note; echo evil > token; mv open/token x; rm -f open/token; echo evil > open/token; mv open closed")
	if r.out != "nobody\nopen/note" {
		t.Errorf("%+v", r)
	}
	for _, name := range []string{"token", "open/token"} {
		if b, err := os.ReadFile(filepath.Join(work, name)); string(b) != name {
			t.Errorf("%s is %q, %v", name, b, err)
		}
	}
}

func makeLink(t *testing.T, to, dir string) string {
	t.Helper()
	at := filepath.Join(dir, "link")
	musttest.Do(t, os.Symlink(to, at))
	return at
}

func TestASandboxCommandIsPutInFrontOfTheProgram(t *testing.T) {
	for _, tc := range []struct {
		o      sandbox.Options
		script string
		want   string
	}{
		{sandbox.Options{Sandbox: "env 'A=b  c'"}, `echo "$A" "$0"`, "b  c /bin/sh"},
		{sandbox.Options{Sandbox: "env A=1", Limits: sandbox.Limits{Files: 77}}, `echo "$A"; ulimit -n`, "1\n77"},
		{sandbox.Options{Sandbox: "none"}, `cat`, "input"},
	} {
		if r := runScript(t, tc.o, tc.script); r.out != tc.want || !r.exit.OK() {
			t.Errorf("%+v: %+v", tc.o, r)
		}
	}
}

// The agent may have created a symbolic link below its own folder.
func TestNoLinkWithinTheAgentsFoldersOpensAnother(t *testing.T) {
	o, dir := newLandlockOptions(t)
	link, inTemp := filepath.Join(dir, "work", "link"), filepath.Join(t.TempDir(), "link")
	for _, at := range []string{link, inTemp} {
		musttest.Do(t, os.Symlink(dir, at))
	}
	o.Dirs = append(o.Dirs, link)
	o.Paths = []string{inTemp, link + ":ro"}
	if r := runScript(t, o, "cat "+dir+"/secret"); r.out != "" || r.exit.OK() {
		t.Errorf("%+v", r)
	}
}

// The agent's folder may be configured by a symbolic link, and a path below it by another path.
func TestNoLinkOpensAnotherFolderThoughTheAgentsOwnIsALink(t *testing.T) {
	o, dir := newLandlockOptions(t)
	sub, temp := filepath.Join(dir, "work", "sub"), filepath.Join(dir, "work", "temp")
	for _, at := range []string{sub, temp} {
		musttest.Do(t, os.Symlink("..", at))
	}
	o.Dirs = []string{makeLink(t, filepath.Join(dir, "work"), newFolderOutsideTemp(t))}
	t.Setenv("TMPDIR", temp)
	o.Paths = []string{makeLink(t, filepath.Join(sub, "work", ".."), newFolderOutsideTemp(t)), filepath.Join(sub, "secret") + ":ro", sub}
	if r := runScript(t, o, "cat "+dir+"/secret"); r.out != "" || r.exit.OK() {
		t.Errorf("%+v", r)
	}
	o.Paths = nil
	t.Setenv("TMPDIR", "")
	if r := runScript(t, o, "echo x > "+o.Dirs[0]+"/f && cat "+dir+"/work/f"); r.out != "x" {
		t.Errorf("%+v", r)
	}
}
