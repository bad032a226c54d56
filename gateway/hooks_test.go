package gateway_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"nanobot/channels"
	"nanobot/config"
	"nanobot/gateway/hooks"
	"nanobot/internal/killtest"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

const hookSecret = "0123456789abcdef"

// orderAgent writes the text of each message to the file order, the first one once there is a file
// go, and answers.
const orderAgent = `read -r line; text=${line#*\"text\":\"}; text=${text%%\"*}; echo "$text" >> order; echo "$line" >> lines
	while [ ! -e go ]; do sleep 0.01; done; echo "{\"type\":\"message\",\"text\":\"re $text\"}"`

// startHooks starts a gateway whose hook say sends and whose hook ask asks the agent. It returns a
// function that calls a hook.
func (fx *fixture) startHooks() (call func(hook, body, key string) int) {
	fx.t.Helper()
	hook := hooks.Hook{Auth: hooks.Bearer, Secret: hookSecret, Chat: channels.Chat{Channel: "net", ID: "1"}, MaxBody: 1000}
	hook.Template = musttest.Get(hooks.ParseTemplate("**{{.}}**{{index . 0}}"))(fx.t)
	fx.settings.Hooks = map[string]hooks.Hook{"bad": hook}
	hook.Template = musttest.Get(hooks.ParseTemplate("{{.}}"))(fx.t)
	fx.settings.Hooks["say"] = hook
	hook.Chat.ID = "2"
	fx.settings.Hooks["ready"] = hook
	hook.Chat.ID = "1"
	hook.Agent = "default"
	fx.settings.Hooks["ask"] = hook
	hook.Agent, hook.Template = "", nil
	fx.settings.Hooks["plain_one"] = hook
	fx.start()
	server := httptest.NewServer(fx.gw.HookHandler(nil))
	fx.t.Cleanup(server.Close)
	call = func(hook, body, key string) int {
		r := musttest.Get(http.NewRequest(http.MethodPost, server.URL+hooks.Path+hook, strings.NewReader(body)))(fx.t)
		r.Header.Set("Authorization", "Bearer "+hookSecret)
		r.Header.Set("Idempotency-Key", key)
		response := musttest.Get(fx.client.Do(r))(fx.t)
		_ = response.Body.Close()
		return response.StatusCode
	}
	fx.awaitTrue("the gateway runs", func() bool { return call("ready", "x", "") != http.StatusServiceUnavailable })
	return call
}

func TestTheCallOfAHookIsSentOrGivenToAnAgent(t *testing.T) {
	fx := newFixture(t, orderAgent)
	fx.touchFile("go")
	call := fx.startHooks()
	wanttest.Equal(t, "status", call("say", "hello *you*", "1"), 202)
	fx.expect("1", `hello \*you\*`)
	wanttest.Equal(t, "status of the same call", call("say", "hello *you*", "1"), 200)
	wanttest.Equal(t, "status", call("ask", "work", "1"), 202)
	fx.expect("1", `hello \*you\*`, "re work")
	wanttest.Equal(t, "status of the same call", call("ask", "work", "1"), 200)
	wanttest.Equal(t, "status", call("bad", "[]", ""), 202)
	wanttest.Equal(t, "status", call("plain_one", "", ""), 202)
	fx.expect("1", `hello \*you\*`, "re work", "The template of the hook bad failed in line 1. This is the body of the call:\n\n```json\n[]\n```",
		`The hook plain\_one was called without a body.`)
	for _, want := range []string{`"origin":"hook:ask"`, `"user":{"id":"hook:ask"`} {
		if !strings.Contains(fx.readWorkspace("lines"), want) {
			t.Errorf("the agent reads no %s: %s", want, fx.readWorkspace("lines"))
		}
	}
}

func TestARuleGivesTheCallOfAHookToAnAgent(t *testing.T) {
	fx := newFixture(t, orderAgent)
	fx.touchFile("go")
	fx.settings.Routes = []config.Route{{Match: config.Match{Hook: config.Values{"say"}}, Agent: "default"}, {Agent: "default"}}
	call := fx.startHooks()
	wanttest.Equal(t, "status", call("say", "disk", "1"), 202)
	fx.expect("1", "re disk")
	wanttest.Equal(t, "status of a hook without a rule of its own", call("plain_one", "", ""), 202)
	fx.expect("1", "re disk", `The hook plain\_one was called without a body.`)
}

func TestAReloadTakesOverHooks(t *testing.T) {
	fx := newFixture(t, orderAgent)
	call := fx.startHooks()
	settings := fx.settings
	settings.Hooks = map[string]hooks.Hook{"other": fx.settings.Hooks["say"]}
	fx.gw.Reload(settings)
	wanttest.Equal(t, "a hook that is gone", call("say", "x", ""), 404)
	wanttest.Equal(t, "a new hook", call("other", "x", ""), 202)
	fx.expect("1", "x")
}

func TestAHookRefusesCallsDuringTheDrain(t *testing.T) {
	fx := newFixture(t, orderAgent)
	call := fx.startHooks()
	wanttest.Equal(t, "status", call("ask", "first", ""), 202)
	fx.awaitFile("order")
	fx.cancel()
	fx.awaitTrue("calls are refused", func() bool { return call("ask", "late", "") == http.StatusServiceUnavailable })
	fx.touchFile("go")
	fx.expect("1", "re first")
}

// TestAPersonIsNextAfterAFloodOfCalls floods a hook while a turn of its chat runs, until 200 calls
// are refused, or 9,000 with NANOBOT_LONG=1.
func TestAPersonIsNextAfterAFloodOfCalls(t *testing.T) {
	killtest.SkipIfShort(t)
	fx := newFixture(t, orderAgent)
	call := fx.startHooks()
	began := time.Now()
	wanttest.Equal(t, "status", call("ask", "call first", ""), 202)
	fx.awaitFile("order")
	enough := int64(200)
	if killtest.IsLong() {
		enough = 9000
	}
	var accepted, refused atomic.Int64
	var work sync.WaitGroup
	for range 4 {
		work.Go(func() {
			for i := 0; refused.Load() < enough && !t.Failed(); i++ {
				switch status := call("ask", fmt.Sprintf("call %d", i), ""); status {
				case http.StatusAccepted:
					accepted.Add(1)
				case http.StatusTooManyRequests:
					refused.Add(1)
				default:
					t.Errorf("a call got %d", status)
				}
			}
		})
	}
	work.Wait()
	// A hook takes 100 calls at once, and 10 a second.
	if most := 100 + int64(10*time.Since(began).Seconds()); accepted.Load() < 90 || accepted.Load() > most {
		t.Errorf("%d calls were accepted and %d refused; want at most %d", accepted.Load(), refused.Load(), most)
	}
	fx.net.UserWrites("1", "ann", "a person")
	fx.net.UserWrites("1", "ben", "another person")
	fx.awaitTrue("the people are received", func() bool { return fx.countPending("1") == int(accepted.Load())+2 })
	fx.touchFile("go")
	fx.awaitTrue("the people are answered", func() bool { return strings.Count(fx.readWorkspace("order"), "\n") > 4 })
	order := strings.Split(fx.readWorkspace("order"), "\n")[:3]
	if !slices.Equal(order, []string{"call first", "a person", "another person"}) {
		t.Errorf("the turns were %q", order)
	}
}
