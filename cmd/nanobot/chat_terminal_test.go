package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/creack/pty"

	"nanobot/internal/musttest"
)

// chatOnATerminal says something to an agent on a real terminal and returns what is shown.
func chatOnATerminal(t *testing.T, command string, env ...string) string {
	t.Helper()
	return typeOnATerminal(t, []string{"hi\r", "\x04"}, []string{"--command", command}, env...)
}

// resizeMark follows the number of columns that a terminal gets before some keys are typed.
const resizeMark = " columns:"

// typeOnATerminal runs `nanobot chat` on a real terminal, types the keys, each at a prompt, and
// returns what is shown.
func typeOnATerminal(t *testing.T, keys, args []string, env ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	home := t.TempDir()
	cmd := exec.CommandContext(ctx, os.Args[0], append([]string{"chat"}, args...)...)
	cmd.Dir = home
	cmd.Env = append([]string{"NANOBOT_TEST_MAIN=1", "PATH=" + os.Getenv("PATH"), "HOME=" + home, "XDG_RUNTIME_DIR=" + os.Getenv("XDG_RUNTIME_DIR")}, env...)
	terminal := musttest.Get(pty.StartWithSize(cmd, &pty.Winsize{Rows: 24, Cols: 80}))(t)
	defer terminal.Close()
	var all bytes.Buffer
	prompts, piece := 0, make([]byte, 4096)
	for {
		n, err := terminal.Read(piece)
		all.Write(piece[:n])
		for _, pressed := range keys[prompts:] {
			if strings.Count(all.String(), "› ") <= prompts {
				break
			}
			prompts++
			if columns, rest, ok := strings.Cut(pressed, resizeMark); ok {
				n := musttest.Get(strconv.Atoi(columns))(t)
				musttest.Do(t, pty.Setsize(terminal, &pty.Winsize{Rows: 24, Cols: uint16(n)}))
				pressed = rest
			}
			musttest.Get(terminal.WriteString(pressed))(t)
		}
		if err != nil { // the program has left, or was killed
			break
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v after %q", err, all.String())
	}
	return all.String()
}

func TestChatRendersMarkdownOnATerminal(t *testing.T) {
	t.Parallel()
	answer := filepath.Join(t.TempDir(), "answer.md")
	musttest.Do(t, os.WriteFile(answer, []byte("# Report\n\nSome **bold** words.\n\n- one\n- two\n"), 0o600))
	for name, c := range map[string]struct{ env, want string }{
		"styles":          {"TERM=xterm", "\x1b[1;4mReport\x1b[0m\r\n\r\nSome \x1b[1mbold\x1b[0m words.\r\n"},
		"a user's wish":   {"NO_COLOR=1", "Report\r\n\r\nSome bold words.\r\n"},
		"a dumb terminal": {"TERM=dumb", "Report\r\n\r\nSome bold words.\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := chatOnATerminal(t, "cat "+answer, c.env); !strings.Contains(got, c.want) {
				t.Errorf("shown is %q, want %q", got, c.want)
			}
		})
	}
}

// askingAgent asks when it is told to, and otherwise answers in pieces.
const askingAgent = `read -r line
case $line in
*ask*) echo '{"type":"ask","id":"1","text":"Which?","options":["Red","Blue"]}'; read -r answer; echo '{"type":"message","text":"so it is"}';;
*) printf '%s\n' '{"type":"delta","text":"first line\nhalf"}' '{"type":"delta","text":" and whole"}';;
esac
`

// writeAskingBot writes a config with an interactive agent and returns its path.
func writeAskingBot(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	musttest.Do(t, os.WriteFile(filepath.Join(dir, "agent.sh"), []byte(askingAgent), 0o600))
	cfg := filepath.Join(dir, "config.json")
	musttest.Do(t, os.WriteFile(cfg, []byte(`{"terminal": {"command": "sh agent.sh", "protocol": "rich", "interactive": true}}`), 0o600))
	return cfg
}

