package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"nanobot/channels/telegram/telegramtest"
	"nanobot/internal/killtest"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// hookBot is the real daemon with hooks, against a strict Bot API on loopback.
type hookBot struct {
	*program
	t           *testing.T
	api         *telegramtest.Server
	listen, dir string
}

const hookChat = 114

func newHookBot(t *testing.T) *hookBot {
	t.Helper()
	for _, name := range []string{"curl", "openssl"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skip(name + " is missing on this machine")
		}
	}
	b := &hookBot{t: t, api: telegramtest.New(t), listen: freeAddress(t), dir: t.TempDir()}
	t.Cleanup(b.api.Close)
	b.write("token", b.api.Token)
	b.write("secret", "0123456789abcdef-secret\n")
	b.write("agent.sh", `env > env; read -r line; text=${line#*'"text":"'}; printf '{"type":"message","text":"re %s"}\n' "${text%%'"'*}"`)
	b.configure(`"say": {"secret": "file:secret", "chat": "telegram:114", "template": "said {{.}}"},
		"ask": {"secret": "env:HOOK_SECRET", "chat": "telegram:114", "template": "{{.}}", "agent": "default"},
		"github": {"secret": "file:secret", "auth": "github", "chat": "telegram:114", "template": "{{header \"X-GitHub-Event\"}} {{.n}}"},
		"stripe": {"secret": "file:secret", "auth": "stripe", "chat": "telegram:114", "template": "stripe {{.n}}"}`)
	b.start()
	b.api.UserSends(hookChat, "hi") // Telegram lets bots write to people who have written
	b.expectText("re hi")
	return b
}

func (b *hookBot) write(name, content string) {
	b.t.Helper()
	musttest.Do(b.t, os.WriteFile(filepath.Join(b.dir, name), []byte(content), 0o600))
}

func (b *hookBot) configure(hooks string) {
	b.write("config.json", `{
		"terminal": {"command": "sh agent.sh", "protocol": "rich"}, "gateway": {"onCrash": "retry"}, "http": {"listen": "`+b.listen+`"},
		"channels": {"telegram": {"enabled": true, "token": "file:token", "apiBase": "`+b.api.URL+`", "allowFrom": ["*"]}},
		"hooks": {`+hooks+`}}`)
}

func (b *hookBot) start() {
	b.t.Helper()
	b.program = startProgramWith(b.t, []string{"HOOK_SECRET=0123456789abcdef-secret"}, "serve", "--config", filepath.Join(b.dir, "config.json"))
	b.awaitLog("ready")
}

// curl runs a script whose function post calls a hook with curl, and returns the statuses.
func (b *hookBot) curl(script string) string {
	b.t.Helper()
	cmd := exec.Command("sh", "-c", `secret=$(cat secret); hmac() { openssl dgst -sha256 -hmac "$secret" | sed 's/.*= //'; }
		post() { hook=$1 body=$2; shift 2; curl -s -o body -w '%{http_code} ' --data-binary "$body" "$@" http://`+b.listen+`/hooks/$hook; }
		`+script)
	cmd.Dir, cmd.Stderr = b.dir, os.Stderr
	return strings.TrimSpace(string(musttest.Get(cmd.Output())(b.t)))
}

// expectText waits until the chat was shown a text, and returns how often it was.
func (b *hookBot) expectText(want string) (times int) {
	b.t.Helper()
	b.api.AwaitMessages(hookChat, telegramtest.WaitLimit, func(shown []telegramtest.Message) bool {
		times = 0
		for _, m := range shown {
			if strings.TrimPrefix(m.TextOrCaption(), "↻ ") == want {
				times++
			}
		}
		return times > 0
	})
	if times == 0 {
		b.t.Errorf("the chat was never shown %q", want)
	}
	return times
}

func TestCurlCallsHooksOfTheRealDaemon(t *testing.T) {
	t.Parallel()
	killtest.SkipIfShort(t)
	b := newHookBot(t)
	wanttest.Equal(t, "statuses", b.curl(`post say '*one*' -H "Authorization: Bearer $secret"
		post say two -H "Authorization: Bearer wrong"
		post none two -H "Authorization: Bearer $secret"
		post ask three -H "Authorization: Bearer $secret" -H "Idempotency-Key: k"
		post ask three -H "Authorization: Bearer $secret" -H "Idempotency-Key: k"
		post github '{"n": 4}' -H "X-GitHub-Event: push" -H "X-GitHub-Delivery: d" -H "X-Hub-Signature-256: sha256=$(printf %s '{"n": 4}' | hmac)"
		now=$(date +%s); post stripe '{"n": 5}' -H "Stripe-Signature: t=$now,v1=$(printf %s "$now.{\"n\": 5}" | hmac)"
		old=$((now - 400)); post stripe '{"n": 6}' -H "Stripe-Signature: t=$old,v1=$(printf %s "$old.{\"n\": 6}" | hmac)"`),
		"202 401 404 202 200 202 202 401")
	for _, want := range []string{"said *one*", "re three", "push 4", "stripe 5"} {
		wanttest.Equal(t, want+" was shown", b.expectText(want), 1)
	}
	if env := string(musttest.Get(os.ReadFile(filepath.Join(b.dir, "env")))(t)); strings.Contains(env, "0123456789abcdef-secret") {
		t.Error("the agent has the secret of a hook in its environment")
	}
	b.configure(`"new": {"secret": "file:secret", "chat": "telegram:114", "template": "new {{.}}"}`)
	b.signal(syscall.SIGHUP)
	b.awaitLog("reloaded")
	wanttest.Equal(t, "statuses after SIGHUP", b.curl(`post say x -H "Authorization: Bearer $secret"; post new 7 -H "Authorization: Bearer $secret"`), "404 202")
	b.expectText("new 7")
}

// TestAKillAfterTheAnswerOfAHookLosesNothing kills the daemon right after 202. A message that was
// being sent at the kill may be there twice, and says so.
func TestAKillAfterTheAnswerOfAHookLosesNothing(t *testing.T) {
	t.Parallel()
	b := newHookBot(t)
	for i := range killtest.Rounds(t, 3, 50) {
		wanttest.Equal(t, "statuses", b.curl(fmt.Sprintf(`post say say%d -H "Authorization: Bearer $secret" -H "Idempotency-Key: k%[1]d"
			post ask ask%[1]d -H "Authorization: Bearer $secret" -H "Idempotency-Key: k%[1]d"`, i)), "202 202")
		b.signal(syscall.SIGKILL)
		b.awaitExit()
		b.start()
		wanttest.Equal(t, "status of the same call", b.curl(fmt.Sprintf(`post say say%d -H "Authorization: Bearer $secret" -H "Idempotency-Key: k%[1]d"`, i)), "200")
		b.expectText(fmt.Sprintf("said say%d", i))
		b.expectText(fmt.Sprintf("re ask%d", i))
	}
	seen := map[string]int{}
	shown, _ := b.api.AwaitMessages(hookChat, telegramtest.WaitLimit, func([]telegramtest.Message) bool { return true })
	for _, m := range shown {
		if text := m.TextOrCaption(); !strings.HasPrefix(text, "↻ ") {
			seen[text]++
		}
	}
	for text, n := range seen {
		if n > 1 {
			t.Errorf("%q was shown %d times", text, n)
		}
	}
}
