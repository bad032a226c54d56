package console_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/config"
	"nanobot/gateway"
	"nanobot/gateway/console"
	"nanobot/gateway/gatewaytest"
	"nanobot/gateway/ledger"
	"nanobot/gateway/store"
	"nanobot/gateway/store/sqlite"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
	"nanobot/terminal"
	"nanobot/terminal/rich"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const awaitTimeout = 5 * time.Minute

// fixture is a gateway on a network on loopback, and its console on another.
type fixture struct {
	t   *testing.T
	net *gatewaytest.Network
	dir string
	url string

	mu     sync.Mutex
	events []console.Turn
}

func newFixture(t *testing.T, script string) *fixture {
	t.Helper()
	fx := &fixture{t: t, net: gatewaytest.NewNetwork(), dir: t.TempDir()}
	t.Cleanup(fx.net.Close)
	cfg := config.Default().Terminal
	cfg.Command, cfg.Protocol = script, "rich"
	runner := musttest.Get(terminal.NewRunner(terminal.Options{Config: cfg, Workspace: fx.dir, Protocol: rich.Protocol{}, Environ: os.Environ(), Log: zap.NewNop()}))(t)
	st := musttest.Get(sqlite.Open(t.Context(), filepath.Join(fx.dir, "state"), sqlite.Options{}))(t)
	c := console.New(st, zap.NewNop())
	client := &http.Client{Transport: &http.Transport{}}
	g := gateway.New(gateway.Options{
		Channels: map[string]channels.Channel{"net": &gatewaytest.Channel{Name: "net", URL: fx.net.URL, Client: client}},
		Store:    st, MaxConcurrent: 2, Log: zap.NewNop(), Events: c.Observe,
		Settings: gateway.Settings{Agents: map[string]gateway.Agent{store.DefaultAgent: {Runner: runner}, "coder": {Runner: runner}}, WhileRunning: "queue", QueueLimit: 9, OnCrash: "report", DrainTimeout: time.Second},
	})
	ctx, cancel := context.WithCancel(context.Background())
	var work sync.WaitGroup
	work.Go(func() { _ = g.Run(ctx, nil) })
	work.Go(func() { c.Run(ctx, fx.publish) })
	server := httptest.NewServer(c.Handler(g))
	fx.url = server.URL
	t.Cleanup(func() {
		cancel()
		work.Wait()
		server.Close()
		client.CloseIdleConnections()
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	return fx
}

func (fx *fixture) publish(event string, data any) {
	fx.mu.Lock()
	defer fx.mu.Unlock()
	if event == "turn" {
		fx.events = append(fx.events, data.(console.Turn))
	}
}

// request makes a request and decodes the response.
func (fx *fixture) request(method, path string, into any) int {
	fx.t.Helper()
	req := musttest.Get(http.NewRequestWithContext(fx.t.Context(), method, fx.url+path, nil))(fx.t)
	res := musttest.Get(http.DefaultClient.Do(req))(fx.t)
	defer res.Body.Close()
	defer http.DefaultClient.CloseIdleConnections()
	var b bytes.Buffer
	musttest.Get(b.ReadFrom(res.Body))(fx.t)
	if err := json.Unmarshal(b.Bytes(), into); err != nil {
		fx.t.Fatalf("%s %s: %v in %s", method, path, err, b.Bytes())
	}
	return res.StatusCode
}

func (fx *fixture) await(what string, done func() bool) {
	fx.t.Helper()
	for deadline := time.Now().Add(awaitTimeout); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			fx.t.Fatalf("waited in vain for %s", what)
		}
	}
}

// getTurn returns the details of a turn.
func (fx *fixture) getTurn(id int) (d console.Detail) {
	fx.t.Helper()
	if status := fx.request("GET", fmt.Sprint("/api/turns/", id), &d); status != http.StatusOK {
		fx.t.Fatalf("turn %d: status %d", id, status)
	}
	return d
}

