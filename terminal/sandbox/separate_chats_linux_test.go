package sandbox_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"nanobot/internal/musttest"
	"nanobot/terminal/process"
	"nanobot/terminal/sandbox"
)

// withoutMountNamespace reports whether the seccomp filter of this process forbids mount
// namespaces.
func withoutMountNamespace() bool { return os.Getenv("TEST_AGAIN") == "mount" }

// A sandbox must leave everything accessible that an agent needs.
func TestAnAgentInASandboxCanWork(t *testing.T) {
	undumpable(t)
	s := layouts["in the workspace"].build(t)
	c := musttest.Get(sandbox.New(s.o))(t)
	lacks := strings.Join(c.MissingFeatures(), "\n")
	if got := strings.Contains(lacks, "is granted to the agent entry by entry, because there are no mount namespaces here ("); got != withoutMountNamespace() {
		t.Errorf("it lacks %s", lacks)
	}
	chat := chatOf(t, c, s.o, "1")
	for _, tc := range []struct {
		script, out  string
		createsEntry bool // it creates an entry directly in the workspace, or lists the workspace
	}{
		{"cat data/note; echo new > data/note; cat data/note", "notenew", false},
		{"[ -e /proc/$$/fd/3 ] || echo closed", "closed", false}, // the helper's report
		{"mkdir data/d; mv data/note data/d/n; ls data/d; mv data/d/n data/note", "n", false},
		{"echo 'echo ho' > agent.sh; sh agent.sh", "ho", false},
		{"echo 'print(1)' > agent.sh; python3 agent.sh", "1", false},
		{"echo 'X = 2' > data/beside.py; echo 'import beside; print(beside.X)' > data/main.py; python3 data/main.py; rm -rf data/*.py data/__pycache__", "2", false},
		{"echo 'import beside; print(beside.X)' > agent.sh; python3 agent.sh && rm -rf __pycache__", "3", true}, // Python lists the folder
		{"cat config.json", "good", false},
		{"echo mine > users/1/f; cat users/1/f", "mine", false},
		{"[ $TMPDIR = $TMP ] && [ $TMPDIR = $TEMP ] && f=$(mktemp) && echo temp > $f && cat $f && basename $(dirname $f)", "temp\n.tmp", false},
		{"mkdir made && echo x > made/f && mv made/f top && cat top && ls", "x\nagent.sh\nbeside.py\nconfig.json\ndata\nmade\ntoken\ntop\nusers", true},
		{"python3 -c 'import multiprocessing as m; m.Lock(); print(1)'", "1", true},
		{"python3 -c 'import os,pty; m,s=pty.openpty(); os.write(s,b\"tty\"); print(os.read(m,9).decode())'", "tty", false},
		{"echo x > /tmp/f && cat $TMPDIR/f /tmp/f", "x\nx", true},
	} {
		r := runScriptFor(t, c, chat, tc.script)
		if tc.createsEntry && withoutMountNamespace() {
			if r.exit.OK() {
				t.Errorf("%s: without namespaces this is not to be had: %+v", tc.script, r)
			}
			continue
		}
		if !r.exit.OK() || r.out != tc.out {
			t.Errorf("%s: %+v", tc.script, r)
		}
	}
}

// snoopScript looks for files of another chat: $O is the folder of that chat, $P the PID of its
// agent.
const snoopScript = `ls $O $O/..; cat $O/f $O/.tmp/*; echo evil > $O/f; echo evil > $O/new; rm -f $O/f; mv $O x; mv $(dirname $O) y; cat /tmp/private* /var/tmp/private* /dev/shm/private*; ls /tmp /dev/shm
grep -rs hush $(dirname $O) /tmp /var/tmp /dev/shm
for p in $P $PPID; do cat /proc/$p/root$O/f /proc/$p/cwd/users/2/f /proc/$p/cwd/f /proc/$p/environ /proc/$p/fd/*; ls /proc/$p/root$O /proc/$p/fd; echo evil > /proc/$p/root$O/new; done
unshare -Urm sh -c "umount -l $(dirname $O); cat $O/f"; umount -l $(dirname $O); umount -l /tmp; cat $O/f /tmp/private
python3 -c 'import ctypes,sys; l=ctypes.CDLL(None); print("traced" if l.ptrace(16,int(sys.argv[1]),0,0)==0 else "not")' $P
`

func TestNoChatSeesAnothersFiles(t *testing.T) {
	undumpable(t)
	for _, user := range []string{"", "nobody"} {
		for _, kind := range []string{sandbox.Landlock, ""} {
			if user == "" && kind == "" || user != "" && (os.Geteuid() != 0 || withoutMountNamespace() && kind == "") {
				continue // chats are not separated with these options
			}
			t.Run(user+" "+kind, func(t *testing.T) { checkChatsSeparated(t, user, kind) })
		}
	}
}

