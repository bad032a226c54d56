package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"nanobot/channels/telegram/telegramtest"
	"nanobot/internal/addrtest"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// webhookBot is the real daemon in webhook mode, behind a proxy as on a server, against a strict
// Bot API on loopback.
type webhookBot struct {
	*program
	t      *testing.T
	api    *telegramtest.Server
	proxy  *httptest.Server
	passes atomic.Int64 // how many deliveries the proxy still lets through
	listen string
	cfg    string
}

const answers = `read -r line
	case "$line" in *'"media":'*) n=$(printf %s "${line#*'"media":'}" | cut -d']' -f1 | tr -cd , | wc -c); echo "{\"type\":\"message\",\"text\":\"got $((n + 1)) files\"}";;
	*) text=${line#*'"text":"'}; printf '{"type":"message","text":"you said %s"}\n' "${text%%'"'*}";; esac
`

func newWebhookBot(t *testing.T) *webhookBot {
	t.Helper()
	dir := t.TempDir()
	b := &webhookBot{t: t, api: telegramtest.New(t), listen: freeAddress(t), cfg: filepath.Join(dir, "config.json")}
	b.passes.Store(1 << 60)
	to := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: b.listen})
	to.ErrorHandler = func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) }
	b.proxy = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if b.passes.Add(-1) < 0 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		to.ServeHTTP(w, r)
	}))
	t.Cleanup(func() { b.api.Close(); b.proxy.Close() })
	b.api.SetWebhookRetry(20 * time.Millisecond)
	for name, content := range map[string]string{
		"agent.sh": answers, "token": b.api.Token,
		"config.json": `{
			"terminal": {"command": "sh agent.sh", "protocol": "rich"},
			"channels": {"telegram": {"enabled": true, "token": "file:token", "apiBase": "` + b.api.URL + `", "allowFrom": ["*"],
				"mode": "webhook", "webhookUrl": "` + b.proxy.URL + `/telegram"}},
			"http": {"listen": "` + b.listen + `"}, "gateway": {"onCrash": "retry"},
		}`,
	} {
		musttest.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
	}
	b.start()
	return b
}

// start begins a daemon that waits for full albums: Telegram delivers the parts one by one, and a
// busy machine may pause between them.
func (b *webhookBot) start() {
	b.program = startProgramWith(b.t, []string{"TEST_ALBUM_QUIET=1h"}, "serve", "--config", b.cfg)
}

// kill is kill -9.
func (b *webhookBot) kill() {
	b.t.Helper()
	b.signal(syscall.SIGKILL)
	b.awaitExit()
	if !b.api.AwaitDisconnected(telegramtest.WaitLimit) { // what it was still sending is then sent, or never is
		b.t.Fatal("it is dead and still connected")
	}
}

// expectAnswers waits until a chat was given this answer, and fails the test unless these are all
// that it was given, in order. What was in flight at a kill may be there twice, and says so.
func (b *webhookBot) expectAnswers(chat int64, want ...string) {
	b.t.Helper()
	if err := b.checkAnswers(chat, want...); err != nil {
		b.t.Error(err)
	}
}

// checkAnswers waits for the last answer of a chat, and returns an error if it shows others before.
func (b *webhookBot) checkAnswers(chat int64, want ...string) error {
	var texts []string
	_, ok := b.api.AwaitMessages(chat, telegramtest.WaitLimit, func(shown []telegramtest.Message) bool {
		texts = nil
		for _, m := range shown {
			text, again := strings.CutPrefix(m.TextOrCaption(), "↻ ")
			if again && slices.Contains(texts, text) || strings.HasPrefix(text, "Queued") {
				continue
			}
			texts = append(texts, text)
		}
		return slices.Contains(texts, want[len(want)-1])
	})
	if !ok {
		b.t.Fatalf("chat %d shows %q and never the last of %q", chat, texts, want)
	}
	if !slices.Equal(texts, want) {
		return fmt.Errorf("chat %d shows %q and should show %q", chat, texts, want)
	}
	return nil
}

// freeAddress returns an address of loopback that only this test can listen on until it ends.
func freeAddress(t testing.TB) string {
	t.Helper()
	return addrtest.Reserve(t)
}

