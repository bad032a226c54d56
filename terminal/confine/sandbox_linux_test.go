package confine_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"nanobot/terminal/confine"
	"nanobot/terminal/process"
)

// landlocked returns options for a sandbox of the kernel around a new folder.
func landlocked(t *testing.T) (confine.Options, string) {
	t.Helper()
	if _, err := confine.New(confine.Options{Sandbox: confine.Landlock, Required: true}); err != nil {
		t.Skip(err)
	}
	dir := outside(t)
	work := filepath.Join(dir, "work")
	if err := os.Mkdir(work, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "secret"), []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	return confine.Options{Sandbox: confine.Landlock, Dirs: []string{work}}, dir
}

func TestLandlockLetsNothingOutOfTheFoldersOfTheAgent(t *testing.T) {
	o, dir := landlocked(t)
	user := filepath.Join(dir, "user")
	if err := os.Mkdir(user, 0o700); err != nil {
		t.Fatal(err)
	}
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
		r := try(t, o, tc.script)
		if tc.out == "" && (r.exit.OK() || r.out != "") || tc.out != "" && (!r.exit.OK() || r.out != tc.out) {
			t.Errorf("%s: out %q, err %q, exit %+v", tc.script, r.out, r.err, r.exit)
		}
	}
	if b, err := os.ReadFile(dir + "/secret"); string(b) != "secret" {
		t.Errorf("the secret is %q: %v", b, err)
	}
}

// What is on a disk is there for root to read, past all files. Where no disk is, another device shows the same.
func TestLandlockLetsNobodyOpenADevice(t *testing.T) {
	o, _ := landlocked(t)
	disks, _ := filepath.Glob("/dev/[hsv]d[a-z]")
	tried := 0
	for _, device := range append(disks, "/dev/nvme0n1", "/dev/mem", "/dev/fuse", "/dev/kvm", "/dev/loop-control") {
		f, err := os.Open(device)
		if err != nil {
			continue
		}
		_ = f.Close()
		tried++
		if r := try(t, o, "exec 3< "+device+"; echo open"); r.out != "" || r.exit.OK() {
			t.Errorf("%s: %+v", device, r)
		}
	}
	if tried == 0 {
		t.Skip("there is no device that we could open ourselves")
	}
}

func TestLandlockLetsNoSocketOutThatHasNoPath(t *testing.T) {
	o, dir := landlocked(t)
	if c, err := confine.New(o); err != nil || strings.Contains(strings.Join(c.Lacks(), ""), "sockets") {
		t.Skip("this kernel cannot", err)
	}
	for address, answer := range map[string]string{"@nanobot-" + filepath.Base(dir): "operation not permitted", dir + "/work/socket": "dial <nil>"} {
		l, err := net.Listen("unix", address)
		if err != nil {
			t.Fatal(err)
		}
		r := try(t, o, os.Args[0]+" dial "+address)
		_ = l.Close()
		if !strings.HasSuffix(r.out, answer) {
			t.Errorf("%s: %+v", address, r)
		}
	}
}

