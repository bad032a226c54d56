package hooks_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/gateway/hooks"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

const secret = "It's a Secret to Everybody" // of the example in GitHub's documentation

// server is a handler on loopback and what it has accepted.
type server struct {
	t   *testing.T
	url string
	all map[string]hooks.Hook

	mu       sync.Mutex
	accepted []hooks.Message
	counted  []string
	failure  error
}

func newServer(t *testing.T, all map[string]hooks.Hook) *server {
	t.Helper()
	s := &server{t: t, all: all}
	h := httptest.NewServer(s.handler())
	t.Cleanup(h.Close)
	s.url = h.URL
	return s
}

func (s *server) handler() http.Handler {
	return hooks.New(hooks.Options{
		Hooks: func() map[string]hooks.Hook { return s.all }, Log: zap.NewNop(),
		Accept: func(_ context.Context, m hooks.Message) (bool, error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			known := slices.ContainsFunc(s.accepted, func(a hooks.Message) bool { return m.Key != "" && a.Key == m.Key })
			if s.failure == nil && !known {
				s.accepted = append(s.accepted, m)
			}
			return known, s.failure
		},
		Count: func(hook, status string) { s.counted = append(s.counted, hook+" "+status) },
	})
}

// call posts a body with headers, given as pairs, and returns the response without its body.
func (s *server) call(path, body string, headers ...string) *http.Response {
	s.t.Helper()
	r := musttest.Get(http.NewRequest(http.MethodPost, s.url+path, strings.NewReader(body)))(s.t)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	response := musttest.Get(http.DefaultClient.Do(r))(s.t)
	_, _ = io.Copy(io.Discard, response.Body)
	_ = response.Body.Close()
	return response
}

func newHook(auth hooks.Auth, template string) hooks.Hook {
	h := hooks.Hook{Auth: auth, Secret: secret, Chat: channels.Chat{Channel: "net", ID: "1"}, MaxBody: 1000}
	if template != "" {
		var err error
		if h.Template, err = hooks.ParseTemplate(template); err != nil {
			panic(err)
		}
	}
	return h
}

func sign(text string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(text))
	return hex.EncodeToString(mac.Sum(nil))
}

func TestACallIsAcceptedOnlyWithTheRightProof(t *testing.T) {
	began := time.Now()
	now := func(off time.Duration) string { return fmt.Sprint(began.Add(off).Unix()) }
	stripe := func(off time.Duration) string { return "t=" + now(off) + ",v1=" + sign(now(off)+".body") }
	hmacHook := newHook(hooks.HMAC, "x")
	hmacHook.Header = "X-Signature"
	s := newServer(t, map[string]hooks.Hook{
		"bearer": newHook(hooks.Bearer, "x"), "github": newHook(hooks.GitHub, "x"), "stripe": newHook(hooks.Stripe, "x"), "hmac": hmacHook,
	})
	for _, c := range []struct {
		hook, header, value string
		want                int
	}{
		{"bearer", "Authorization", "Bearer " + secret, 202},
		{"bearer", "Authorization", "bearer " + secret, 202},
		{"bearer", "Authorization", "Bearer " + secret + "x", 401},
		{"bearer", "Authorization", "Bearer ", 401},
		{"bearer", "Authorization", secret, 401},
		{"bearer", "X", "", 401},
		{"github", "X-Hub-Signature-256", "sha256=" + sign("body"), 202},
		{"github", "X-Hub-Signature-256", sign("body"), 401},
		{"github", "X-Hub-Signature-256", "sha256=" + sign("other"), 401},
		{"github", "X-Hub-Signature-256", "sha256=" + sign("body")[:62], 401},
		{"github", "X-Hub-Signature-256", "sha256=", 401},
		{"github", "Authorization", "Bearer " + secret, 401},
		{"stripe", "Stripe-Signature", stripe(0), 202},
		{"stripe", "Stripe-Signature", stripe(-4 * time.Minute), 202},
		{"stripe", "Stripe-Signature", stripe(4 * time.Minute), 202},
		{"stripe", "Stripe-Signature", stripe(-6 * time.Minute), 401},
		{"stripe", "Stripe-Signature", stripe(6 * time.Minute), 401},
		{"stripe", "Stripe-Signature", "t=" + now(0) + ",v1=" + sign("x") + ",v1=" + sign(now(0)+".body") + ",v0=1", 202},
		{"stripe", "Stripe-Signature", "v1=" + sign("body"), 401},
		{"stripe", "Stripe-Signature", "t=" + now(0) + ",v0=" + sign(now(0)+".body"), 401},
		{"hmac", "X-Signature", sign("body"), 202},
		{"hmac", "X-Signature", "sha256=" + strings.ToUpper(sign("body")), 202},
		{"hmac", "X-Signature", sign(""), 401},
		{"hmac", "X-Other", sign("body"), 401},
		{"unknown", "Authorization", "Bearer " + secret, 404},
		{"", "Authorization", "Bearer " + secret, 404},
		{"bearer/x", "Authorization", "Bearer " + secret, 404},
	} {
		if got := s.call("/hooks/"+c.hook, "body", c.header, c.value).StatusCode; got != c.want {
			t.Errorf("%s with %s: %s is %d, not %d", c.hook, c.header, c.value, got, c.want)
		}
	}
	wanttest.Equal(t, "accepted", len(s.accepted), 9)
	wanttest.Equal(t, "unknown names are counted as", s.counted[len(s.counted)-1], " 404")
}

