package sandbox_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"nanobot/internal/killtest"
	"nanobot/internal/musttest"
	"nanobot/terminal/sandbox"
)

// layout has the paths of the gateway's own files.
type layout struct {
	config, token, state string            // relative to the parent of the workspace, "work"
	links                map[string]string // symbolic links, relative to the same folder
	named                string            // the path by which the gateway knows the config, if different
	namedToken           string
}

// layouts are locations at which agents could once read or change the files.
var layouts = map[string]layout{
	"in the workspace":                       {config: "work/config.json", token: "work/token", state: "work/.nanobot"},
	"in a subfolder":                         {config: "work/sub/deep/config.json", token: "work/sub/deep/token", state: "work/sub/state"},
	"behind a link of the workspace":         {config: "real/config.json", token: "real/token", state: "real/state", links: map[string]string{"work/config.json": "../real/config.json", "work/token": "../real/token"}, named: "work/config.json", namedToken: "work/token"},
	"behind a link within the workspace":     {config: "work/conf/real.json", token: "work/conf/token", state: "work/.nanobot", links: map[string]string{"work/config.json": "conf/real.json"}, named: "work/config.json"},
	"in a folder behind a link":              {config: "real/config.json", token: "real/token", state: "real/state", links: map[string]string{"work/sub/conf": "../../real"}, named: "work/sub/conf/config.json", namedToken: "work/sub/conf/token"},
	"beside the workspace":                   {config: "config.json", token: "token", state: "state"},
	"in a folder that can be read":           {config: "readable/config.json", token: "readable/deep/token", state: "readable/state"},
	"in another folder that can be written":  {config: "more/conf/config.json", token: "more/token", state: "more/state"},
	"in the workspace, which a link goes to": {config: "work/config.json", token: "work/sub/token", state: "work/.nanobot"},
}

// surroundings are the folders and options of a sandbox in a layout.
type surroundings struct {
	layout
	dir           string
	o             sandbox.Options
	config, token string // as the gateway knows them
}

func (l layout) build(t *testing.T) surroundings {
	t.Helper()
	o, dir := newLandlockOptions(t)
	s := surroundings{layout: l, dir: dir, o: o}
	for _, d := range []string{"work/data", "readable/deep", "more/conf"} {
		musttest.Do(t, os.MkdirAll(filepath.Join(dir, d), 0o700))
	}
	for path, text := range map[string]string{l.config: "good", l.token: "hush", l.state + "/nanobot.db": "hush", "work/data/note": "note", "work/agent.sh": "echo hi", "work/beside.py": "X = 3"} {
		path = filepath.Join(dir, path)
		musttest.Do(t, os.MkdirAll(filepath.Dir(path), 0o700))
		musttest.Do(t, os.WriteFile(path, []byte(text), 0o600))
	}
	for at, to := range l.links {
		musttest.Do(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, at)), 0o700))
		musttest.Do(t, os.Symlink(to, filepath.Join(dir, at)))
	}
	s.config, s.token = filepath.Join(dir, l.config), filepath.Join(dir, l.token)
	if l.named != "" {
		s.config = filepath.Join(dir, l.named)
	}
	if l.namedToken != "" {
		s.token = filepath.Join(dir, l.namedToken)
	}
	s.o.Paths = []string{dir + "/readable:ro", dir + "/more"}
	s.o.Private, s.o.ReadOnly, s.o.State = []string{s.token, filepath.Join(dir, l.state, "nanobot.db")}, []string{s.config}, filepath.Join(dir, l.state)
	return s
}

