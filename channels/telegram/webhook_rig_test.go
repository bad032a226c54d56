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
)

// front is the public address of a bot, behind which one run of it follows the other.
type front struct {
	*httptest.Server
	mu   sync.Mutex
	now  http.Handler  // nil: the bot is down
	left int           // deliveries that are let through; below 0: all
	read chan struct{} // told of each update that the bot has read
}

func newFront(t *testing.T, s *telegramtest.Server) *front {
	t.Helper()
	f := &front{left: -1, read: make(chan struct{}, 1000)}
	f.Server = httptest.NewServer(f)
	t.Cleanup(func() {
		s.Close() // which hangs up first
		f.Close()
	})
	return f
}

func (f *front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	h := f.now
	if f.left == 0 {
		h = nil
	} else {
		f.left--
	}
	f.mu.Unlock()
	if h == nil {
		http.Error(w, "no such bot", http.StatusBadGateway)
		return
	}
	r.Body = told{r.Body, f.read}
	h.ServeHTTP(w, r)
}

// told is a body that tells when it was read.
type told struct {
	io.ReadCloser
	read chan<- struct{}
}

func (t told) Read(b []byte) (int, error) {
	n, err := t.ReadCloser.Read(b)
	if errors.Is(err, io.EOF) {
		select {
		case t.read <- struct{}{}:
		default:
		}
	}
	return n, err
}

// admit lets so many deliveries through, or all for -1.
func (f *front) admit(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.left = n
}

// hookRig is a channel in webhook mode.
type hookRig struct {
	*rig
	front *front
}

func newHookRig(t *testing.T, change ...func(*telegram.Options)) *hookRig {
	t.Helper()
	s := telegramtest.New(t)
	s.AddUser(telegramtest.User{ID: person, FirstName: "Ada", LastName: "L", Username: "ada"})
	return newHookRigOn(t, s, newFront(t, s), newHome(t), change...)
}

// newHookRigOn is a channel on a server and at an address that may have served another.
func newHookRigOn(t *testing.T, s *telegramtest.Server, f *front, h *home, change ...func(*telegram.Options)) *hookRig {
	t.Helper()
	s.SetWebhookRetry(5 * time.Millisecond)
	webhook := func(o *telegram.Options) {
		o.Mode, o.WebhookURL = "webhook", f.URL+"/hook"
		endless(o) // Telegram delivers the parts of an album one by one
	}
	r := &hookRig{newRigOn(t, s, h, append([]func(*telegram.Options){webhook}, change...)...), f}
	mux := http.NewServeMux()
	mux.Handle(r.Mount())
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now = mux
	return r
}

// again is another run of the same bot, as after a restart.
func (r *hookRig) again(change ...func(*telegram.Options)) *hookRig {
	r.t.Helper()
	return newHookRigOn(r.t, r.server, r.front, r.home, change...)
}

// taken waits until Telegram has nothing more to deliver, and returns what was received by then.
func (r *hookRig) taken() []channels.Incoming {
	r.t.Helper()
	if !r.server.AwaitPending(0, patience) {
		r.t.Fatalf("%d updates are not taken: %+v\n%s", r.server.PendingUpdates(), r.server.Deliveries(), r.logged())
	}
	return r.inbox.Messages()
}

// delivered waits until so many deliveries were answered, and returns all.
func (r *hookRig) delivered(n int) []telegramtest.Delivery {
	r.t.Helper()
	all, ok := r.server.AwaitDeliveries(patience, func(all []telegramtest.Delivery) bool {
		done := 0
		for _, d := range all {
			if d.Done {
				done++
			}
		}
		return done >= n
	})
	if !ok {
		r.t.Fatalf("the deliveries are %+v\n%s", all, r.logged())
	}
	return all
}

// registered waits for the webhook, and returns how it was set.
func (r *hookRig) registered() telegramtest.Call {
	r.t.Helper()
	return r.until("setWebhook", func(c []telegramtest.Call) bool { return len(c) > 0 && c[len(c)-1].Done })[0]
}

// post delivers an update ourselves, and returns the status and what was said.
func (r *hookRig) post(secret, body string) (int, string) {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), http.MethodPost, r.front.URL+"/hook", strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("X-Telegram-Bot-Api-Secret-Token", secret)
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	resp, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	said, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(said)
}

// bring delivers an update until it is taken, as Telegram does.
func (r *hookRig) bring(secret, update string) {
	r.t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		status, _ := r.post(secret, update)
		if status == http.StatusOK {
			return
		}
		if status != http.StatusServiceUnavailable || time.Now().After(deadline) {
			r.t.Fatalf("answered %d", status)
		}
	}
}
