package metrics_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/config"
	"nanobot/gateway"
	"nanobot/gateway/gatewaytest"
	"nanobot/gateway/metrics"
	"nanobot/gateway/store"
	"nanobot/gateway/store/sqlite"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
	"nanobot/terminal"
	"nanobot/terminal/rich"
)

const testTimeout = 5 * time.Minute

// fixture is a gateway on a network on loopback, and its metrics on another.
type fixture struct {
	t    *testing.T
	net  *gatewaytest.Network
	dir  string
	url  string
	stop func() // ends the gateway, and closes its store
}

func newFixture(t *testing.T, command string, settings gateway.Settings) *fixture {
	t.Helper()
	fx := &fixture{t: t, dir: t.TempDir(), net: gatewaytest.NewNetwork()}
	t.Cleanup(fx.net.Close)
	cfg := config.Default().Terminal
	cfg.Protocol, cfg.Command = "rich", command
	runner := musttest.Get(terminal.NewRunner(terminal.Options{Config: cfg, Workspace: fx.dir, Protocol: rich.Protocol{}, Environ: os.Environ(), Log: zap.NewNop()}))(t)
	st := musttest.Get(sqlite.Open(t.Context(), filepath.Join(fx.dir, "state"), sqlite.Options{}))(t)
	settings.Agents = map[string]gateway.Agent{store.DefaultAgent: {Runner: runner, Progress: "edit"}, "coder": {Runner: runner, Progress: "edit"}}
	settings.WhileRunning, settings.QueueLimit = "queue", 9
	settings.OnCrash, settings.DrainTimeout = "report", time.Second
	m := metrics.New()
	g := gateway.New(gateway.Options{
		Channels: map[string]channels.Channel{"net": &gatewaytest.Channel{Name: "net", URL: fx.net.URL}}, Store: st, MaxConcurrent: 1,
		Log: zap.NewNop(), Events: m.Observe, Settings: settings,
	})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- g.Run(ctx, nil) }()
	fx.stop = sync.OnceFunc(func() {
		cancel()
		<-ended
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(fx.stop)
	server := httptest.NewServer(m.Handler(g))
	t.Cleanup(server.Close)
	fx.url = server.URL
	return fx
}

func TestWhatAGatewayDoesIsCounted(t *testing.T) {
	fx := newFixture(t, `read -r line; case $line in *fail*) exit 4;; esac; echo hi; echo '{"type":"usage","input_tokens":5,"output_tokens":2,"cost":0.5}'`, gateway.Settings{})
	fx.net.UserWrites("1", "u", "hello")
	fx.net.UserWrites("2", "u", "fail")
	fx.await(`nanobot_turns_total{channel="net",outcome="done",agent="default"} 1`, `nanobot_turns_total{channel="net",outcome="failed",agent="default"} 1`,
		`nanobot_sends_total{channel="net",result="sent"} 2`, `nanobot_turn_seconds_count{agent="default"} 2`,
		`nanobot_usage_turns_total{agent="default"} 2`, `nanobot_usage_seconds_total{agent="default"} [0-9.e-]+$`, `nanobot_usage_input_tokens_total{agent="default"} 5`,
		`nanobot_usage_output_tokens_total{agent="default"} 2`, `nanobot_usage_cost_dollars_total{agent="default"} 0.5`,
		`nanobot_turns_running{agent="default"} 0`, `nanobot_inbox_waiting 0`, `nanobot_inbox_age_seconds 0`, `nanobot_store_up 1`, `nanobot_channel_up{channel="net"} 1`,
		`nanobot_agents_resident_bytes{agent="default"} 0`, `process_resident_memory_bytes [1-9]`, `process_open_fds [1-9]`, `process_max_fds [1-9]`,
		`process_cpu_seconds_total [0-9.]+$`, `process_start_time_seconds 1\.[0-9]+e\+09$`, `go_goroutines [1-9]`, `go_memstats_heap_alloc_bytes [1-9]`)
}

func TestWhatAnAgentDoesIsCountedAsItsOwn(t *testing.T) {
	fx := newFixture(t, `read -r line; case $line in *wait*) while [ ! -e go ]; do sleep 0.01; done;; esac; echo hi`, gateway.Settings{})
	fx.await(`nanobot_turn_seconds_count{agent="default"} 0`, `nanobot_turns_running{agent="coder"} 0`, `nanobot_turns_running{agent="default"} 0`)
	fx.net.UserWrites("1", "u", "hello")
	fx.await(`nanobot_turns_total{channel="net",outcome="done",agent="default"} 1`)
	fx.net.UserWrites("1", "u", "/agent coder")
	fx.net.UserWrites("1", "u", "wait")
	fx.await(`nanobot_turns_running{agent="coder"} 1`, `nanobot_turns_running{agent="default"} 0`,
		`nanobot_agents_resident_bytes{agent="coder"} [1-9]`, `nanobot_agents_resident_bytes{agent="default"} 0`)
	musttest.Do(t, os.WriteFile(filepath.Join(fx.dir, "go"), nil, 0o600))
	fx.await(`nanobot_turns_total{channel="net",outcome="done",agent="coder"} 1`, `nanobot_turns_total{channel="net",outcome="done",agent="default"} 1`,
		`nanobot_turn_seconds_bucket{le="\+Inf",agent="coder"} 1`, `nanobot_turn_seconds_count{agent="coder"} 1`, `nanobot_turns_running{agent="coder"} 0`)
}

// A page is lines of three kinds. Samples stand behind the type of their family, and each but once.
func TestAPageIsWhatPrometheusReads(t *testing.T) {
	fx := newFixture(t, `echo hi`, gateway.Settings{})
	for _, chat := range []string{"1", "2", "3"} {
		fx.net.UserWrites(chat, "u", "hello")
	}
	fx.await(`nanobot_turn_seconds_count{agent="default"} 3`, `nanobot_turn_seconds_bucket{le="\+Inf",agent="default"} 3`)
	help := regexp.MustCompile(`^# HELP ([a-z_]+) \S.*\.$`)
	kind := regexp.MustCompile(`^# TYPE ([a-z_]+) (counter|gauge|histogram)$`)
	sample := regexp.MustCompile(`^([a-z_]+)(\{[a-z]+="(?:[^"\\]|\\.)*"(?:,[a-z]+="(?:[^"\\]|\\.)*")*\})? ([0-9.e+-]+)$`)
	text, seen, family, last := fx.metrics(), map[string]bool{}, "", 0.0
	if !strings.HasSuffix(text, "\n") {
		t.Error("the last line does not end")
	}
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		if m := help.FindStringSubmatch(line); m != nil {
			family, last = m[1], 0
			continue
		}
		if m := kind.FindStringSubmatch(line); m != nil && m[1] == family && !seen[m[1]] {
			seen[m[1]] = true
			continue
		}
		m := sample.FindStringSubmatch(line)
		if m == nil || seen[m[1]+m[2]] && m[2] != "" || !seen[family] || !strings.HasPrefix(m[1], family) {
			t.Errorf("behind %s stands %q", family, line)
			continue
		}
		seen[m[1]+m[2]] = true
		if v, err := strconv.ParseFloat(m[3], 64); strings.HasSuffix(m[1], "_bucket") && (err != nil || v < last) {
			t.Errorf("%s is less than the bucket before it", line)
		} else {
			last = v
		}
	}
	res := musttest.Get(http.Get(fx.url))(t)
	res.Body.Close()
	wanttest.Equal(t, "it is", res.Header.Get("Content-Type"), "text/plain; version=0.0.4; charset=utf-8")
}