// fullAlbum are ten pictures, the most that Telegram puts in an album: it is complete with the last
// of them, however long each takes.
func fullAlbum() []telegramtest.Media {
	return slices.Repeat([]telegramtest.Media{{Kind: "photo", Content: telegramtest.PNG(30, 30), Width: 30, Height: 30}}, 10)
}

func TestWebhookTextAndAlbumsAreAnswered(t *testing.T) {
	t.Parallel()
	b := newWebhookBot(t)
	b.api.UserSends(7, "hi")
	b.api.WaitForText(t, 7, "you said hi")
	b.api.UserSendsAlbum(telegramtest.UserPost{Chat: 7, Text: "look"}, fullAlbum()...)
	b.api.WaitForText(t, 7, "got 10 files")
	wanttest.Equal(t, "it polled … times:", len(b.api.Calls("getUpdates")), 0)
	resp := musttest.Get(http.Get("http://" + b.listen + "/healthz"))(t)
	alive, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK || string(alive) != "ok\n" {
		t.Errorf("healthz says %d %q", resp.StatusCode, alive)
	}
	b.signal(syscall.SIGTERM)
	wanttest.Equal(t, "status", b.awaitExit(), 0)
	if calls := b.api.Calls("deleteWebhook"); len(calls) != 0 {
		t.Errorf("the webhook was removed: %+v", calls)
	}
	b.api.UserSends(7, "anybody there?") // Telegram keeps it
	b.start()
	b.expectAnswers(7, "you said hi", "got 10 files", "you said anybody there?")
}

func TestWebhookWithAWrongSecretIsRefused(t *testing.T) {
	t.Parallel()
	b := newWebhookBot(t)
	b.api.UserSends(7, "hi")
	b.api.WaitForText(t, 7, "you said hi")
	update := `{"update_id":1,"message":{"message_id":99,"text":"let me in","chat":{"id":7,"type":"private"},"from":{"id":7}}}`
	for _, secret := range []string{"", "guessed"} {
		req := musttest.Get(http.NewRequest(http.MethodPost, b.proxy.URL+"/telegram", strings.NewReader(update)))(t)
		req.Header.Set("X-Telegram-Bot-Api-Secret-Token", secret)
		resp := musttest.Get(http.DefaultClient.Do(req))(t)
		resp.Body.Close()
		if resp.StatusCode != http.StatusUnauthorized {
			t.Errorf("with the secret %q it answers %d", secret, resp.StatusCode)
		}
	}
	b.api.UserSends(7, "bye")
	b.expectAnswers(7, "you said hi", "you said bye")
}

func TestWebhookLosesNothingAndKeepsTheOrderWhenTheDaemonIsKilled(t *testing.T) {
	t.Parallel()
	b := newWebhookBot(t)
	const chats, rounds = 12, 4
	for round := range rounds {
		before := len(b.api.Deliveries())
		for chat := range chats {
			b.api.UserSends(int64(100+chat), fmt.Sprintf("%d.%d", chat, round))
		}
		// Some are taken, some are on their way, and some wait.
		if _, ok := b.api.AwaitDeliveries(telegramtest.WaitLimit, func(all []telegramtest.Delivery) bool {
			return len(all) >= before+chats/2
		}); !ok {
			t.Fatal("nothing is delivered")
		}
		b.kill()
		b.start()
	}
	for chat := range chats {
		var want []string
		for round := range rounds {
			want = append(want, fmt.Sprintf("you said %d.%d", chat, round))
		}
		b.expectAnswers(int64(100+chat), want...)
	}
	if !b.api.AwaitPending(0, telegramtest.WaitLimit) {
		t.Errorf("%d updates are left", b.api.PendingUpdates())
	}
}

func TestWebhookGathersAnAlbumAcrossAKill(t *testing.T) {
	t.Parallel()
	b := newWebhookBot(t)
	b.api.UserSends(7, "hi")
	b.api.WaitForText(t, 7, "you said hi")
	b.passes.Store(2) // then the proxy is down, and the daemon is killed
	b.api.UserSendsAlbum(telegramtest.UserPost{Chat: 7, Text: "look"}, fullAlbum()...)
	if !b.api.AwaitPending(8, telegramtest.WaitLimit) {
		t.Fatalf("%d updates are left", b.api.PendingUpdates())
	}
	b.kill()
	b.start()
	b.passes.Store(1 << 60)
	b.api.UserSends(7, "bye")
	b.expectAnswers(7, "you said hi", "got 10 files", "you said bye")
}
