package terminal_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"nanobot/config"
	"nanobot/internal/musttest"
	"nanobot/terminal"
)

// envelope runs the agent and returns the envelope that it read, which must be one line.
func (b *turnFixture) envelope() map[string]any {
	b.t.Helper()
	path := filepath.Join(b.workspace, "stdin")
	b.opts.Config.Command = "cat > " + terminal.ShellQuote(path)
	b.run()
	raw := musttest.Get(os.ReadFile(path))(b.t)
	if strings.Count(string(raw), "\n") != 1 || !strings.HasSuffix(string(raw), "\n") {
		b.t.Errorf("stdin is not one line: %q", raw)
	}
	var got map[string]any
	musttest.Do(b.t, json.Unmarshal(raw, &got))
	return got
}

func TestTheEnvelopeHasEveryFieldInBothModes(t *testing.T) {
	for _, protocol := range []string{"plain", "rich"} {
		b := newTurnFixture(t, protocol, "")
		b.req = terminal.Request{Envelope: terminal.Envelope{
			Channel: "telegram", ChatID: "-100123_45", Text: "héllo <b> & \"x\"\nline\u2028", Media: []string{"/a.jpg", "/b c.pdf"}, MessageID: "77",
			User: &terminal.User{ID: "5", Name: "Ann", Username: "ann"}, ThreadID: "45", RunID: "r1", Attempt: 2,
			ReplyTo: &terminal.Quote{ID: "76", Text: "earlier", Media: []string{"/q.png"}},
		}}
		b.opts.Config.Providers = map[string]config.Provider{
			"anthropic":  {APIKeys: []config.Secret{"sk-1", "sk-2"}, Models: []string{"m1"}},
			"My.service": {APIKeys: []config.Secret{"k"}, BaseURL: "https://api.example.org/v1"},
		}
		dir := filepath.Join(b.workspace, "users", "-100123_45")
		want := map[string]any{
			"version": 1.0, "text": "héllo <b> & \"x\"\nline\u2028", "media": []any{"/a.jpg", "/b c.pdf"}, "channel": "telegram",
			"chat_id": "-100123_45", "session_key": "telegram:-100123_45", "workspace": b.workspace, "user_data_dir": dir,
			"providers": map[string]any{
				"anthropic":  map[string]any{"api_keys": []any{"sk-1", "sk-2"}, "models": []any{"m1"}},
				"My.service": map[string]any{"api_keys": []any{"k"}, "base_url": "https://api.example.org/v1"},
			},
			"message_id": "77", "user": map[string]any{"id": "5", "name": "Ann", "username": "ann"}, "thread_id": "45", "run_id": "r1",
			"attempt": 2.0, "reply_to": map[string]any{"id": "76", "text": "earlier", "media": []any{"/q.png"}},
		}
		if got := b.envelope(); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %v\nwant %v", protocol, got, want)
		}
		if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("user folder: %v, %v", info, err)
		}
	}
}

func TestTheEnvelopeOmitsEmptyFields(t *testing.T) {
	b := newTurnFixture(t, "rich", "")
	b.req = terminal.Request{Envelope: terminal.Envelope{Channel: "cli", ChatID: "local", Text: ""}}
	got := b.envelope()
	for _, key := range []string{"version", "text", "channel", "chat_id", "session_key", "workspace", "user_data_dir"} {
		if _, ok := got[key]; !ok {
			t.Errorf("%s is missing", key)
		}
	}
	if len(got) != 7 {
		t.Errorf("got %v", got)
	}
	b.req.Media, b.req.MediaNames = []string{"/a.jpg"}, []string{"me.jpg"}
	b.opts.Config.PassMedia = false
	if got := b.envelope(); got["media"] != nil || got["media_names"] != nil {
		t.Errorf("media passed although passMedia is false: %v", got)
	}
}

func TestALargeEnvelopeArrivesWhole(t *testing.T) {
	b := newTurnFixture(t, "rich", "")
	b.req.Text = strings.Repeat("0123456789abcdé\n", 1<<16)
	if got := b.envelope(); got["text"] != b.req.Text {
		t.Error("the text changed on its way")
	}
}

func TestUserFoldersStayInTheirParentAndAreUnique(t *testing.T) {
	b := newTurnFixture(t, "plain", "true")
	users := filepath.Join(b.workspace, "users")
	seen := map[string]string{}
	for _, id := range []string{
		"../../x", "..", ".", "", "a/b", "/etc", "a\x00b", "%2E", ".hidden", "..x", "a b", "é", "%", "x", "x.", strings.Repeat("y", 300), strings.Repeat("y", 301),
		strings.Repeat("../", 100), "-100123_45", "a\nb", `a\b`,
	} {
		b.req.ChatID = id
		dir, _ := b.envelope()["user_data_dir"].(string)
		if filepath.Dir(dir) != users {
			t.Errorf("%q: %s is not in users/", id, dir)
		}
		if other, taken := seen[dir]; taken {
			t.Errorf("%q and %q share %s", id, other, dir)
		}
		seen[dir] = id
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			t.Errorf("%q: %v", id, err)
		}
	}
}