func TestWhatRunsAndWaitsIsMeasured(t *testing.T) {
	const size = 32_000_000
	fx := newFixture(t, fmt.Sprintf(`read -r line; x=$(head -c %d /dev/zero | tr '\0' x); touch up; while [ ! -e go ]; do sleep 0.01; done`, size), gateway.Settings{})
	fx.net.UserWrites("1", "u", "hello")
	fx.await(`nanobot_turns_running{agent="default"} 1`, `nanobot_inbox_waiting 0`, `nanobot_inbox_age_seconds 0$`)
	before := time.Now().Truncate(time.Second) // what is kept of a time may be less exact
	fx.net.UserWrites("2", "u", "hello")
	fx.await(`nanobot_turns_running{agent="default"} 1`, `nanobot_inbox_waiting 1`)
	since := time.Now()
	fx.awaitFile("up")
	least := time.Since(since).Seconds()
	text := fx.metrics()
	if got, most := value(t, text, "nanobot_inbox_age_seconds"), time.Since(before).Seconds(); got < least || got > most {
		t.Errorf("the oldest waits for %g s, not between %g and %g", got, least, most)
	}
	if got := value(t, text, `nanobot_agents_resident_bytes{agent="default"}`); got < size || got > 20*size {
		t.Errorf("an agent with %d bytes has %g", size, got)
	}
	musttest.Do(t, os.WriteFile(filepath.Join(fx.dir, "go"), nil, 0o600))
	fx.await(`nanobot_turns_total{channel="net",outcome="silent",agent="default"} 2`, `nanobot_turns_running{agent="default"} 0`, `nanobot_inbox_age_seconds 0$`, `nanobot_agents_resident_bytes{agent="default"} 0$`)
}

