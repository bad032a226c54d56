package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"nanobot/channels"
	"nanobot/cmd/nanobot/exit"
	"nanobot/config"
	"nanobot/gateway/gatewaytest"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// mountedChannel is a channel with an HTTP handler.
type mountedChannel struct {
	*gatewaytest.Channel
	handler http.HandlerFunc
}

func (m mountedChannel) Mount() (string, http.Handler) { return "POST /in", m.handler }

// startWeb serves what a channel mounts, and returns the server's address and a function that stops
// it.
func startWeb(t *testing.T, h http.HandlerFunc) (url string, stop func(), logs *observer.ObservedLogs) {
	t.Helper()
	core, logs := observer.New(zapcore.InfoLevel)
	open := map[string]channels.Channel{"telegram": mountedChannel{handler: h}}
	w := musttest.Get(openSite(t.Context(), siteOptions{cfg: &config.Config{HTTP: config.HTTP{Listen: "127.0.0.1:0"}}, channels: open, log: zap.New(core)}))(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- w.run(ctx) }()
	stop = func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("run returned %v", err)
		}
	}
	return "http://" + w.server.Addr().String(), stop, logs
}

func httpRequest(t *testing.T, method, url string) (int, string) {
	t.Helper()
	req := musttest.Get(http.NewRequestWithContext(t.Context(), method, url, nil))(t)
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	resp, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err.Error()
	}
	return resp.StatusCode, string(b)
}

func TestTheServerReportsItsHealthAndServesTheHandlersOfChannels(t *testing.T) {
	t.Parallel()
	url, stop, _ := startWeb(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusAccepted) })
	defer stop()
	for request, want := range map[[2]string]int{
		{"GET", "/healthz"}: 200, {"POST", "/healthz"}: 405, {"POST", "/in"}: 202, {"GET", "/in"}: 405, {"GET", "/"}: 404,
	} {
		status, body := httpRequest(t, request[0], url+request[1])
		if status != want || want == 200 && body != "ok\n" {
			t.Errorf("%v is answered %d %q", request, status, body)
		}
	}
}

func TestAHandlerThatPanicsIsAnsweredAndLoggedAndHarmsNobody(t *testing.T) {
	t.Parallel()
	half := false
	url, stop, logs := startWeb(t, func(w http.ResponseWriter, _ *http.Request) {
		if half {
			_, _ = io.WriteString(w, strings.Repeat("half an answer ", 10000))
		}
		panic("broken")
	})
	defer stop()
	if status, _ := httpRequest(t, "POST", url+"/in"); status != http.StatusInternalServerError {
		t.Errorf("answered %d", status)
	}
	half = true
	if status, body := httpRequest(t, "POST", url+"/in"); status != 0 {
		t.Errorf("half an answer looks like a whole one: %d, %d bytes", status, len(body))
	}
	if status, _ := httpRequest(t, "GET", url+"/healthz"); status != 200 {
		t.Errorf("afterwards it answers %d", status)
	}
	wanttest.Equal(t, "logged … times:", logs.FilterMessage("request handler panicked").Len(), 2)
}

func TestTheServerLetsRequestsEndWhenItStops(t *testing.T) {
	t.Parallel()
	began, let := make(chan struct{}), make(chan struct{})
	url, stop, _ := startWeb(t, func(http.ResponseWriter, *http.Request) { close(began); <-let })
	status := make(chan int, 1)
	go func() {
		got, _ := httpRequest(t, "POST", url+"/in")
		status <- got
	}()
	select {
	case <-began:
	case got := <-status:
		t.Fatalf("the request is answered %d, and never began", got)
	}
	stopped := make(chan struct{})
	go func() { stop(); close(stopped) }()
	for deadline := time.Now().Add(waitTimeout); ; { // until it takes nothing new
		conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
		if err != nil {
			break
		}
		conn.Close()
		if time.Now().After(deadline) {
			t.Fatal("it still listens")
		}
	}
	close(let)
	wanttest.Equal(t, "a request under way was answered", <-status, 200)
	<-stopped
}

func TestAChannelThatIsMountedNeedsAnAddress(t *testing.T) {
	t.Parallel()
	open := map[string]channels.Channel{"net": mountedChannel{handler: http.NotFound}}
	_, err := openSite(t.Context(), siteOptions{cfg: &config.Config{}, channels: open, log: zap.NewNop()})
	if err == nil || !strings.Contains(err.Error(), "http.listen: must be set, because channels.net") {
		t.Errorf("openSite returned %v", err)
	}
	if w, err := openSite(t.Context(), siteOptions{cfg: &config.Config{}, channels: map[string]channels.Channel{"net": &gatewaytest.Channel{}}, log: zap.NewNop()}); w != nil || err != nil {
		t.Errorf("without one, openSite returned %v, %v", w, err)
	}
}