func TestAQuestionInAChatCanBeStopped(t *testing.T) {
	t.Parallel()
	cfg := writeAskingBot(t)
	for name, c := range map[string]struct {
		keys        []string
		has, hasNot string
	}{
		"by Ctrl-C, and the chat goes on": {[]string{"ask\r", "\x03", "tell\r", "\x04"}, "Stopped.\r\n…first line\r\nhalf and whole\r\n", "so it is"},
		"by /stop, and the chat goes on":  {[]string{"ask\r", "/stop\r", "tell\r", "\x04"}, "Stopped.\r\n…first line\r\nhalf and whole\r\n", "so it is"},
		"by /quit, which ends the chat":   {[]string{"ask\r", "/quit\r"}, "Stopped.\r\n", "so it is"},
		"by Ctrl-D, which ends the chat":  {[]string{"ask\r", "\x04"}, "Stopped.\r\n", "so it is"},
		"or answered":                     {[]string{"ask\r", "2\r", "/quit\r"}, "so it is\r\n", "Stopped."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := typeOnATerminal(t, c.keys, []string{"--config", cfg}, "TERM=xterm")
			at := 0
			for _, part := range strings.Split(c.has, "…") {
				i := strings.Index(got[at:], part)
				if i < 0 {
					t.Fatalf("%q is missing in %q", part, got)
				}
				at += i
			}
			if strings.Contains(got, c.hasNot) {
				t.Errorf("shown is %q", got)
			}
		})
	}
}

func TestOtherTextInAChatRejectsAPermissionAndIsTheNextMessage(t *testing.T) {
	t.Parallel()
	keys := []string{"ask t1 execute make test\r", "say the next prompt\r", "\x04"}
	got := typeOnATerminal(t, keys, []string{"--command", acpAgent(t, ""), "--protocol", "acp"}, "TERM=xterm")
	rejected := strings.LastIndex(got, "permission selected no")
	if rejected < 0 || !strings.Contains(got[rejected:], "the next prompt") || strings.Contains(got, "Please answer") {
		t.Errorf("shown is %q", got)
	}
}

func TestChatWrapsLinesAtTheTerminalsWidth(t *testing.T) {
	t.Parallel()
	answer := filepath.Join(t.TempDir(), "answer.md")
	long := strings.TrimSpace(strings.Repeat("four ", 20))
	musttest.Do(t, os.WriteFile(answer, []byte("- "+long+"\n\n```\n"+long+"\n```\n"), 0o600))
	got := typeOnATerminal(t, []string{"hi\r", "60 columns:hi\r", "\x04"}, []string{"--command", "cat " + answer}, "TERM=dumb")
	for columns, lines := range map[int]string{
		80: "• " + strings.TrimSpace(strings.Repeat("four ", 15)) + "\r\n  " + strings.TrimSpace(strings.Repeat("four ", 5)) + "\r\n",
		60: "• " + strings.TrimSpace(strings.Repeat("four ", 11)) + "\r\n  " + strings.TrimSpace(strings.Repeat("four ", 9)) + "\r\n",
	} {
		if strings.Count(got, lines) != 1 {
			t.Errorf("on %d columns %q is not shown: %q", columns, lines, got)
		}
	}
	if code := "    " + long + "\r\n"; strings.Count(got, code) != 2 {
		t.Errorf("the code is not whole in %q", got)
	}
}

func TestChatShowsALongAnswerWhole(t *testing.T) {
	t.Parallel()
	got := chatOnATerminal(t, "seq -f 'line %.0f of a long answer' 1 20000", "TERM=dumb")
	if n := strings.Count(got, " of a long answer\r\n"); n != 20000 || !strings.Contains(got, "line 20000 of") {
		t.Errorf("%d lines are shown, which end with %q", n, got[max(0, len(got)-200):])
	}
}

func TestChatOnATerminalIsInThePersonsLanguage(t *testing.T) {
	t.Parallel()
	got := typeOnATerminal(t, []string{"/status\r", "\x04"}, []string{"--command", "true"}, "TERM=dumb", "LANG=de_DE.UTF-8")
	for _, want := range []string{"Du sprichst mit: true\r\n", "Strg-D beendet den\r\nChat.", "Arbeitsordner: "} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in %q", want, got)
		}
	}
}
