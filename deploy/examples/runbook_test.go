package examples_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"nanobot/channels/telegram/telegramtest"
	"nanobot/internal/musttest"
)

// serve runs an example as a bot on Telegram until the test ends.
func serve(t *testing.T, program, workspace string, api *telegramtest.Server) {
	t.Helper()
	config := filepath.Join(workspace, "config.json")
	channels := fmt.Sprintf(`"channels": {"telegram": {"enabled": true, "token": %q, "apiBase": %q, "allowFrom": ["7"]}}, "terminal": {`, api.Token, api.URL)
	if err := os.Chmod(config, 0o600); err != nil { // it holds the token now
		t.Fatal(err)
	}
	putFile(t, config, []byte(strings.Replace(string(readFile(t, config)), `"terminal": {`, channels, 1)))
	cmd := exec.Command(program, "serve", "--config", config)
	cmd.Stderr = t.Output()
	musttest.Do(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			t.Errorf("serve: %v", err)
		}
	})
}

// awaitMessage waits until the chat shows a message that matches.
func awaitMessage(t *testing.T, api *telegramtest.Server, is func(telegramtest.Message) bool) (found telegramtest.Message) {
	t.Helper()
	shown, ok := api.AwaitMessages(7, telegramtest.WaitLimit, func(all []telegramtest.Message) bool {
		at := slices.IndexFunc(all, is)
		if at >= 0 {
			found = all[at]
		}
		return at >= 0
	})
	if !ok {
		t.Fatalf("it did not come, but %v", shown)
	}
	return found
}

func TestTheDeploymentRunbookRunsInAChat(t *testing.T) {
	t.Parallel()
	skipWithout(t, "python3")
	program := builtProgram(t)
	workspace := copyFolder(t, "runbook-deploy")
	api := telegramtest.New(t)
	serve(t, program, workspace, api)
	api.UserSends(7, "/run deploy")
	gate := awaitMessage(t, api, func(m telegramtest.Message) bool { return strings.Contains(m.TextOrCaption(), "Put the site live?") })
	if _, err := os.Stat(filepath.Join(workspace, "live")); err == nil {
		t.Fatal("it was deployed before it was approved")
	}
	api.UserPresses(7, 7, gate.ID, gate.Buttons()[0].Data)
	document := awaitMessage(t, api, func(m telegramtest.Message) bool { return m.Document != nil }).Document
	if page := string(readFile(t, filepath.Join(workspace, "live", "index.html"))); !strings.Contains(page, "Hello, visitor.") {
		t.Errorf("deployed was %q", page)
	}
	file, _ := api.File(document.FileID)
	records := filepath.Join(t.TempDir(), "records.json")
	for what, change := range map[string][2]string{
		"as it came": {}, "another approver": {`\"by\":\"telegram:7\"`, `\"by\":\"telegram:8\"`}, "another command": {"check.sh live", "true"},
	} {
		text := strings.Replace(string(file.Content), change[0], change[1], 1)
		putFile(t, records, []byte(text))
		out, err := exec.Command(program, "runbook", "verify", "--config", filepath.Join(workspace, "config.json"), records).CombinedOutput()
		if (err == nil) != (change == [2]string{}) || text == string(file.Content) != (change == [2]string{}) {
			t.Errorf("%s: verify says %v, %s", what, err, out)
		}
	}
}