// The example of https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries.
func TestTheSignatureInGitHubsDocumentationIsAccepted(t *testing.T) {
	s := newServer(t, map[string]hooks.Hook{"github": newHook(hooks.GitHub, "{{.}}")})
	response := s.call("/hooks/github", "Hello, World!",
		"X-Hub-Signature-256", "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17")
	wanttest.Equal(t, "status", response.StatusCode, 202)
	wanttest.Equal(t, "text", s.accepted[0].Text, `Hello, World\!`)
}

func TestAWrongTokenIsRefusedBeforeTheBodyIsRead(t *testing.T) {
	s := newServer(t, map[string]hooks.Hook{"bearer": newHook(hooks.Bearer, "x"), "github": newHook(hooks.GitHub, "x")})
	for _, name := range []string{"bearer", "github"} {
		conn := musttest.Get(net.Dial("tcp", strings.TrimPrefix(s.url, "http://")))(t)
		defer conn.Close()
		fmt.Fprintf(conn, "POST /hooks/%s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer wrong\r\nContent-Length: 900\r\n\r\n", name)
		line := make([]byte, 12)
		musttest.Get(io.ReadFull(conn, line))(t)
		wanttest.Equal(t, name, string(line), "HTTP/1.1 401")
	}
}

func TestACallThatCannotBeServedSaysWhy(t *testing.T) {
	s := newServer(t, map[string]hooks.Hook{"a": newHook(hooks.Bearer, "x")})
	token := []string{"Authorization", "Bearer " + secret}
	get := musttest.Get(http.Get(s.url + "/hooks/a"))(t)
	_ = get.Body.Close()
	wanttest.Equal(t, "GET", fmt.Sprint(get.StatusCode, get.Header["Allow"]), "405 [POST]")
	wanttest.Equal(t, "a body of the maximum", s.call("/hooks/a", strings.Repeat("x", 1000), token...).StatusCode, 202)
	wanttest.Equal(t, "a larger body", s.call("/hooks/a", strings.Repeat("x", 1001), token...).StatusCode, 413)
	r := musttest.Get(http.NewRequest(http.MethodPost, s.url+"/hooks/a", io.MultiReader(bytes.NewReader(make([]byte, 1001)))))(t)
	r.Header.Set(token[0], token[1]) // without a length
	response := musttest.Get(http.DefaultClient.Do(r))(t)
	_ = response.Body.Close()
	wanttest.Equal(t, "a larger body of unknown length", response.StatusCode, 413)
	for failure, want := range map[error]string{hooks.ErrFull: "429 10", hooks.ErrStopped: "503 1", errors.New("disk full"): "503 1"} {
		s.failure = failure
		response := s.call("/hooks/a", "", token...)
		wanttest.Equal(t, failure.Error(), fmt.Sprint(response.StatusCode, " ", response.Header.Get("Retry-After")), want)
	}
}

