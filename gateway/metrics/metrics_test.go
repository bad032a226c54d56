package metrics_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/config"
	"nanobot/gateway"
	"nanobot/gateway/gatewaytest"
	"nanobot/gateway/metrics"
	"nanobot/gateway/store/sqlite"
	"nanobot/terminal"
	"nanobot/terminal/rich"
)

const patience = 20 * time.Second

func TestWhatAGatewayDoesIsCounted(t *testing.T) {
	dir, net := t.TempDir(), gatewaytest.NewNetwork()
	t.Cleanup(net.Close)
	cfg := config.Default().Terminal
	cfg.Protocol = "rich"
	cfg.Command = `read -r line; case $line in *wait*) touch up; while [ ! -e go ]; do sleep 0.01; done;; *fail*) exit 4;; esac; echo hi`
	runner, err := terminal.NewRunner(terminal.Options{Config: cfg, Workspace: dir, Protocol: rich.Protocol{}, Environ: os.Environ(), Log: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	st, err := sqlite.Open(t.Context(), filepath.Join(dir, "state"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	m := metrics.New()
	g := gateway.New(gateway.Options{
		Channels: map[string]channels.Channel{"net": &gatewaytest.Channel{Name: "net", URL: net.URL}}, Store: st, MaxConcurrent: 1, Log: zap.NewNop(), Watch: m.Watch,
		Settings: gateway.Settings{Runner: runner, Progress: "edit", WhileRunning: "queue", QueueLimit: 9, OnCrash: "report", DrainTimeout: time.Second},
	})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- g.Run(ctx, nil) }()
	t.Cleanup(func() {
		cancel()
		<-ended
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	server := httptest.NewServer(m.Handler(g))
	t.Cleanup(server.Close)

	net.Say("1", "u", "hello")
	net.Say("2", "u", "fail")
	await(t, server.URL, `nanobot_turns_total{channel="net",outcome="done"} 1`, `nanobot_turns_total{channel="net",outcome="failed"} 1`,
		`nanobot_sends_total{channel="net",result="sent"} 2`, `nanobot_turn_seconds_count 2`,
		`nanobot_turns_running 0`, `nanobot_inbox_waiting 0`, `nanobot_inbox_age_seconds 0`, `nanobot_store_up 1`, `nanobot_channel_up{channel="net"} 1`,
		`nanobot_agents_resident_bytes 0`, `process_resident_memory_bytes [1-9]`)
	net.Say("3", "u", "wait")
	net.Say("4", "u", "hello")
	await(t, server.URL, `nanobot_turns_running 1`, `nanobot_inbox_waiting 1`, `nanobot_inbox_age_seconds [0-9.e-]*[1-9]`, `nanobot_agents_resident_bytes [1-9]`)
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	await(t, server.URL, `nanobot_turns_total{channel="net",outcome="done"} 3`)
}

// await waits until the metrics have all these lines, given as patterns.
func await(t *testing.T, url string, want ...string) {
	t.Helper()
	var missing, text string
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		res, err := http.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		text, missing = string(b), ""
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
	t.Fatalf("no line %q in:\n%s", missing, text)
}