// Powers come to a program by being root's, and by being handed on.
func TestLandlockTakesAwayThePowersThatAreHandedOn(t *testing.T) {
	needRoot(t)
	o, _ := landlocked(t)
	for _, user := range []uint32{0, 65534} {
		c, err := confine.New(o)
		if err != nil {
			t.Fatal(err)
		}
		p := c.Apply(process.Options{Args: []string{"/bin/sh", "-c", "grep Cap /proc/self/status"}})
		cmd := exec.Cmd{Path: p.Path, Args: p.Args, Dir: "/", SysProcAttr: &syscall.SysProcAttr{
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

func TestPathsThatAreNamedAreOpen(t *testing.T) {
	o, dir := landlocked(t)
	for _, name := range []string{"more", "readable"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name, "f"), []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	o.Paths = []string{dir + "/more", dir + "/readable:ro", dir + "/secret", dir + "/missing"}
	r := try(t, o, "cd "+dir+"; cat more/f readable/f secret; echo x > more/g; echo y > secret; echo z > readable/g")
	if r.out != "morereadablesecret" || r.exit.OK() {
		t.Errorf("%+v", r)
	}
	if r := try(t, o, "cat "+dir+"/more/g "+dir+"/secret"); r.out != "x\ny" {
		t.Errorf("%+v", r)
	}
}

func TestAgentsOfThreeLanguagesWorkUnderLandlock(t *testing.T) {
	o, dir := landlocked(t)
	file := filepath.Join(dir, "work", "f")
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
		r := try(t, o, command)
		b, _ := os.ReadFile(file)
		if !strings.HasPrefix(r.out, name+" input") || !r.exit.OK() || string(b) != "input" {
			t.Errorf("%s: %+v wrote %q", name, r, b)
		}
	}
	if len(agents) < 3 {
		t.Skipf("there is no node or no python3 here, so only these were tried: %v", agents)
	}
}

func TestTheConfigInTheAgentsFolderIsWarnedOf(t *testing.T) {
	o, dir := landlocked(t)
	o.Private = []string{dir + "/secret", dir + "/missing"}
	c, err := confine.New(o)
	if err != nil || len(c.Lacks()) > 0 {
		t.Fatal(err, c.Lacks())
	}
	inTemp := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(inTemp, []byte("key"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		private string
		dirs    []string
		paths   []string
	}{
		"in a folder of its own":        {dir + "/secret", []string{dir}, nil},
		"in one that is named":          {dir + "/secret", nil, []string{dir}},
		"in one that is named to read":  {dir + "/secret", nil, []string{dir + ":ro"}},
		"one of the system's":           {"/etc/passwd", nil, nil},
		"in the temp folder":            {inTemp, nil, nil},
		"a link to one of the system's": {link(t, "/etc/passwd", dir), nil, nil},
		"not made yet":                  {dir + "/work/state/nanobot.db", nil, nil},
		"not made yet, and elsewhere":   {link(t, dir+"/work/none", t.TempDir()), nil, nil},
	} {
		o := o
		o.Private, o.Dirs, o.Paths = []string{tc.private}, append(tc.dirs, o.Dirs...), tc.paths
		if c, err = confine.New(o); err != nil || len(c.Lacks()) != 1 || !strings.Contains(c.Lacks()[0], tc.private+",") {
			t.Error(name, err, c.Lacks())
		}
		o.Required = true
		if _, err := confine.New(o); err == nil || !strings.Contains(err.Error(), tc.private) {
			t.Errorf("%s, required: %v", name, err)
		}
	}
}

func TestOfManyPrivateFilesOnlySomeAreNamed(t *testing.T) {
	o, dir := landlocked(t)
	for i := range 9 {
		o.Private = append(o.Private, fmt.Sprintf("%s/work/%d", dir, i))
	}
	c, err := confine.New(o)
	if err != nil || len(c.Lacks()) != 1 || !strings.Contains(c.Lacks()[0], dir+"/work/2 and 6 more, because") {
		t.Error(err, c.Lacks())
	}
}

// The sandbox and the files' modes both have to let the user come to a private file.
func TestPrivateFilesThatAreOpenToTheUserAreWarnedOf(t *testing.T) {
	needRoot(t)
	o, _ := landlocked(t)
	dir := openDir(t)
	o.Dirs, o.User = []string{dir}, "nobody"
	for name, mode := range map[string]os.FileMode{"open": 0o644, "ours": 0o600, "closed/open": 0o644, "folder/open": 0o644} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(filepath.Join(dir, "closed"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, seen := range map[string]bool{"open": true, "ours": false, "closed": false, "closed/open": false, "folder": true, "folder/none": false} {
		o.Private = []string{filepath.Join(dir, name)}
		c, err := confine.New(o)
		if err != nil || (len(c.Lacks()) == 1) != seen {
			t.Error(name, err, c.Lacks())
		}
	}
}

func link(t *testing.T, to, dir string) string {
	t.Helper()
	at := filepath.Join(dir, "link")
	if err := os.Symlink(to, at); err != nil {
		t.Fatal(err)
	}
	return at
}

func TestAnOwnCommandIsPutInFront(t *testing.T) {
	for _, tc := range []struct {
		o      confine.Options
		script string
		want   string
	}{
		{confine.Options{Sandbox: "env 'A=b  c'"}, `echo "$A" "$0"`, "b  c /bin/sh"},
		{confine.Options{Sandbox: "env A=1", Limits: confine.Limits{Files: 77}}, `echo "$A"; ulimit -n`, "1\n77"},
		{confine.Options{Sandbox: "none"}, `cat`, "input"},
	} {
		if r := try(t, tc.o, tc.script); r.out != tc.want || !r.exit.OK() {
			t.Errorf("%+v: %+v", tc.o, r)
		}
	}
}

// What is below a folder of the agent's may be a link by now that the agent has put there.
func TestNoLinkWithinTheAgentsFoldersOpensAnother(t *testing.T) {
	o, dir := landlocked(t)
	link, inTemp := filepath.Join(dir, "work", "link"), filepath.Join(t.TempDir(), "link")
	for _, at := range []string{link, inTemp} {
		if err := os.Symlink(dir, at); err != nil {
			t.Fatal(err)
		}
	}
	o.Dirs = append(o.Dirs, link)
	o.Paths = []string{inTemp, link + ":ro"}
	if r := try(t, o, "cat "+dir+"/secret"); r.out != "" || r.exit.OK() {
		t.Errorf("%+v", r)
	}
}

// The agent's folder may be known by a link, and a path below it by another way.
func TestNoLinkOpensAnotherFolderThoughTheAgentsOwnIsALink(t *testing.T) {
	o, dir := landlocked(t)
	sub, temp := filepath.Join(dir, "work", "sub"), filepath.Join(dir, "work", "temp")
	for _, at := range []string{sub, temp} {
		if err := os.Symlink("..", at); err != nil {
			t.Fatal(err)
		}
	}
	o.Dirs = []string{link(t, filepath.Join(dir, "work"), outside(t))}
	t.Setenv("TMPDIR", temp)
	o.Paths = []string{link(t, filepath.Join(sub, "work", ".."), outside(t)), filepath.Join(sub, "secret") + ":ro", sub}
	if r := try(t, o, "cat "+dir+"/secret"); r.out != "" || r.exit.OK() {
		t.Errorf("%+v", r)
	}
	o.Paths = nil
	t.Setenv("TMPDIR", "")
	if r := try(t, o, "echo x > "+o.Dirs[0]+"/f && cat "+dir+"/work/f"); r.out != "x" {
		t.Errorf("%+v", r)
	}
}
