package main

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"nanobot/config"
)

// openFolder is one where others than root may look.
func openFolder(t *testing.T) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	dir, err := os.MkdirTemp("/tmp", "open-folder-")
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	must(t, os.Chmod(dir, 0o755))
	return dir
}

func TestRootReliesOnlyOnPathsThatNobodyElseCanChange(t *testing.T) {
	dir := openFolder(t)
	at := func(name string) string { return filepath.Join(dir, name) }
	folder := func(name string, uid int, mode os.FileMode) {
		must(t, os.MkdirAll(at(name), 0o755))
		must(t, os.Chmod(at(name), mode))
		must(t, os.Chown(at(name), uid, uid))
	}
	link := func(to, name string, uid int) {
		must(t, os.Symlink(to, at(name)))
		must(t, os.Lchown(at(name), uid, uid))
	}
	folder("roots/inner", 0, 0o755)
	folder("theirs", stranger, 0o775)
	folder("theirs/inner", stranger, 0o755)
	folder("theirs/roots", 0, 0o755)
	folder("group/inner", 0, 0o755)
	must(t, os.Chmod(at("group"), 0o775))
	folder("sticky/inner", 0, 0o755)
	must(t, os.Chmod(at("sticky"), 0o777|os.ModeSticky))
	link(at("roots"), "link", 0)
	link("roots/../theirs/inner", "relative", 0)
	link(at("roots"), "sticky/link", stranger)
	link(at("roots"), "theirs/link", stranger)
	link("theirs/link", "chain", 0) // from root to root, by way of somebody else
	link("loop", "loop", 0)
	const no = -1
	for path, want := range map[string]int{
		"roots/inner": 0, "theirs/inner": stranger, "link/inner": 0, "relative": stranger, "sticky/inner": 0, "roots/new/er": 0, "theirs/new": stranger,
		"theirs/roots": no, "theirs/roots/new": no, "group/inner": no, "group": no, "sticky": no, "sticky/new": no, "sticky/link/inner": no, "theirs/link/inner": no, "chain/inner": no, "loop/x": no,
		"theirs/link/../roots/inner": no, // which is not roots/inner by the way that a program goes
	} {
		h, err := trustee(dir + "/" + path)
		if want == no && err == nil || want != no && (err != nil || h.uid != want || h.there == strings.Contains(path, "new")) {
			t.Errorf("%s: %+v, %v", path, h, err)
		}
	}
	t.Chdir(at("theirs"))
	if h, err := trustee("inner"); err != nil || h.uid != stranger {
		t.Errorf("from there: %+v, %v", h, err)
	}
}

func TestRootDoesNothingThatSomebodyElsesConfigSays(t *testing.T) {
	for name, harm := range map[string]func(t *testing.T, dir string){
		"of another user": func(t *testing.T, dir string) {
			must(t, os.Chown(filepath.Join(dir, "config.json"), stranger, stranger))
		},
		"that others can write":                func(t *testing.T, dir string) { must(t, os.Chmod(filepath.Join(dir, "config.json"), 0o666)) },
		"in their folder":                      func(t *testing.T, dir string) { must(t, os.Chown(dir, stranger, stranger)) },
		"in a folder that others can write to": func(t *testing.T, dir string) { must(t, os.Chmod(dir, 0o775)) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := openFolder(t)
			server, err := net.Listen("tcp", "127.0.0.1:0")
			must(t, err)
			defer server.Close()
			asked := make(chan struct{})
			go func() {
				if c, err := server.Accept(); err == nil {
					close(asked)
					_ = c.Close()
				}
			}()
			must(t, os.WriteFile(filepath.Join(dir, "token"), []byte("123456:roots-own"), 0o600))
			must(t, os.WriteFile(filepath.Join(dir, "config.json"), []byte(`{"workspace": "work", "terminal": {"command": "touch `+dir+`/ran"}, "gateway": {"stateDir": "`+dir+`/made"},
				"channels": {"web": {"enabled": true}, "telegram": {"enabled": true, "token": "file:token", "apiBase": "http://`+server.Addr().String()+`"}}, "http": {"listen": "127.0.0.1:8080"}}`), 0o644))
			must(t, os.Mkdir(filepath.Join(dir, "work"), 0o755))
			harm(t, dir)
			for _, args := range [][]string{{"doctor"}, {"pair", "--list"}, {"link"}} {
				cmd := exec.Command(os.Args[0], append(args, "--config", filepath.Join(dir, "config.json"))...)
				cmd.Env = append(plainEnviron(), "NANOBOT_TEST_MAIN=1")
				out, err := cmd.CombinedOutput()
				if err == nil || !strings.Contains(string(out), "config.json belongs to") && !strings.Contains(string(out), "could put anything there") {
					t.Errorf("%v: %v\n%s", args, err, out)
				}
			}
			for _, made := range []string{"ran", "made"} {
				if _, err := os.Lstat(filepath.Join(dir, made)); err == nil {
					t.Errorf("there is %s", made)
				}
			}
			select {
			case <-asked:
				t.Error("the server was asked")
			default:
			}
		})
	}
}

