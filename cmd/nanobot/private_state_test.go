package main

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"nanobot/config"
	"nanobot/gateway/gatewaytest"
	"nanobot/gateway/store/sqlite"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// intruder is a model of the protocol blocks that meddles with a state folder, STATE, and stores
// what it is told.
const intruder = `n=$(ls told-* 2>/dev/null | wc -l)
cat > told-$n
case $n in
0) cat <<'END'
[CREATE_FILE path="STATE/nanobot.db-journal"]
planted
[/CREATE_FILE]
[CREATE_FILE path="STATE/spool/deep/new"]
planted
[/CREATE_FILE]
[CREATE_FILE path="STATE/history"]
planted
[/CREATE_FILE]
[EDIT_FILE path="STATE/agents.txt" start_line="1" end_line="1"]
planted
[/EDIT_FILE]
[DELETE_FILE path="STATE/daemon.lock"]
[READ_FILE path="STATE/nanobot.db"]
[CREATE_FILE path="link/nanobot.db-journal"]
planted
[/CREATE_FILE]
[CREATE_FILE path="allowed"]
written
[/CREATE_FILE]
END
;;
*) printf '[DONE]\nended\n[/DONE]\n';;
esac
`

// The workspace has a state folder, or is it.
func TestCommandBlocksReachNothingOfTheState(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ state, sandbox string }{
		"state folder":             {".nanobot", "none"},
		"state folder and sandbox": {".nanobot", "landlock"},
		"workspace":                {".", "none"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBot(t)
			dir := filepath.Dir(b.cfg)
			if c.state == "." {
				musttest.Do(t, os.RemoveAll(filepath.Join(dir, ".nanobot")))
			}
			musttest.Do(t, os.Mkdir(filepath.Join(dir, "work"), 0o700))
			musttest.Do(t, os.Symlink(c.state, filepath.Join(dir, "link")))
			musttest.Do(t, os.WriteFile(filepath.Join(dir, "agent.sh"), []byte(strings.ReplaceAll(intruder, "STATE", c.state)), 0o600))
			b.configure(t, `{"gateway": {"stateDir": "`+c.state+`"}, "terminal": {"command": "cd work; exec sh ../agent.sh", "protocol": "blocks", "blocks": {"approve": "never"}, "sandbox": "`+c.sandbox+`"}`+anybody)
			b.program = startProgram(t, "serve", "--config", b.cfg)
			b.net.UserWrites("1", "7", "meddle")
			b.awaitText("1", "ended")
			b.checkIntrusion(filepath.Join(dir, c.state), c.state)
			b.signal(syscall.SIGTERM)
			b.awaitExit()
			b.program = startProgram(t, "serve", "--config", b.cfg)
			b.net.UserWrites("2", "7", "is the state sound?")
			b.awaitText("2", "ended")
		})
	}
}

// checkIntrusion checks what became of the commands of the intruder.
func (b *bot) checkIntrusion(state, name string) {
	b.t.Helper()
	dir := filepath.Dir(b.cfg)
	first := musttest.Get(os.ReadFile(filepath.Join(dir, "work", "told-0")))(b.t)
	second := musttest.Get(os.ReadFile(filepath.Join(dir, "work", "told-1")))(b.t)
	for _, path := range []string{"nanobot.db-journal", "spool/deep/new", "history", "agents.txt", "daemon.lock", "nanobot.db"} {
		if want := "REJECTED: Path '" + name + "/" + path + "' is outside workspace"; !strings.Contains(string(second), want) {
			b.t.Errorf("the model is not told %q", want)
		}
	}
	if want := "REJECTED: Path 'link/nanobot.db-journal' is outside workspace"; !strings.Contains(string(second), want) || !strings.Contains(string(second), "Created 'allowed'") {
		b.t.Errorf("the model is told\n%s", second)
	}
	for _, told := range [][]byte{first, second} {
		listing, _, _ := strings.Cut(string(told), "## Previous Command Results")
		if strings.Contains(listing, "nanobot.db") || strings.Contains(listing, "daemon.lock") || !strings.Contains(listing, "agent.sh") {
			b.t.Errorf("the model is told of files\n%s", listing)
		}
	}
	for _, path := range []string{"nanobot.db-journal", "spool/deep", "history"} {
		if _, err := os.Lstat(filepath.Join(state, path)); err == nil {
			b.t.Errorf("%s was made", path)
		}
	}
	if _, err := os.Lstat(filepath.Join(state, sqlite.LockFile)); err != nil {
		b.t.Error(err)
	}
}

