package main

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nanobot/internal/musttest"
)

// newPublicFolder returns a folder that other users than root may read.
func newPublicFolder(t *testing.T) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	dir := musttest.Get(os.MkdirTemp("/tmp", "open-folder-"))(t)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	musttest.Do(t, os.Chmod(dir, 0o755))
	return dir
}

func TestRootIgnoresConfigsThatOthersCanChange(t *testing.T) {
	t.Parallel()
	for name, harm := range map[string]func(t *testing.T, dir string){
		"of another user": func(t *testing.T, dir string) {
			musttest.Do(t, os.Chown(filepath.Join(dir, "config.json"), stranger, stranger))
		},
		"that others can write":                func(t *testing.T, dir string) { musttest.Do(t, os.Chmod(filepath.Join(dir, "config.json"), 0o666)) },
		"in their folder":                      func(t *testing.T, dir string) { musttest.Do(t, os.Chown(dir, stranger, stranger)) },
		"in a folder that others can write to": func(t *testing.T, dir string) { musttest.Do(t, os.Chmod(dir, 0o775)) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := newPublicFolder(t)
			server := musttest.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
			defer server.Close()
			asked := make(chan struct{})
			go func() {
				if c, err := server.Accept(); err == nil {
					close(asked)
					_ = c.Close()
				}
			}()
			musttest.Do(t, os.WriteFile(filepath.Join(dir, "token"), []byte("123456:roots-own"), 0o600))
			musttest.Do(t, os.WriteFile(filepath.Join(dir, "config.json"), []byte(`{"workspace": "work", "terminal": {"command": "touch `+dir+`/ran"}, "gateway": {"stateDir": "`+dir+`/made"},
				"channels": {"web": {"enabled": true}, "telegram": {"enabled": true, "token": "file:token", "apiBase": "http://`+server.Addr().String()+`"}}, "http": {"listen": "127.0.0.1:8080"}}`), 0o644))
			musttest.Do(t, os.Mkdir(filepath.Join(dir, "work"), 0o755))
			harm(t, dir)
			for _, args := range [][]string{{"doctor"}, {"pair", "--list"}, {"link"}} {
				out, err := programCommand(t, append(args, "--config", filepath.Join(dir, "config.json"))...).CombinedOutput()
				if err == nil || !strings.Contains(string(out), "config.json belongs to") && !strings.Contains(string(out), "and replace files in it") && !strings.Contains(string(out), "who could replace it") {
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
	t.Parallel()
	for _, owner := range []int{0, stranger} {
		dir := newPublicFolder(t)
		musttest.Do(t, os.WriteFile(filepath.Join(dir, "config.json"), []byte(`{"terminal": {"command": "id -u"}}`), 0o644))
		musttest.Do(t, os.Chown(dir, owner, owner))
		musttest.Do(t, os.Chown(filepath.Join(dir, "config.json"), owner, owner))
		for _, args := range [][]string{{"chat"}, {"run", "hello"}} {
			cmd := programCommand(t, append(args, "--config", filepath.Join(dir, "config.json"))...)
			cmd.Stdin = strings.NewReader("hello\n")
			if out, err := cmd.CombinedOutput(); err != nil || strings.TrimSpace(string(out)) != "0" {
				t.Errorf("%v of %d: %v, %s", args, owner, err, out)
			}
		}
	}
}

func TestRootDoesNotRunTheAgentOfABotThatIsAnothers(t *testing.T) {
	dir := newPublicFolder(t)
	path := filepath.Join(dir, "config.json")
	for _, name := range []string{"state", "state/workspace"} {
		musttest.Do(t, os.Mkdir(filepath.Join(dir, name), 0o700))
		musttest.Do(t, os.Chown(filepath.Join(dir, name), nobody, nobody))
	}
	musttest.Do(t, os.WriteFile(path, []byte(`{"workspace": "`+dir+`/state/workspace", "gateway": {"stateDir": "`+dir+`/state"}, "terminal": {"command": "touch ran"}}`), 0o644))
	for _, args := range [][]string{{"run", "hello"}, {"chat"}} {
		cmd := programCommand(t, append(args, "--config", path)...)
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

func TestPairAndLinkCreateNoState(t *testing.T) {
	path := writeBot(t, `{"terminal": {"command": "true"}, "channels": {"web": {"enabled": true}}, "http": {"listen": "127.0.0.1:8080"}}`, nil)
	for _, args := range [][]string{{"pair", "--list"}, {"pair", "ABCDEFGH"}, {"link"}} {
		cmd := programCommand(t, append(args, "--config", path)...)
		if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "was never started") {
			t.Errorf("%v: %v, %s", args, err, out)
		}
	}
	if entries, _ := os.ReadDir(filepath.Dir(path)); len(entries) != 1 {
		t.Errorf("there is %v", entries)
	}
}