// In a container everybody is root, also where the folder comes from outside.
func TestRootRunsAnAgentInAFolderWhereNoDaemonOfOthersHasBeen(t *testing.T) {
	for _, owner := range []int{0, stranger} {
		dir := openFolder(t)
		must(t, os.WriteFile(filepath.Join(dir, "config.json"), []byte(`{"terminal": {"command": "id -u"}}`), 0o644))
		must(t, os.Chown(dir, owner, owner))
		must(t, os.Chown(filepath.Join(dir, "config.json"), owner, owner))
		for _, args := range [][]string{{"chat"}, {"run", "hello"}} {
			cmd := exec.Command(os.Args[0], append(args, "--config", filepath.Join(dir, "config.json"))...)
			cmd.Env = append(plainEnviron(), "NANOBOT_TEST_MAIN=1")
			cmd.Stdin = strings.NewReader("hello\n")
			if out, err := cmd.CombinedOutput(); err != nil || strings.TrimSpace(string(out)) != "0" {
				t.Errorf("%v of %d: %v, %s", args, owner, err, out)
			}
		}
	}
}

func TestRootDoesNotRunTheAgentOfABotThatIsAnothers(t *testing.T) {
	dir := openFolder(t)
	path := filepath.Join(dir, "config.json")
	for _, name := range []string{"state", "state/workspace"} {
		must(t, os.Mkdir(filepath.Join(dir, name), 0o700))
		must(t, os.Chown(filepath.Join(dir, name), nobody, nobody))
	}
	must(t, os.WriteFile(path, []byte(`{"workspace": "`+dir+`/state/workspace", "gateway": {"stateDir": "`+dir+`/state"}, "terminal": {"command": "touch ran"}}`), 0o644))
	for _, args := range [][]string{{"run", "hello"}, {"chat"}} {
		cmd := exec.Command(os.Args[0], append(args, "--config", path)...)
		cmd.Env = append(plainEnviron(), "NANOBOT_TEST_MAIN=1")
		cmd.Stdin = strings.NewReader("hello\n")
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), "runuser -u nobody -- nanobot") {
			t.Errorf("%v: %v\n%s", args, err, out)
		}
	}
	if entries, _ := os.ReadDir(filepath.Join(dir, "state/workspace")); len(entries) > 0 {
		t.Errorf("the workspace has %v", entries)
	}
}

// Where systemd runs, a config in etc/nanobot is a service's, whose state is in var/lib. Where it does not, as in a container, it is a config as any.
func TestAConfigInEtcIsAServicesOnlyWhereSystemdRuns(t *testing.T) {
	t.Setenv("STATE_DIRECTORY", "") // enter sets it, and the test puts it back
	t.Setenv("CREDENTIALS_DIRECTORY", "")
	dir := openFolder(t)
	path := filepath.Join(dir, "etc/nanobot/faq/config.json")
	must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(t, os.WriteFile(path, []byte(`{"terminal": {"command": "true"}}`), 0o644))
	look := func() (state string, err error) {
		must(t, os.Unsetenv("STATE_DIRECTORY"))
		b, ok := findBot(path)
		if !ok {
			t.Fatal("it is no bot's config")
		}
		b.enter()
		cfg, err := config.Load(path, os.Environ())
		must(t, err)
		return cfg.Gateway.StateDir, ownAgent(cfg)
	}
	beside := filepath.Join(filepath.Dir(path), ".nanobot")
	if state, err := look(); state != beside || err != nil {
		t.Errorf("without systemd: %s, %v", state, err)
	}
	was := booted
	defer func() { booted = was }()
	booted = filepath.Join(dir, "run/systemd/system")
	must(t, os.MkdirAll(booted, 0o755))
	if state, err := look(); state != filepath.Join(dir, "var/lib/nanobot/faq") || err == nil || !strings.Contains(err.Error(), "journalctl -u nanobot@faq.service") {
		t.Errorf("with systemd: %s, %v", state, err)
	}
	must(t, os.Mkdir(beside, 0o700)) // somebody has started it by hand
	if state, err := look(); state != beside || err != nil {
		t.Errorf("with a state beside it: %s, %v", state, err)
	}
}

func TestToolsBesideTheDaemonMakeNoState(t *testing.T) {
	path := writeBot(t, `{"terminal": {"command": "true"}, "channels": {"web": {"enabled": true}}, "http": {"listen": "127.0.0.1:8080"}}`, nil)
	for _, args := range [][]string{{"pair", "--list"}, {"pair", "ABCDEFGH"}, {"link"}} {
		cmd := exec.Command(os.Args[0], append(args, "--config", path)...)
		cmd.Env = append(plainEnviron(), "NANOBOT_TEST_MAIN=1")
		if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "was never started") {
			t.Errorf("%v: %v, %s", args, err, out)
		}
	}
	if entries, _ := os.ReadDir(filepath.Dir(path)); len(entries) != 1 {
		t.Errorf("there is %v", entries)
	}
}