func TestAKnownKeyIsAcceptedAgainWithoutEffect(t *testing.T) {
	s := newServer(t, map[string]hooks.Hook{"a": newHook(hooks.Bearer, "x")})
	token := []string{"Authorization", "Bearer " + secret}
	long := strings.Repeat("k", 500)
	for i, c := range []struct {
		header, key string
		want        int
	}{
		{"Idempotency-Key", "1", 202},
		{"Idempotency-Key", "1", 200},
		{"X-GitHub-Delivery", "1", 200},
		{"X-GitHub-Delivery", "2", 202},
		{"Idempotency-Key", long, 202},
		{"Idempotency-Key", long, 200},
		{"Idempotency-Key", long + "x", 202},
		{"X", "1", 202},
		{"X", "1", 202},
	} {
		wanttest.Equal(t, fmt.Sprint(i), s.call("/hooks/a", "", append(token, c.header, c.key)...).StatusCode, c.want)
	}
	for _, m := range s.accepted {
		if len(m.Key) > 200 {
			t.Errorf("a key has %d characters", len(m.Key))
		}
	}
}

func TestAHookHasABurstOfCallsAndThenARate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{t: t, all: map[string]hooks.Hook{"a": newHook(hooks.Bearer, "x"), "b": newHook(hooks.Bearer, "x")}}
		h := s.handler()
		call := func(name, token string) *httptest.ResponseRecorder {
			r := httptest.NewRequest(http.MethodPost, "/hooks/"+name, nil)
			r.Header.Set("Authorization", "Bearer "+token)
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			return w
		}
		count := func(name string) (ok int) {
			for call(name, secret).Code == http.StatusAccepted {
				ok++
			}
			return ok
		}
		for range 200 {
			call("a", "wrong") // does not use up the rate of those who know the secret
		}
		wanttest.Equal(t, "burst", count("a"), 100)
		wanttest.Equal(t, "answer", call("a", secret).Header().Get("Retry-After"), "1")
		wanttest.Equal(t, "burst of another hook", count("b"), 100)
		time.Sleep(time.Second)
		wanttest.Equal(t, "a second later", count("a"), 10)
	})
}

func TestATemplateWithoutTextSendsNothing(t *testing.T) {
	s := newServer(t, map[string]hooks.Hook{"a": newHook(hooks.Bearer, "{{if .bad}}\n bad {{end}}\n")})
	token := []string{"Authorization", "Bearer " + secret}
	wanttest.Equal(t, "status", s.call("/hooks/a", `{"bad": 0}`, token...).StatusCode, 202)
	wanttest.Equal(t, "status", s.call("/hooks/a", `{"bad": 1}`, token...).StatusCode, 202)
	wanttest.Equal(t, "accepted", len(s.accepted), 1)
	wanttest.EqualSlices(t, "counted", s.counted, []string{"a silent", "a 202"})
}

func TestATemplateThatFailsGivesTheBodyToTheChat(t *testing.T) {
	h := newHook(hooks.Bearer, "ok\n{{index .list 5}}")
	h.Agent = "coder"
	s := newServer(t, map[string]hooks.Hook{"a": h})
	wanttest.Equal(t, "status", s.call("/hooks/a", `{"list":["`+"```"+`"]}`, "Authorization", "Bearer "+secret).StatusCode, 202)
	wanttest.Equal(t, "message", s.accepted[0], hooks.Message{
		Hook: "a", Chat: h.Chat, FailedLine: "2", Text: "````json\n{\n  \"list\": [\n    \"```\"\n  ]\n}\n````",
	})
}

