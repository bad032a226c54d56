package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
)

// chatOnATerminal says something to an agent on a real terminal and returns what is shown.
func chatOnATerminal(t *testing.T, command string, env ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	home := t.TempDir()
	cmd := exec.CommandContext(ctx, os.Args[0], "chat", "--command", command)
	cmd.Dir = home
	cmd.Env = append([]string{"NANOBOT_TEST_MAIN=1", "PATH=" + os.Getenv("PATH"), "HOME=" + home, "XDG_RUNTIME_DIR=" + os.Getenv("XDG_RUNTIME_DIR")}, env...)
	terminal, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 24, Cols: 80})
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	var all bytes.Buffer
	prompts, piece := 0, make([]byte, 4096)
	for {
		n, err := terminal.Read(piece)
		all.Write(piece[:n])
		for _, keys := range []string{"hi\r", "\x04"}[prompts:] {
			if strings.Count(all.String(), "› ") <= prompts {
				break
			}
			prompts++
			if _, err := terminal.WriteString(keys); err != nil {
				t.Fatal(err)
			}
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
	must(t, os.WriteFile(answer, []byte("# Report\n\nSome **bold** words.\n\n- one\n- two\n"), 0o600))
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