// attacks are scripts of an agent. $C is the config, $T a file with a secret, $S the state folder
// and $W the workspace. A script prints the secrets that it can read, and writes "evil" to the
// config.
var attacks = map[string]string{
	"it writes":             `for f in $C /proc/self/root$C /proc/$$/root$C /proc/$PPID/root$C /proc/1/root$C /proc/self/cwd/../../../../../../../../$C; do sed -i s/good/evil/ $f; echo evil > $f; echo evil >> $f; printf evil | dd of=$f conv=notrunc; truncate -s 0 $f; chmod 666 $f; done`,
	"it replaces":           `echo evil > evil || echo evil > data/evil; for e in evil data/evil; do mv -f $e $C; cp -f $e $C; ln -f $e $C; install $e $C; done; rm -f $C; echo evil > $C; ln -sf $PWD/data/evil $C`,
	"it moves the config":   `mv $C $C.old; mv $C data/x; echo evil > $C; [ -e data/x ] && echo evil > data/x; mv -T data $C`,
	"it links":              `ln $C hard; ln $C data/hard; ln -P $C $TMPDIR/hard; for f in hard data/hard $TMPDIR/hard; do echo evil > $f; done; ln $T data/t; ln $T $TMPDIR/t; cat data/t $TMPDIR/t; cp -l $T data/u; cat data/u`,
	"it moves folders":      `d=$(dirname $C); while [ $d != / ]; do if mv $d $d.moved; then mkdir -p $(dirname $C); echo evil > $C; fi; d=$(dirname $d); done; mv $S data/s; mv $S $S.x; mkdir -p $S; cat data/s/* $S.x/*; echo evil > $S/evil`,
	"it swaps folders":      `mkdir data/swap; echo evil > data/swap/$(basename $C); python3 -c 'import ctypes,os,sys; r=ctypes.CDLL(None).renameat2; r(-100,sys.argv[1].encode(),-100,sys.argv[2].encode(),2)' data/swap $(dirname $C)`,
	"it holds a folder":     `cd $(dirname $C); exec 9<.; exec 8<$W; cd /; echo evil > /proc/self/fd/9/$(basename $C); cat /proc/self/fd/9/$(basename $T); rm -f /proc/self/fd/9/$(basename $C); echo evil > /proc/self/fd/9/$(basename $C); mv /proc/self/fd/8/sub /proc/self/fd/8/bus`,
	"it reads":              `for f in $T $S/nanobot.db; do cat $f; cat < $f; tail $f; cat /proc/self/root$f /proc/$PPID/root$f /proc/1/root$f; cp $f data/copy && cat data/copy; ln -s $f data/link; cat data/link; tar c $f; done; cat $S/*; grep -r hush $W $S; ls $S`,
	"it unmounts":           `for f in $C $T $S $(dirname $C) $W $W/users /tmp; do umount $f; umount -l $f; mount -o remount,rw $f; mount -o remount,rw,bind $f; done; echo evil > $C; cat $T $S/*`,
	"it mounts":             `mkdir data/m; mount --bind $W data/m; mount --rbind / data/m; mount -t tmpfs x $(dirname $C); echo evil > data/m/config.json; cat data/m/token data/m/.nanobot/*`,
	"it makes namespaces":   `for u in "-m" "-Urm" "-Ur --mount-proc -pf" "-Um --map-current-user"; do unshare $u sh -c "umount -l $C; umount -l $T; umount -l $S; echo evil > $C; cat $T $S/*; mkdir -p data/n; mount --bind $W data/n; cat data/n/token"; done`,
	"it enters namespaces":  `for p in 1 $PPID; do nsenter -t $p -m sh -c "echo evil > $C; cat $T"; nsenter -t $p -U -m --preserve-credentials sh -c "echo evil > $C; cat $T"; chroot /proc/$p/root sh -c "echo evil > $C; cat $T"; done`,
	"it looks at processes": `for p in $(ls -d /proc/[0-9]* | tail -n 6) /proc/1 /proc/$PPID; do for d in root$(dirname $C) cwd; do echo evil > $p/$d/$(basename $C); cat $p/$d/$(basename $T); done; for f in $p/fd/*; do case $(readlink $f) in *token*|*nanobot.db*) cat $f;; esac; done; done`,
	"it goes by handles":    `python3 -c 'import ctypes,os,sys; l=ctypes.CDLL(None,use_errno=True); h=ctypes.create_string_buffer(136); h[0:4]=(128).to_bytes(4,"little"); m=ctypes.c_int(); l.name_to_handle_at(-100,sys.argv[1].encode(),h,ctypes.byref(m),0); f=os.open(sys.argv[2],0); d=l.open_by_handle_at(f,h,0); print(os.read(d,99) if d>=0 else "no")' $T $W`,
}

