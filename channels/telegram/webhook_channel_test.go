package telegram_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"nanobot/channels"
	"nanobot/channels/telegram"
	"nanobot/channels/telegram/telegramtest"
	"nanobot/internal/musttest"
)

// webhookProxy is the public address of a bot. It outlives the runs of the bot.
type webhookProxy struct {
	*httptest.Server
	mu        sync.Mutex
	current   http.Handler  // nil if the bot is down
	remaining int           // number of deliveries that are let through; negative means all
	read      chan struct{} // receives a value for each update that the bot has read
}

func newWebhookProxy(t *testing.T, s *telegramtest.Server) *webhookProxy {
	t.Helper()
	f := &webhookProxy{remaining: -1, read: make(chan struct{}, 1000)}
	f.Server = httptest.NewServer(f)
	t.Cleanup(func() {
		s.Close() // it closes its connections first
		f.Close()
	})
	return f
}

func (f *webhookProxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	h := f.current
	if f.remaining == 0 {
		h = nil
	} else {
		f.remaining--
	}
	f.mu.Unlock()
	if h == nil {
		http.Error(w, "no such bot", http.StatusBadGateway)
		return
	}
	r.Body = observedBody{r.Body, f.read}
	h.ServeHTTP(w, r)
}

// observedBody is a body that reports when it was read.
type observedBody struct {
	io.ReadCloser
	read chan<- struct{}
}

func (t observedBody) Read(b []byte) (int, error) {
	n, err := t.ReadCloser.Read(b)
	if errors.Is(err, io.EOF) {
		select {
		case t.read <- struct{}{}:
		default:
		}
	}
	return n, err
}

// letThrough sets how many deliveries are let through; -1 means all.
func (f *webhookProxy) letThrough(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.remaining = n
}

// webhookChannel is a channel in webhook mode.
type webhookChannel struct {
	*testChannel
	proxy *webhookProxy
}

func newWebhookChannel(t *testing.T, change ...func(*telegram.Options)) *webhookChannel {
	t.Helper()
	s := telegramtest.New(t)
	s.AddUser(telegramtest.User{ID: person, FirstName: "Ada", LastName: "L", Username: "ada"})
	return newWebhookChannelOn(t, s, newWebhookProxy(t, s), newBotState(t), change...)
}

// newWebhookChannelOn returns a channel on a server and a proxy that may have served another
// channel.
func newWebhookChannelOn(t *testing.T, s *telegramtest.Server, f *webhookProxy, h *botState, change ...func(*telegram.Options)) *webhookChannel {
	t.Helper()
	s.SetWebhookRetry(5 * time.Millisecond)
	webhook := func(o *telegram.Options) {
		o.Mode, o.WebhookURL = "webhook", f.URL+"/hook"
		waitForFullAlbum(o) // Telegram delivers the parts of an album one by one
	}
	r := &webhookChannel{newTestChannelOn(t, s, h, append([]func(*telegram.Options){webhook}, change...)...), f}
	mux := http.NewServeMux()
	mux.Handle(r.Mount())
	f.mu.Lock()
	defer f.mu.Unlock()
	f.current = mux
	return r
}

// restart returns another channel for the same bot, as after a restart.
func (r *webhookChannel) restart(change ...func(*telegram.Options)) *webhookChannel {
	r.t.Helper()
	return newWebhookChannelOn(r.t, r.server, r.proxy, r.state, change...)
}

// receivedAll waits until the server has no pending updates, and returns the received messages.
func (r *webhookChannel) receivedAll() []channels.Incoming {
	r.t.Helper()
	if !r.server.AwaitPending(0, waitLimit) {
		r.t.Fatalf("%d updates are not taken: %+v\n%s", r.server.PendingUpdates(), r.server.Deliveries(), r.LogText())
	}
	return r.Recorder.Messages()
}

// waitForDeliveries waits until n deliveries were answered, and returns all of them.
func (r *webhookChannel) waitForDeliveries(n int) []telegramtest.Delivery {
	r.t.Helper()
	all, ok := r.server.AwaitDeliveries(waitLimit, func(all []telegramtest.Delivery) bool {
		done := 0
		for _, d := range all {
			if d.Done {
				done++
			}
		}
		return done >= n
	})
	if !ok {
		r.t.Fatalf("the deliveries are %+v\n%s", all, r.LogText())
	}
	return all
}

// waitForRegistration waits for setWebhook, and returns the call.
func (r *webhookChannel) waitForRegistration() telegramtest.Call {
	r.t.Helper()
	return r.server.WaitForCalls(r.t, "setWebhook", func(c []telegramtest.Call) bool { return len(c) > 0 && c[len(c)-1].Done })[0]
}

// postUpdate delivers an update to the webhook, and returns the status and the body of the
// response.
func (r *webhookChannel) postUpdate(secret, body string) (int, string) {
	r.t.Helper()
	req := musttest.Get(http.NewRequestWithContext(r.t.Context(), http.MethodPost, r.proxy.URL+"/hook", strings.NewReader(body)))(r.t)
	req.Header.Set("X-Telegram-Bot-Api-Secret-Token", secret)
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	resp := musttest.Get((&http.Client{Transport: transport}).Do(req))(r.t)
	defer resp.Body.Close()
	said, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(said)
}

// deliverUntilAccepted delivers an update until the webhook accepts it, as Telegram does.
func (r *webhookChannel) deliverUntilAccepted(secret, update string) {
	r.t.Helper()
	for deadline := time.Now().Add(waitLimit); ; time.Sleep(5 * time.Millisecond) {
		status, _ := r.postUpdate(secret, update)
		if status == http.StatusOK {
			return
		}
		if status != http.StatusServiceUnavailable || time.Now().After(deadline) {
			r.t.Fatalf("answered %d", status)
		}
	}
}