func TestTheMemoryOfAnAgentIsThatOfItsChildrenToo(t *testing.T) {
	const size = 32_000_000
	child := fmt.Sprintf(`x=$(head -c %d /dev/zero | tr '\\0' x); touch up; while [ ! -e go ]; do sleep 0.01; done`, size)
	fx := newFixture(t, `read -r line; sh -c "`+strings.ReplaceAll(child, "$", `\$`)+`" & wait; echo over`, gateway.Settings{})
	fx.net.UserWrites("1", "u", "hello")
	fx.awaitFile("up")
	if got := value(t, fx.metrics(), `nanobot_agents_resident_bytes{agent="default"}`); got < size || got > 20*size {
		t.Errorf("an agent whose child has %d bytes has %g", size, got)
	}
	musttest.Do(t, os.WriteFile(filepath.Join(fx.dir, "go"), nil, 0o600))
	fx.await(`nanobot_turns_total{channel="net",outcome="done",agent="default"} 1`, `nanobot_agents_resident_bytes{agent="default"} 0$`)
}

func TestSendsAreCountedByWhatBecameOfThem(t *testing.T) {
	fx := newFixture(t, `echo hi`, gateway.Settings{AtMostOnce: true})
	var mu sync.Mutex
	tries := map[string]int{}
	fx.net.Fault = func(c gatewaytest.Call) gatewaytest.Fault {
		mu.Lock()
		defer mu.Unlock()
		tries[c.Chat]++
		switch {
		case c.Chat == "busy" && tries[c.Chat] <= 2:
			return gatewaytest.Fault{Status: http.StatusInternalServerError}
		case c.Chat == "gone":
			return gatewaytest.Fault{Status: http.StatusForbidden}
		case c.Chat == "far":
			return gatewaytest.Fault{Disconnect: true}
		}
		return gatewaytest.Fault{}
	}
	for _, chat := range []string{"busy", "gone", "far", "well"} {
		fx.net.UserWrites(chat, "u", "hello")
	}
	fx.await(`nanobot_sends_total{channel="net",result="retrying"} 2`, `nanobot_sends_total{channel="net",result="failed"} 1`,
		`nanobot_sends_total{channel="net",result="unknown"} 1`, `nanobot_sends_total{channel="net",result="sent"} 2`)
}

func TestWhatIsDownIsSaid(t *testing.T) {
	fx := newFixture(t, `echo hi`, gateway.Settings{})
	fx.await(`nanobot_channel_up{channel="net"} 1`, `nanobot_store_up 1`)
	fx.net.Close()
	fx.await(`nanobot_channel_up{channel="net"} 0`, `nanobot_store_up 1`)
	fx.stop()
	fx.await(`nanobot_store_up 0`)
}

// awaitFile waits until an agent has made a file.
func (fx *fixture) awaitFile(name string) {
	fx.t.Helper()
	for deadline := time.Now().Add(testTimeout); ; time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(fx.dir, name)); err == nil {
			return
		}
		if time.Now().After(deadline) {
			fx.t.Fatalf("no file %s", name)
		}
	}
}

// metrics is what Prometheus would be given.
func (fx *fixture) metrics() string {
	fx.t.Helper()
	res := musttest.Get(http.Get(fx.url))(fx.t)
	defer res.Body.Close()
	b := musttest.Get(io.ReadAll(res.Body))(fx.t)
	return string(b)
}

// value is that of a metric, whose name has its labels.
func value(t *testing.T, text, name string) float64 {
	t.Helper()
	_, rest, _ := strings.Cut(text, "\n"+name+" ")
	line, _, _ := strings.Cut(rest, "\n")
	v, err := strconv.ParseFloat(line, 64)
	if err != nil {
		t.Fatalf("%s: %v in:\n%s", name, err, text)
	}
	return v
}

// await waits until the metrics have all these lines, given as patterns.
func (fx *fixture) await(want ...string) {
	fx.t.Helper()
	var missing, text string
	for deadline := time.Now().Add(testTimeout); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		text, missing = fx.metrics(), ""
		for _, w := range want {
			pattern := strings.NewReplacer("{", `\{`, "}", `\}`).Replace(w)
			if !regexp.MustCompile(`(?m)^` + pattern).MatchString(text) {
				missing = w
			}
		}
		if missing == "" {
			return
		}
	}
	fx.t.Fatalf("no line %q in:\n%s", missing, text)
}