func checkChatsSeparated(t *testing.T, user, kind string) {
	t.Helper()
	newLandlockOptions(t)
	var work string
	if user == "" {
		work = filepath.Join(newFolderOutsideTemp(t), "work")
	} else {
		home, _ := newFoldersFor(t, nobody)
		work = filepath.Join(home, "work")
	}
	musttest.Do(t, os.Mkdir(work, 0o755))
	o := sandbox.Options{Sandbox: kind, User: user, Workspace: work, Dirs: []string{work}, Shell: "/bin/sh"}
	c := musttest.Get(newRequired(o))(t)
	one, two := chatOf(t, c, o, "1"), chatOf(t, c, o, "2")
	if one.Temp == two.Temp || one.Temp == "" {
		t.Fatalf("%+v, %+v", one, two)
	}
	other := musttest.Get(process.Start(c.Apply(process.Options{
		Args: []string{"/bin/sh", "-c", "echo hush > f; echo hush > .tmp/f; for d in /tmp /var/tmp /dev/shm; do echo hush > $d/private$$; done 2>/dev/null; exec 5<f; echo up; read -r line"},
		Dir:  two.Dir, Env: append(os.Environ(), "SECRET=hush"), KeepInput: true, StderrTail: 1 << 10,
	}, two)))(t)
	defer time.AfterFunc(5*time.Minute, other.Kill).Stop()
	if b := make([]byte, 3); true {
		if n, err := other.Stdout.Read(b); string(b[:n]) != "up\n" {
			other.Kill()
			t.Fatalf("%q, %v, %v", b[:n], err, other.Wait().Stderr)
		}
	}
	r := runScriptFor(t, c, one, "exec 2>&1; O="+two.Dir+" P="+strconv.Itoa(other.Pid())+"\n"+snoopScript+"echo DONE")
	other.Kill()
	other.Wait()
	if !strings.HasSuffix(r.out, "DONE") || strings.Contains(r.out, "hush") || strings.Contains(r.out, "traced") || strings.Contains(r.out, "private"+strconv.Itoa(other.Pid())) {
		t.Errorf("%s", r.out)
	}
	for path, want := range map[string]string{"f": "hush\n", ".tmp/f": "hush\n", "new": ""} {
		if b, _ := os.ReadFile(filepath.Join(two.Dir, path)); string(b) != want {
			t.Errorf("%s is %q:\n%s", path, b, r.out)
		}
	}
}

func TestChatsAreSeparatedWithoutNamespacesAndWithoutRoot(t *testing.T) {
	newLandlockOptions(t)
	for _, test := range []string{"TestNoChatSeesAnothersFiles", "TestAnAgentInASandboxCanWork"} {
		runTestAgain(t, test, "mount", nil)
		if os.Geteuid() == 0 {
			runTestAgain(t, test, "nothing", nobody)
			runTestAgain(t, test, "mount", nobody)
		}
	}
}

// File modes cannot separate chats whose agents run as the same user.
func TestChatsOfOneUserNeedNamespaces(t *testing.T) {
	needRoot(t)
	dir := openDir(t)
	o := sandbox.Options{User: "nobody", Workspace: dir, Dirs: []string{dir}}
	c := musttest.Get(sandbox.New(o))(t)
	const lack = "terminal.user: chats are not kept apart"
	if got := strings.Contains(strings.Join(c.MissingFeatures(), "\n"), lack); got != withoutMountNamespace() {
		t.Errorf("%v", c.MissingFeatures())
	}
	o.Required = true
	if _, err := sandbox.New(o); (err != nil && strings.Contains(err.Error(), lack)) != withoutMountNamespace() {
		t.Errorf("%v", err)
	}
	if !withoutMountNamespace() {
		runTestAgain(t, "TestChatsOfOneUserNeedNamespaces", "mount", nil)
	}
}

// A sandbox command for agents of one user must separate their processes.
func TestASandboxCommandMustSeparateProcessesOfChats(t *testing.T) {
	needRoot(t)
	dir := openDir(t)
	for kind, want := range map[string]bool{
		"env": true, "unshare --net": true, "": false, sandbox.Landlock: false, "unshare -pf": false, "unshare --pid --fork": false,
	} {
		o := sandbox.Options{User: "nobody", Sandbox: kind, Workspace: dir, Dirs: []string{dir}}
		c := musttest.Get(sandbox.New(o))(t)
		if got := strings.Contains(strings.Join(c.MissingFeatures(), "\n"), "through /proc"); got != want {
			t.Errorf("%q lacks %v", kind, c.MissingFeatures())
		}
		o.Required = true
		if _, err := sandbox.New(o); want != (err != nil && strings.Contains(err.Error(), "through /proc")) {
			t.Errorf("%q: %v", kind, err)
		}
	}
}

func TestTemporaryFilesOfAnEarlierAgentAreRemoved(t *testing.T) {
	o, dir := newLandlockOptions(t)
	c := musttest.Get(sandbox.New(o))(t)
	chat := chatOf(t, c, o, "1")
	musttest.Do(t, os.WriteFile(chat.Temp+"/old", nil, 0o600))
	for _, empty := range []bool{false, true} {
		musttest.Get(c.PrepareChat(chat.Dir, nil, empty))(t)
		if _, err := os.Stat(chat.Temp + "/old"); (err != nil) != empty {
			t.Errorf("empty %v: %v", empty, err)
		}
	}
	// An agent may have replaced the folder by a symbolic link.
	musttest.Do(t, os.Remove(chat.Temp))
	musttest.Do(t, os.Symlink(dir, chat.Temp))
	musttest.Get(c.PrepareChat(chat.Dir, nil, false))(t)
	if info, err := os.Lstat(chat.Temp); err != nil || !info.IsDir() {
		t.Errorf("%v, %v", info, err)
	}
	if _, err := os.Stat(dir + "/secret"); err != nil {
		t.Error(err)
	}
}