// TestAnAgentInASandboxCannotChangeTheConfigNorReadSecrets tries every layout, with NANOBOT_LONG=1
// in all four environments: with and without root, with and without namespaces. Briefly, half of
// the layouts are tried in each, so that each layout meets root, another user, and both kinds of
// sandbox.
func TestAnAgentInASandboxCannotChangeTheConfigNorReadSecrets(t *testing.T) {
	undumpable(t)
	asRoot, again := os.Geteuid() == 0, os.Getenv("TEST_AGAIN")
	startedByRoot := asRoot || os.Getenv("TEST_OUTSIDE") != ""
	for i, where := range slices.Sorted(maps.Keys(layouts)) {
		if odd := i%2 == 1; startedByRoot && !killtest.IsLong() && odd != (asRoot == (again == "mount")) {
			continue
		}
		l := layouts[where]
		t.Run(where, func(t *testing.T) {
			s := l.build(t)
			if strings.Contains(where, "which a link goes to") {
				musttest.Do(t, os.Symlink("work", s.dir+"/alias"))
				s.o.Workspace, s.o.Dirs = s.dir+"/alias", []string{s.dir + "/alias"}
			}
			s.attack(t)
		})
	}
}

// attack runs every script, each in a subshell in the workspace, and checks the files of the
// gateway.
func (s surroundings) attack(t *testing.T) {
	t.Helper()
	c := musttest.Get(newRequired(s.o))(t)
	script := "C=" + s.config + " T=" + s.token + " S=" + s.o.State + " W=$PWD; exec 2>&1\n"
	for name, attack := range attacks {
		script += "echo; echo == " + name + "\n( " + attack + " )\n" + `grep evil $C && echo CHANGED` + "\n"
	}
	r := runScriptFor(t, c, chatOf(t, c, s.o, "1"), script+"echo DONE")
	if !strings.HasSuffix(r.out, "DONE") {
		t.Fatalf("the attack did not run: %+v", r)
	}
	if strings.Contains(r.out, "hush") {
		t.Errorf("it read a secret:\n%s", r.out)
	}
	for path, want := range map[string]string{s.config: "good", s.token: "hush", s.o.State + "/nanobot.db": "hush"} {
		if b, err := os.ReadFile(path); string(b) != want {
			t.Errorf("%s is %q now, %v:\n%s", path, b, err, r.out)
		}
	}
	if _, err := os.Lstat(s.o.State + "/evil"); err == nil {
		t.Errorf("it wrote to the state:\n%s", r.out)
	}
}

// The hardened units forbid namespaces and mounts.
func TestTheConfigIsAlsoSafeWithoutNamespaces(t *testing.T) {
	newLandlockOptions(t)
	runTestAgain(t, "TestAnAgentInASandboxCannotChangeTheConfigNorReadSecrets", "mount", nil)
}

var nobody = &syscall.Credential{Uid: 65534, Gid: 65534}

func TestTheConfigIsSafeFromAnAgentOfTheGatewaysOwnUser(t *testing.T) {
	newLandlockOptions(t)
	needRoot(t)
	for _, filter := range []string{"nothing", "mount"} {
		runTestAgain(t, "TestAnAgentInASandboxCannotChangeTheConfigNorReadSecrets", filter, nobody)
	}
}

// undumpable makes this process not dumpable, as the gateway is. Its children must still be able to
// create namespaces.
func undumpable(t *testing.T) {
	t.Helper()
	musttest.Do(t, unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0))
}