func TestTheMessagePlaceholderIsAlwaysOneWord(t *testing.T) {
	for _, text := range []string{
		"plain", "it's", `"double"`, "$(touch pwned)", "`touch pwned`", "; touch pwned", "a\nb", "{message}", "{message} {message}", `\`, "*", "~", "-n",
		"", "a\tb", "é 😀", "\x01\x02", "$HOME", "'", "''", "\\'", "!history", "a\r\nb",
	} {
		b := newTurnFixture(t, "plain", `sh words.sh -- {message}`)
		b.putFile("words.sh", `shift; printf '%s' "$1" > got; printf '%s' $# > count`)
		b.req.Text = text
		b.run()
		got, _ := os.ReadFile(filepath.Join(b.workspace, "got"))
		count, _ := os.ReadFile(filepath.Join(b.workspace, "count"))
		if string(got) != text || string(count) != "1" {
			t.Errorf("%q arrived as %q, %s words", text, got, count)
		}
		if _, err := os.Stat(filepath.Join(b.workspace, "pwned")); err == nil {
			t.Errorf("%q ran a command", text)
		}
	}
}

func TestATextTooLongForTheCommandLineIsReported(t *testing.T) {
	b := newTurnFixture(t, "plain", "echo {message} | wc -c")
	b.req.Text = strings.Repeat("x", 1<<20)
	b.run().expectFrames("failed", "error: Your message is too long for this bot: its command line holds at most 127 KiB.")
	b.req.Text = strings.Repeat("x", 120<<10)
	b.run().expectFrames("done", "message: 122881")
}

func TestTheAgentsEnvironmentHasNoSecretsOfTheGateway(t *testing.T) {
	b := newTurnFixture(t, "plain", "env; echo cwd=$PWD")
	tokenFile := b.putFile("token", "file-token-123\n")
	t.Setenv("DISCORD_TOKEN", "env-token-456")
	b.opts.Secrets = []config.Secret{"literal-token-789", config.Secret("file:" + tokenFile), "env:DISCORD_TOKEN", "env:NOT_SET", ""}
	b.opts.Environ = []string{
		"PATH=" + os.Getenv("PATH"), "KEEP=yes", "NANOBOT_CHANNELS__TELEGRAM__TOKEN=x", "NANOBOT_CONFIG=x", "NOTIFY_SOCKET=x", "WATCHDOG_USEC=1", "WATCHDOG_PID=1",
		"CREDENTIALS_DIRECTORY=/run/x", "TG=literal-token-789", "URL=https://h/botfile-token-123/x", "DISCORD_TOKEN=env-token-456", "OVERRIDE=old",
	}
	b.opts.Config.Env = map[string]string{"OVERRIDE": "new", "Mixed_Case": "kept", "NANOBOT_MINE": "mine"}
	b.opts.Config.Providers = map[string]config.Provider{"my-svc": {APIKeys: []config.Secret{"k1", "k2"}}}
	text := b.run().frames[0].Text
	for _, want := range []string{"KEEP=yes", "OVERRIDE=new", "Mixed_Case=kept", "NANOBOT_MINE=mine", "cwd=" + b.workspace} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is missing", want)
		}
	}
	for _, bad := range []string{"token", "NANOBOT_CHANNELS", "NANOBOT_CONFIG", "NOTIFY", "WATCHDOG", "CREDENTIALS", "DISCORD", "old", "k1"} {
		if strings.Contains(text, bad) {
			t.Errorf("%s is there:\n%s", bad, text)
		}
	}
	b.opts.Config.ProviderEnv = true
	text = b.run().frames[0].Text
	if !strings.Contains(text, "MY_SVC_API_KEY=k1\n") || !strings.Contains(text, "MY_SVC_API_KEYS=k1,k2\n") {
		t.Errorf("provider keys are missing:\n%s", text)
	}
}

func TestCwdAndShellCanBeChosen(t *testing.T) {
	b := newTurnFixture(t, "plain", "echo $PWD $0 ${BASH_VERSION:+bash}")
	b.opts.Config.Cwd = t.TempDir()
	b.opts.Config.Shell = "/bin/bash"
	b.run().expectFrames("done", "message: "+b.opts.Config.Cwd+" /bin/bash bash")
}

func TestACommandThatCannotBeStartedIsAnError(t *testing.T) {
	b := newTurnFixture(t, "plain", "true")
	b.opts.Config.Shell = "/no/such/shell"
	if b.run(); b.err == nil || !strings.Contains(b.err.Error(), "/no/such/shell") {
		t.Errorf("got %v", b.err)
	}
	b = newTurnFixture(t, "plain", "true")
	b.opts.Config.Cwd = "/no/such/folder"
	if b.run(); b.err == nil || !strings.Contains(b.err.Error(), "/no/such/folder") {
		t.Errorf("got %v", b.err)
	}
	b = newTurnFixture(t, "plain", "true")
	b.opts.Config.Providers = map[string]config.Provider{"p": {APIKeys: []config.Secret{"file:/no/such/key"}}}
	if _, err := terminal.NewRunner(b.opts); err == nil || !strings.Contains(err.Error(), "providers.p.apiKeys.0: read secret") {
		t.Errorf("got %v", err)
	}
}