const agent = `read -r line; case $line in *wait*) while [ ! -e go ]; do sleep 0.01; done;; *fail*) echo no >&2; exit 4;; esac
	echo '{"type":"progress","text":"thinking"}'; echo '{"type":"log","level":"error","text":"hm"}'; echo '{"type":"message","text":"hi"}'`

func TestTurnsAreFoundByTheirAgent(t *testing.T) {
	fx := newFixture(t, agent)
	fx.net.UserWrites("1", "u", "hello")
	fx.await("the first turn", func() bool { return fx.listsTurns("", "done 1") })
	fx.net.UserWrites("1", "u", "/agent coder")
	fx.net.UserWrites("1", "u", "hello")
	fx.await("the second turn", func() bool { return fx.listsTurns("?agent=coder&outcome=done", "done 3") })
	if !fx.listsTurns("?agent=default", "done 1") || !fx.listsTurns("?agent=none", "") {
		t.Error("the turns of the others are not right")
	}
	wanttest.Equal(t, "the agents are", fx.getTurn(1).Agent+" "+fx.getTurn(3).Agent, "default coder")
}

func TestTurnsAreListedAndShown(t *testing.T) {
	fx := newFixture(t, agent)
	fx.net.UserWrites("1", "u", "hello")
	fx.net.UserWrites("2", "u", "fail")
	fx.await("both turns", func() bool { return fx.listsTurns("", "failed 2|done 1") })
	fx.await("both answers to be sent", func() bool { return fx.getTurn(1).Sends["sent"] == 2 && fx.getTurn(2).Sends["sent"] > 0 })
	for query, want := range map[string]string{
		"?outcome=failed": "failed 2", "?chat=net:1": "done 1", "?limit=1": "failed 2", "?before=2": "done 1", "?outcome=timeout": "",
	} {
		if !fx.listsTurns(query, want) {
			t.Errorf("%s is not %q", query, want)
		}
	}
	for _, id := range []int{1, 2} {
		d := fx.getTurn(id)
		var frames []string
		for _, f := range d.Frames {
			frames = append(frames, f.Kind+" "+f.Text)
		}
		var turns []console.Turn
		if fx.request("GET", "/api/turns", &turns); len(turns) != 2 || !maps.Equal(turns[2-id].Sends, d.Sends) {
			t.Errorf("turn %d sent %v, in the list %+v", id, d.Sends, turns)
		}
		switch got := strings.Join(frames, "|"); d.Text {
		case "hello":
			if d.User.ID != "u" || got != "progress thinking|log hm|message hi" || d.Sends["sent"] != 2 || len(d.Sent) != 2 || d.Sent[1].Text != "hi" {
				t.Errorf("hello: %s, %+v", got, d)
			}
		case "fail":
			if d.Stderr != "no\n" || d.ExitCode != 4 || d.Status != "failed" {
				t.Errorf("fail: %s, %+v", got, d)
			}
		default:
			t.Errorf("turn %d is %+v", id, d)
		}
	}
	fx.await("the end of both to be published", func() bool {
		fx.mu.Lock()
		defer fx.mu.Unlock()
		ended := map[int64]bool{}
		for _, e := range fx.events {
			ended[e.ID] = ended[e.ID] || e.State == "done"
		}
		return ended[1] && ended[2]
	})
}

// listsTurns reports whether a list request returns these turns, with their outcomes.
func (fx *fixture) listsTurns(query, want string) bool {
	fx.t.Helper()
	var turns []console.Turn
	fx.request("GET", "/api/turns"+query, &turns)
	var got []string
	for _, turn := range turns {
		got = append(got, fmt.Sprint(turn.Status, " ", turn.ID))
	}
	return strings.Join(got, "|") == want
}