func TestAnAddressThatIsTakenEndsTheDaemonInOneLine(t *testing.T) {
	t.Parallel()
	taken := musttest.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer taken.Close()
	net := gatewaytest.NewNetwork()
	defer net.Close()
	cfg := filepath.Join(t.TempDir(), "config.json")
	text := `{"terminal": {"command": "echo"}, "http": {"listen": ` + strconv.Quote(taken.Addr().String()) + `}, "log": {"level": "error"}` + anybody
	musttest.Do(t, os.WriteFile(cfg, []byte(text), 0o600))
	cmd := programCommand(t, "serve", "--config", cfg)
	cmd.Env = append(cmd.Env, "TEST_NETWORK_URL="+net.URL)
	out, err := cmd.CombinedOutput()
	if got := cmd.ProcessState.ExitCode(); err == nil || got != exit.Failed {
		t.Errorf("status %d", got)
	}
	if lines := strings.Count(string(out), "\n"); lines != 1 || !strings.Contains(string(out), "http.listen: listen tcp") {
		t.Errorf("it says %q", out)
	}
}

func TestAWebhookWithoutAnAddressIsAMistakeInTheConfig(t *testing.T) {
	t.Parallel()
	cfg := filepath.Join(t.TempDir(), "config.json")
	text := `{"channels": {"telegram": {"enabled": true, "token": "1:x",
		"mode": "webhook"}}}`
	musttest.Do(t, os.WriteFile(cfg, []byte(text), 0o600))
	for _, command := range []string{"check-config", "serve"} {
		cmd := programCommand(t, command, "--config", cfg)
		out, _ := cmd.CombinedOutput()
		for _, want := range []string{"config.json:2:11: http.listen: must be set", "config.json:2:11: channels.telegram.webhookUrl: must be set"} {
			if got := cmd.ProcessState.ExitCode(); got != exit.Config || !strings.Contains(string(out), want) {
				t.Errorf("%s ends with %d: %s", command, got, out)
			}
		}
	}
}

func TestTheOperatorsAPIAndTheMetricsNeedTheToken(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		http string
		httpHeaders
		api, metrics int
	}{
		"nobody can be let in":      {``, nil, http.StatusNotFound, http.StatusForbidden},
		"asked by a proxy":          {``, httpHeaders{"X-Forwarded-For": "192.0.2.7"}, http.StatusNotFound, http.StatusForbidden},
		"asked by another name":     {``, httpHeaders{"Host": "evil.example"}, http.StatusNotFound, http.StatusMisdirectedRequest},
		"asked by the proxy's name": {`, "hosts": ["bot.example.com"]`, httpHeaders{"Host": "bot.example.com"}, http.StatusNotFound, http.StatusForbidden},
		"without the token":         {`, "token": "0123456789-0123456789"`, nil, http.StatusUnauthorized, http.StatusUnauthorized},
		"with the token":            {`, "token": "0123456789-0123456789"`, httpHeaders{"Authorization": "Bearer 0123456789-0123456789"}, http.StatusOK, http.StatusOK},
	} {
		t.Run(name, func(t *testing.T) {
			listen := freeAddress(t)
			b := startBot(t, `{"terminal": {"command": "echo hi"}, "http": {"listen": "`+listen+`"`+c.http+`}`+anybody)
			b.awaitLog("ready")
			for path, want := range map[string]int{
				"/api/turns": c.api, "/api/undelivered": c.api, "/api/schedules": c.api, "/api/usage": c.api, "/api/health": c.api, "/metrics": c.metrics, "/healthz": 200, "/readyz": 200,
			} {
				if status, body := httpGet(t, "http://"+listen+path, c.httpHeaders); status != want || path == "/metrics" && want == 200 && !strings.Contains(body, `nanobot_channel_up{channel="net"} 1`) {
					t.Errorf("%s: %d, want %d: %s", path, status, want, body)
				}
			}
		})
	}
}

