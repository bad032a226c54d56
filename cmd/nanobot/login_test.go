package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/creack/pty"

	"nanobot/internal/musttest"
)

// loginOnATerminal runs `nanobot login` on a real terminal and types the code when it is asked for.
func loginOnATerminal(t *testing.T, methods, code string, args ...string) (shown string, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	home := t.TempDir()
	// The command is one word, so that the methods need no second level of quotes.
	agent := filepath.Join(home, "agent")
	musttest.Do(t, os.WriteFile(agent, []byte("#!/bin/sh\n"+acpAgent(t, "-auth-methods '"+methods+"' \"$@\"")+"\n"), 0o700))
	cmd := exec.CommandContext(ctx, os.Args[0], append([]string{"login", "--protocol", "acp", "--command", agent}, args...)...)
	cmd.Dir = home
	cmd.Env = []string{"NANOBOT_TEST_MAIN=1", "PATH=" + os.Getenv("PATH"), "HOME=" + home}
	terminal, err := pty.Start(cmd)
	musttest.Do(t, err)
	defer terminal.Close()
	var all bytes.Buffer
	typed, piece := false, make([]byte, 4096)
	for {
		n, err := terminal.Read(piece)
		all.Write(piece[:n])
		if !typed && strings.Contains(all.String(), "Code: ") {
			musttest.Get(terminal.WriteString(code + "\r"))(t)
			typed = true
		}
		if err != nil { // the program has left, or was killed
			break
		}
	}
	return strings.ReplaceAll(all.String(), home, "~"), cmd.Wait()
}

const loginMethod = `{"id":"tui","type":"terminal","name":"Log in","args":["-login"],"env":{"REGION":"eu"}}`

func TestLoginRunsTheCommandOfTheAgentOnItsTerminal(t *testing.T) {
	t.Parallel()
	shown, err := loginOnATerminal(t, "["+loginMethod+`,{"id":"key","type":"env_var","name":"Key","vars":[{"name":"AGENT_KEY"}]}]`, "4711")
	for _, want := range []string{"running ~/agent -login\r\n", `REGION is "eu". Code: `, "welcome", "nanobot: signed in"} {
		if err != nil || !strings.Contains(shown, want) {
			t.Errorf("%q is not in %q, %v", want, shown, err)
		}
	}
	shown, err = loginOnATerminal(t, "["+loginMethod+"]", "1234")
	if err == nil || !strings.Contains(shown, "not signed in: the command ended with exit status 3") {
		t.Errorf("shown %q, %v", shown, err)
	}
}

func TestLoginSignsOutOfAnAgentThatCan(t *testing.T) {
	t.Parallel()
	shown, err := loginOnATerminal(t, "[]' -logout '", "", "--sign-out")
	if err != nil || !strings.Contains(shown, "nanobot: signed out") {
		t.Errorf("shown %q, %v", shown, err)
	}
	shown, err = loginOnATerminal(t, "[]", "", "--sign-out")
	if err == nil || !strings.Contains(shown, "not signed out: the agent cannot sign out; sign out as its manual says") {
		t.Errorf("shown %q, %v", shown, err)
	}
}

func TestLoginSaysWhatToDoWithoutACommand(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ methods, method, want string }{
		{`[{"id":"key","type":"env_var","name":"Key","vars":[{"name":"AGENT_KEY"}]}]`, "", "Key needs no command: set AGENT_KEY in terminal.env"},
		{"[" + loginMethod + `,{"id":"b","type":"terminal","name":"Other"}]`, "", "choose a METHOD:\r\n  tui                  Log in\r\n  b                    Other"},
		{"[" + loginMethod + "]", "nope", `there is no method "nope"`},
		{`[{"id":"web","name":"Browser"}]`, "", "the agent names no command to sign in"},
	} {
		var args []string
		if c.method != "" {
			args = append(args, c.method)
		}
		if shown, err := loginOnATerminal(t, c.methods, "", args...); err == nil || !strings.Contains(shown, c.want) {
			t.Errorf("%q is not in %q, %v", c.want, shown, err)
		}
	}
}