func TestWithoutATemplateTheTextIsTheBody(t *testing.T) {
	agent := newHook(hooks.Bearer, "")
	agent.Agent, agent.MaxBody = "coder", 10000
	chat := newHook(hooks.Bearer, "")
	chat.MaxBody = 10000
	s := newServer(t, map[string]hooks.Hook{"chat": chat, "agent": agent})
	token := []string{"Authorization", "Bearer " + secret}
	long := strings.Repeat("ü", 2000)
	for body, want := range map[string]string{
		"a *b*\n": "```\na *b*\n```", `{"a":1}`: "```json\n{\n  \"a\": 1\n}\n```", " \n": "", "a\xffb": "```\na\ufffdb\n```",
		long: "```\n" + long[:3000] + "…\n```",
	} {
		s.call("/hooks/chat", body, token...)
		wanttest.Equal(t, body, s.accepted[len(s.accepted)-1].Text, want)
	}
	s.call("/hooks/agent", long, token...)
	wanttest.Equal(t, "an agent gets", s.accepted[len(s.accepted)-1].Text, "```\n"+long+"\n```")
}

func TestADeepBodyIsNotIndented(t *testing.T) {
	h := newHook(hooks.Bearer, "")
	h.MaxBody = 1 << 20
	s := newServer(t, map[string]hooks.Hook{"a": h})
	nested := func(levels int, inner string) string {
		return strings.Repeat("[", levels) + inner + strings.Repeat("]", levels)
	}
	for body, want := range map[string]string{
		nested(32, "1"):                                "```json\n[\n  [\n",
		`["` + nested(100, `\"`) + `"]`:                "```json\n[\n",
		nested(33, "1"):                                "```\n[[[",
		nested(9000, "1"+strings.Repeat(",1", 50_000)): "```\n[[[", // about 1 GB with indentation
	} {
		s.call("/hooks/a", body, "Authorization", "Bearer "+secret)
		if text := s.accepted[len(s.accepted)-1].Text; !strings.HasPrefix(text, want) {
			t.Errorf("a body of %d bytes is shown as %.40q, want %q", len(body), text, want)
		}
	}
}

func TestASlowBodyEndsTheCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{t: t, all: map[string]hooks.Hook{"a": newHook(hooks.Bearer, "x")}}
		client, conn := net.Pipe()
		listener := &oneConn{conn: conn, done: make(chan struct{})}
		srv := &http.Server{Handler: s.handler()}
		go func() { _ = srv.Serve(listener) }()
		go fmt.Fprintf(client, "POST /hooks/a HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Length: 9\r\n\r\nslow", secret)
		line := make([]byte, 12)
		musttest.Get(io.ReadFull(client, line))(t)
		wanttest.Equal(t, "answer", string(line), "HTTP/1.1 400")
		_ = client.Close()
		close(listener.done)
		_ = srv.Close()
	})
}

// oneConn is a listener with one connection.
type oneConn struct {
	conn net.Conn
	once sync.Once
	done chan struct{}
}

func (l *oneConn) Accept() (conn net.Conn, err error) {
	if l.once.Do(func() { conn = l.conn }); conn != nil {
		return conn, nil
	}
	<-l.done
	return nil, net.ErrClosed
}
func (l *oneConn) Close() error   { return nil }
func (l *oneConn) Addr() net.Addr { return &net.TCPAddr{} }

func TestProofsAreComparedInConstantTime(t *testing.T) {
	source := string(musttest.Get(os.ReadFile("auth.go"))(t))
	if strings.Count(source, "subtle.ConstantTimeCompare(proof, want)") != 1 || strings.Contains(source, "bytes.Equal") {
		t.Error("auth.go compares a proof in another way")
	}
}

func TestAnExampleIsPutThroughTheTemplate(t *testing.T) {
	github := newHook(hooks.GitHub, "{{header \"X-GitHub-Event\"}} to {{.repository.full_name}}")
	text := musttest.Get(github.Example(t.Context(), "a"))(t)
	wanttest.Equal(t, "text", text, "push to octocat/hello")
	for _, auth := range []hooks.Auth{hooks.Bearer, hooks.Stripe, hooks.HMAC} {
		h := newHook(auth, "ok")
		h.Header = "X-Signature"
		wanttest.Equal(t, string(auth), musttest.Get(h.Example(t.Context(), "a"))(t), "ok")
	}
	if _, err := newHook(hooks.Bearer, "{{index .list 5}}").Example(t.Context(), "a"); err == nil {
		t.Error("a template that fails is fine")
	}
}