func TestAnACPAgentWritesNothingToTheState(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	state := filepath.Join(dir, ".nanobot")
	musttest.Do(t, os.Mkdir(state, 0o700))
	musttest.Do(t, os.WriteFile(filepath.Join(state, "other.txt"), []byte("SECRET"), 0o600))
	var script strings.Builder
	for _, path := range []string{"/nanobot.db-journal", "/not/known/yet", "/other.txt"} {
		script.WriteString("write " + state + path + " planted\nread " + state + path + "\n")
	}
	musttest.Do(t, os.WriteFile(filepath.Join(dir, "config.json"), []byte(`{"terminal": {"acp": {"permissions": "allow"}}}`), 0o600))
	out := runProgramIn(t, dir, "", "run", "--config", "config.json", "--protocol", "acp", "--command", acpAgent(t, ""), script.String()+"write "+dir+"/allowed written")
	if n := strings.Count(out, "one of the gateway's own files"); n != 6 || strings.Contains(out, "SECRET") {
		t.Errorf("%d of 6 are refused: %s", n, out)
	}
	if entries, err := os.ReadDir(state); err != nil || slices.ContainsFunc(entries, func(e os.DirEntry) bool { return strings.HasPrefix(e.Name(), "no") || e.Name() == "nanobot.db-journal" }) {
		t.Errorf("the state has %v, %v", entries, err)
	}
	if content, err := os.ReadFile(filepath.Join(dir, "allowed")); string(content) != "written" {
		t.Errorf("%q, %v: %s", content, err, out)
	}
}

func TestAFileThatIsPutIntoTheStateIsNotSent(t *testing.T) {
	b := startBot(t, `{"terminal": {"protocol": "plain", "command": "cat > /dev/null; echo picture > .nanobot/a.png; echo picture > b.png; echo $PWD/.nanobot/a.png; echo $PWD/b.png; echo ended"}`+anybody)
	b.net.UserWrites("1", "7", "send")
	if got := b.awaitText("1", "ended").Text; !strings.Contains(got, `.nanobot/a.png" was not sent: one of the gateway's own files`) {
		t.Errorf("said %q", got)
	}
	files := map[string]string{}
	calls, _ := b.net.Await("1", waitTimeout, func(calls []gatewaytest.Call) bool {
		for _, c := range calls {
			maps.Copy(files, c.Files)
		}
		return len(files) > 0
	})
	if !maps.Equal(files, map[string]string{"b.png": "picture\n"}) {
		t.Errorf("sent %q in %+v", files, calls)
	}
}

func TestTheStateFolderIsPrivateUnlessAgentsWorkInIt(t *testing.T) {
	dir := musttest.Get(filepath.EvalSymlinks(t.TempDir()))(t)
	musttest.Do(t, os.Mkdir(filepath.Join(dir, "work"), 0o700))
	musttest.Do(t, os.Symlink(dir, filepath.Join(dir, "link")))
	for name, c := range map[string]struct {
		state, cwd string
		whole      bool
	}{
		"in the workspace":                 {"work/.nanobot", "", true},
		"beside the workspace":             {"state", "", true},
		"a name that begins like it":       {"wor", "", true},
		"the workspace":                    {"work", "", false},
		"above the workspace":              {".", "", false},
		"above by a link":                  {"link", "", false},
		"the workspace by a link":          {"link/work", "", false},
		"the folder of the chats":          {"work/users", "", false},
		"above the agent's folder":         {"work/.nanobot", "work/.nanobot/project", false},
		"beside the agent's folder":        {"work/.nanobot", "work/project", true},
		"above the agent's folder by link": {"work/.nanobot", "link/work/.nanobot/project", false},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := config.Default()
			cfg.Workspace, cfg.Gateway.StateDir = filepath.Join(dir, "work"), filepath.Join(dir, c.state)
			if c.cwd != "" {
				cfg.Terminal.Cwd = filepath.Join(dir, c.cwd)
			}
			paths := privatePaths(&cfg)
			wanttest.Equal(t, "the whole folder:", slices.Contains(paths, cfg.Gateway.StateDir), c.whole)
			for _, name := range []string{"nanobot.db", "nanobot.db-wal", "nanobot.db-shm", "nanobot.db-journal", "nanobot.db.new-wal", "spool", "web", "daemon.lock", "history.new"} {
				if !slices.Contains(paths, filepath.Join(cfg.Gateway.StateDir, name)) {
					t.Errorf("%s is not private", name)
				}
			}
		})
	}
}