func TestOnAnAddressThatOthersReachMetricsNeedTheToken(t *testing.T) {
	for cfg, want := range map[string]int{``: http.StatusForbidden, `, "token": "0123456789-0123456789"`: http.StatusUnauthorized} {
		_, port, _ := net.SplitHostPort(freeAddress(t))
		b := startBot(t, `{"terminal": {"command": "echo hi"}, "http": {"listen": "0.0.0.0:`+port+`"`+cfg+`}`+anybody)
		b.awaitLog("ready")
		if status, body := httpGet(t, "http://127.0.0.1:"+port+"/metrics", nil); status != want {
			t.Errorf("%q: %d %s", cfg, status, body)
		}
	}
}

type httpHeaders map[string]string

// httpGet makes a GET request with headers; Host sets the host of the request.
func httpGet(t *testing.T, url string, h httpHeaders) (int, string) {
	t.Helper()
	req := musttest.Get(http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil))(t)
	for k, v := range h {
		req.Header.Set(k, v)
	}
	req.Host = h["Host"]
	resp := musttest.Get(http.DefaultClient.Do(req))(t)
	defer resp.Body.Close()
	body := musttest.Get(io.ReadAll(resp.Body))(t)
	return resp.StatusCode, string(body)
}

func TestATokenThatIsTooShortIsAMistakeWhereverItIsKept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	musttest.Do(t, os.WriteFile(filepath.Join(dir, "short"), []byte("fifteen-letters\n"), 0o600))
	for _, token := range []string{"env:TEST_SHORT", "file:short", "cred:short"} {
		cfg := filepath.Join(dir, "config.json")
		text := `{"terminal": {"command": "echo"}, "channels": {"web": {"enabled": true}}, "http": {"listen": "127.0.0.1:0", "token": "` + token + `"}, "log": {"level": "error"}}`
		musttest.Do(t, os.WriteFile(cfg, []byte(text), 0o600))
		ctx, cancel := context.WithTimeout(t.Context(), waitTimeout) // or it would serve
		defer cancel()
		cmd := exec.CommandContext(ctx, os.Args[0], "serve", "--config", cfg)
		cmd.Env = append(environWithoutTestSettings(), "NANOBOT_TEST_MAIN=1", "TEST_SHORT=fifteen-letters", "CREDENTIALS_DIRECTORY="+dir)
		out, _ := cmd.CombinedOutput()
		if got := cmd.ProcessState.ExitCode(); got != exit.Config || !strings.Contains(string(out), "http.token: must have at least 16 characters") || strings.Contains(string(out), "fifteen") {
			t.Errorf("%s ends with %d: %s", token, got, out)
		}
	}
}

// awaitResponse repeats a GET request until it has this status and text.
func awaitResponse(t *testing.T, url string, status int, has string) {
	t.Helper()
	for deadline := time.Now().Add(waitTimeout); ; time.Sleep(20 * time.Millisecond) {
		got, body := httpGet(t, url, nil)
		if got == status && strings.Contains(body, has) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s never says %d %q, but %d %s", url, status, has, got, body)
		}
	}
}

func TestAChannelThatIsDownMakesTheDaemonNotReady(t *testing.T) {
	listen := freeAddress(t)
	scrape := freeAddress(t)
	b := startBot(t, `{"terminal": {"command": "echo hi"}, "http": {"listen": "`+listen+`", "metricsListen": "`+scrape+`"}`+anybody)
	b.awaitLog("ready")
	awaitResponse(t, "http://"+listen+"/readyz", 200, "ready\n")
	b.net.Close()
	awaitResponse(t, "http://"+listen+"/readyz", 503, "not ready net\n")
	awaitResponse(t, "http://"+scrape+"/metrics", 200, `nanobot_channel_up{channel="net"} 0`)
	awaitResponse(t, "http://"+listen+"/healthz", 200, "ok\n") // it lives
}

func TestAStateThatCannotBeWrittenToMakesTheDaemonNotReady(t *testing.T) {
	t.Parallel()
	listen := freeAddress(t)
	scrape := freeAddress(t)
	b := startBot(t, `{"terminal": {"command": "echo hi"}, "http": {"listen": "`+listen+`", "metricsListen": "`+scrape+`"}`+anybody)
	b.awaitLog("ready")
	unlock := b.lockState()
	awaitResponse(t, "http://"+listen+"/readyz", 503, "not ready\n")
	awaitResponse(t, "http://"+scrape+"/metrics", 200, "nanobot_store_up 0")
	unlock()
	awaitResponse(t, "http://"+listen+"/readyz", 200, "ready\n")
	awaitResponse(t, "http://"+scrape+"/metrics", 200, "nanobot_store_up 1")
}
