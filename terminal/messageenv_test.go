package terminal_test

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"nanobot/terminal"
)

func TestTheMessageIsInTheAgentsEnvironment(t *testing.T) {
	b := newTurnFixture(t, "plain", `printf '%s|' "$NANOBOT_TEXT" "$NANOBOT_CHAT_ID" "$NANOBOT_USER_ID" "$NANOBOT_USER_NAME" "$NANOBOT_USER_DATA_DIR" "${NANOBOT_TEXT_TRUNCATED-whole}"`)
	b.opts.Environ = append(b.opts.Environ, "NANOBOT_TEXT=another message's", "NANOBOT_USER_ID=0")
	b.req.Text, b.req.ChatID = "-rve $(touch pwned)\n'x' \x00é", "42"
	b.req.User = &terminal.User{ID: "7", Name: "Ada\x00 L.", Username: "ada"}
	dir := filepath.Join(b.workspace, "users", "42")
	b.run().expectFrames("done", "message: -rve $(touch pwned)\n'x' é|42|7|Ada L.|"+dir+"|whole|")
	b.req.User = &terminal.User{ID: "7", Username: "ada"}
	b.req.Text = "hi"
	b.run().expectFrames("done", "message: hi|42|7|ada|"+dir+"|whole|")
	b.req.User = nil
	b.run().expectFrames("done", "message: hi|42|||"+dir+"|whole|")
}

func TestATextTooLongForAVariableIsCutAndTheTurnContinues(t *testing.T) {
	b := newTurnFixture(t, "plain", `printf %s "$NANOBOT_TEXT" > cut; cat > envelope; printf %s "${NANOBOT_TEXT_TRUNCATED-whole}"`)
	name := len("NANOBOT_TEXT=")
	for size, truncated := range map[int]string{128<<10 - 1 - name: "whole", 128<<10 - name: "1", 1 << 20: "1"} {
		b.req.Text = strings.Repeat("x", size%2) + strings.Repeat("é", size/2) // cut within a character
		b.run().expectFrames("done", "message: "+truncated)
		cut, _ := os.ReadFile(filepath.Join(b.workspace, "cut"))
		if !strings.HasPrefix(b.req.Text, string(cut)) || !utf8.Valid(cut) || (truncated == "whole") != (len(cut) == size) || len(cut) < min(size, 128<<10-1-name)-3 {
			t.Errorf("%d bytes: %d arrived", size, len(cut))
		}
		envelope, _ := os.ReadFile(filepath.Join(b.workspace, "envelope"))
		if !strings.Contains(string(envelope), b.req.Text) {
			t.Errorf("%d bytes: not whole in the envelope", size)
		}
	}
}

func TestStdinIsWhatTheConfigSays(t *testing.T) {
	for stdin, want := range map[string][2]string{"text": {"done", "two\nlines -x \""}, "none": {"silent", "(no output)"}} {
		for _, protocol := range []string{"plain", "rich"} {
			b := newTurnFixture(t, protocol, "cat")
			b.opts.Config.Stdin = stdin
			b.req.Text = "two\nlines -x \""
			b.run().expectFrames(terminal.Status(want[0]), "message: "+want[1])
		}
	}
	for _, stdin := range []string{"", "envelope"} {
		b := newTurnFixture(t, "plain", "cat -- - {message}.txt")
		b.putFile("hello.txt", "")
		b.opts.Config.Stdin = stdin
		if b.run(); len(b.frames) != 1 || !strings.Contains(b.frames[0].Text, `"text":"hello"`) {
			t.Errorf("%q: %v", stdin, b.frames)
		}
	}
	b := newTurnFixture(t, "plain", `read -r line; printf '<%s>' "$line"`)
	b.opts.Config.Stdin, b.req.Text = "text", "one line"
	b.run().expectFrames("done", "message: <one line>")
}

// persistentEnvProtocol is a protocol that launches a persistent agent and records its output.
type persistentEnvProtocol struct{ said *string }

func (k persistentEnvProtocol) Turn(_ context.Context, t terminal.Turn) (terminal.Outcome, error) {
	agent, err := t.LaunchPersistent(terminal.PersistentOptions{})
	if err != nil {
		return terminal.Outcome{}, err
	}
	out, err := io.ReadAll(agent.Stdout)
	agent.CloseInput()
	agent.Wait()
	*k.said = string(out)
	return terminal.Outcome{Status: terminal.Done}, err
}

func TestAPersistentAgentHasOnlyTheVariablesOfItsChat(t *testing.T) {
	b := newTurnFixture(t, "plain", `env`)
	var said string
	b.opts.Protocol = persistentEnvProtocol{&said}
	b.req.Text, b.req.ChatID, b.req.User = "secret of one message", "42", &terminal.User{ID: "7", Name: "Ada"}
	b.req.Token, b.opts.Socket = "TOKEN42", "/run/x/socket"
	if b.run(); b.err != nil {
		t.Fatal(b.err)
	}
	for _, want := range []string{"NANOBOT_CHAT_ID=42\n", "NANOBOT_CHAT_TOKEN=TOKEN42\n", "NANOBOT_SOCKET=/run/x/socket\n", "NANOBOT_USER_DATA_DIR=" + filepath.Join(b.workspace, "users", "42") + "\n"} {
		if !strings.Contains(said, want) {
			t.Errorf("%s is missing", want)
		}
	}
	for _, bad := range []string{"NANOBOT_TEXT", "NANOBOT_USER_ID", "NANOBOT_USER_NAME", "secret of one message"} {
		if strings.Contains(said, bad) {
			t.Errorf("%s is there:\n%s", bad, said)
		}
	}
}