func TestAnOperatorStopsATurnAndRunsItAgain(t *testing.T) {
	fx := newFixture(t, agent)
	fx.net.UserWrites("1", "u", "wait")
	var answer struct{ Error string }
	fx.await("the turn to run", func() bool { return fx.request("GET", "/api/turns/1", &answer) == http.StatusOK })
	wanttest.Equal(t, "a running turn was retried:", fx.request("POST", "/api/turns/1/retry", &answer), http.StatusConflict)
	if status := fx.request("POST", "/api/turns/1/stop", &answer); status != http.StatusAccepted {
		t.Fatalf("stop: %d %s", status, answer.Error)
	}
	fx.await("the turn to end", func() bool { return fx.listsTurns("", "stopped 1") })
	wanttest.Equal(t, "an ended turn was stopped:", fx.request("POST", "/api/turns/1/stop", &answer), http.StatusConflict)
	musttest.Do(t, os.WriteFile(filepath.Join(fx.dir, "go"), nil, 0o600))
	if status := fx.request("POST", "/api/turns/1/retry", &answer); status != http.StatusAccepted {
		t.Fatalf("retry: %d %s", status, answer.Error)
	}
	fx.await("the turn to end well", func() bool { return fx.listsTurns("", "done 1") })
}

func TestUndeliveredMessagesAreListedWithTheirErrors(t *testing.T) {
	fx := newFixture(t, agent)
	fx.net.Fault = func(gatewaytest.Call) gatewaytest.Fault { return gatewaytest.Fault{Status: http.StatusForbidden} }
	fx.net.UserWrites("1", "u", "hello")
	var sends []console.Send
	fx.await("a send to fail", func() bool {
		fx.request("GET", "/api/undelivered", &sends)
		return len(sends) == 2 && sends[0].State == "failed"
	})
	if s := sends[0]; s.Chat != "net:1" || s.Error == "" || s.Text != "hi" {
		t.Errorf("got %+v", s)
	}
	var h gateway.Health
	if status := fx.request("GET", "/api/health", &h); status != http.StatusOK || !h.OK || !h.Channels["net"].OK {
		t.Errorf("health: %d %+v", status, h)
	}
}

func TestInvalidRequestsAreRefused(t *testing.T) {
	fx := newFixture(t, agent)
	for path, want := range map[string]int{
		"GET /api/turns/7": 404, "GET /api/turns/x": 400, "POST /api/turns/7/stop": 404, "GET /api/turns?limit=x": 400, "GET /api/turns?chat=x": 400,
		"GET /api/turns?outcome=bogus": 400, "GET /api/turns?before=-3": 400, "GET /api/turns?limit=-1": 400,
		"GET /api/usage?by=time": 400, "GET /api/usage?since=1d": 400, "GET /api/usage?since=-1h": 400,
	} {
		method, path, _ := strings.Cut(path, " ")
		var answer struct{ Error string }
		if got := fx.request(method, path, &answer); got != want || answer.Error == "" {
			t.Errorf("%s %s: %d %q, want %d", method, path, got, answer.Error, want)
		}
	}
}

func TestUsageIsListed(t *testing.T) {
	fx := newFixture(t, `echo '{"type":"usage","input_tokens":3,"output_tokens":1,"cost":0.5,"model":"m"}'; echo '{"type":"message","text":"hi"}'`)
	fx.net.UserWrites("1", "u", "hello")
	fx.await("the end", func() bool {
		var rows []ledger.Row
		return fx.request("GET", "/api/usage?since=24h", &rows) == 200 && len(rows) == 1
	})
	for by, want := range map[string]string{"": "net:u", "chat": "net:1", "agent": "default", "model": "m"} {
		var rows []ledger.Row
		fx.request("GET", "/api/usage?by="+by, &rows)
		wanttest.Equal(t, "rows by "+by, len(rows), 1)
		wanttest.Equal(t, "by "+by, fmt.Sprint(rows[0].Name(), rows[0].Turns, rows[0].InputTokens, rows[0].OutputTokens, rows[0].Cost), fmt.Sprint(want, 1, 3, 1, 0.5))
	}
}
