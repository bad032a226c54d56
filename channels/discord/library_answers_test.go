package discord_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bwmarrin/discordgo"

	"nanobot/channels"
	"nanobot/channels/discord"
	"nanobot/channels/discord/discordtest"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// changeResponse changes the responses to requests by their method and the end of their path.
func changeResponse(method, ending string, change func(h http.Header, body []byte) []byte) func(*discord.Options) {
	return func(o *discord.Options) {
		next := o.Client.Transport
		o.Client.Transport = roundTrip(func(req *http.Request) (*http.Response, error) {
			resp, err := next.RoundTrip(req)
			if err != nil || req.Method != method || !strings.HasSuffix(req.URL.Path, ending) {
				return resp, err
			}
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			resp.Body = io.NopCloser(bytes.NewReader(change(resp.Header, body)))
			return resp, err
		})
	}
}

// strange is a response that the library cannot decode.
const strange = `{"id": "123", "channel_id": 4, "timestamp": "soon", "components": [{"type": 99}], "type": "new"}`

func TestTheLibraryCannotDecodeTheAnswersOfTheseTests(t *testing.T) {
	if json.Unmarshal([]byte(strange), &discordgo.Message{}) == nil || json.Unmarshal([]byte(`{"type": "new"}`), &discordgo.Channel{}) == nil {
		t.Error("the library decodes them")
	}
}

func TestAnAnswerThatIsNewToTheLibraryIsNoFailure(t *testing.T) {
	r := newTestChannel(t, withThreads)
	r.server.SetFault(func(c discordtest.Call) discordtest.Fault {
		switch c.Route {
		case discordtest.CreateMessage, discordtest.EditMessage, discordtest.StartThreadFromMessage, discordtest.PutCommands, discordtest.EditOriginal:
			return discordtest.Fault{Body: strange}
		case discordtest.GetCommands:
			return discordtest.Fault{Body: `[null, {"contexts": "everywhere", "options": [null]}]`}
		}
		return discordtest.Fault{}
	})
	ch := r.server.AddChannel(r.server.AddGuild("home").ID, "general").ID
	r.startConnected()
	receipt, err := r.Send(t.Context(), r.PlanText("hello"))
	if err != nil || receipt.ID != "123" {
		t.Errorf("sent as %+v, %v", receipt, err)
	}
	file := r.MustPlan(channels.Message{Chat: chatOf(r.dm), Text: "a file", Media: []channels.File{r.WriteFile("a.txt", []byte("a"))}})[0]
	if receipt, err = r.Send(t.Context(), file); err != nil || receipt.ID != "123" {
		t.Errorf("sent with a file as %+v, %v", receipt, err)
	}
	shown := r.server.BotMessages(r.dm)
	if len(shown) != 2 {
		t.Fatalf("shown is %+v", shown)
	}
	if err := r.Edit(t.Context(), shown[0].ID, r.PlanText("edited")); err != nil {
		t.Error(err)
	}
	m := r.server.UserSends(ch, ada, "<@"+r.server.Bot.ID+"> opens a thread")
	if got := r.WaitForMessages(1)[0]; got.ThreadID != m.ID {
		t.Errorf("received %+v", got)
	}
	r.server.WaitForCalls(r.t, discordtest.PutCommands, func(c []discordtest.Call) bool { return len(c) == 1 && c[0].Done })
	r.runCommand(r.dm, ada, "ask", map[string]any{"text": "hello"})
	r.server.WaitForCalls(r.t, discordtest.EditOriginal, func(c []discordtest.Call) bool { return len(c) == 1 && c[0].Done })
	if log := r.LogText(); strings.Contains(log, "not registered") || strings.Contains(log, "not shown") || strings.Contains(log, "not opened") {
		t.Errorf("the log is %s", log)
	}
}

// The library would panic: see TestTheLibraryPanicsIfTheGatewayIsNull.
func TestAGatewayThatIsNullIsAskedForAgain(t *testing.T) {
	r := newTestChannel(t)
	r.server.FailNext(discordtest.GetGatewayBot, discordtest.Fault{Body: "null"})
	r.startConnected()
}

func TestAGatewayIsReachedWhateverNobodyReadsOfIt(t *testing.T) {
	r := newTestChannel(t, changeResponse(http.MethodGet, "/gateway/bot", func(_ http.Header, body []byte) []byte {
		body = bytes.Replace(body, []byte("{"), []byte(`{"shards":"many","since":{},`), 1)
		body = bytes.Replace(body, []byte(`"session_start_limit":{`), []byte(`"session_start_limit":{"max_concurrency":"high",`), 1)
		if json.Unmarshal(body, &discordgo.GatewayBotResponse{}) == nil {
			t.Errorf("the library decodes %s", body)
		}
		return body
	}))
	r.startConnected()
}

// The library would drop the answer.
func TestRateLimitsThatCannotBeReadCostNoReceipt(t *testing.T) {
	r := newTestChannel(t, changeResponse(http.MethodPost, "/messages", func(h http.Header, body []byte) []byte {
		h.Set("X-RateLimit-Remaining", "many")
		h.Set("X-RateLimit-Reset-After", "soon")
		return body
	}))
	r.SendAnswer(channels.Message{Text: "hello"})
}

func TestAStrangeMessageInTheHistoryCostsNoOther(t *testing.T) {
	const said = 100
	r := newTestChannel(t, changeResponse(http.MethodGet, "/messages", func(_ http.Header, body []byte) []byte {
		var page []map[string]any
		if err := json.Unmarshal(body, &page); err != nil {
			t.Error(err)
		}
		for _, m := range page {
			switch m["content"] {
			case "7": // new to the library
				m["components"] = []any{map[string]any{"type": 99}}
			case "31": // new to us
				m["attachments"] = "none"
			}
		}
		body, err := json.Marshal(append(append([]any{nil}, toAny(page)...), "?"))
		if err != nil {
			t.Error(err)
		}
		return body
	}))
	for i := range said {
		r.server.UserSends(r.dm, ada, strconv.Itoa(i))
	}
	r.start()
	want := slices.DeleteFunc(numberStrings(said), func(s string) bool { return s == "31" })
	wanttest.EqualSlices(t, "received", textsOf(r.WaitForMessages(said-1)), want)
	r.WaitForLog("undecodable message skipped")
}

func toAny[T any](all []T) (out []any) {
	for _, one := range all {
		out = append(out, one)
	}
	return out
}

func numberStrings(n int) (out []string) {
	for i := range n {
		out = append(out, strconv.Itoa(i))
	}
	return out
}

func TestSecretsInTheErrorsOfTheNetworkAreHidden(t *testing.T) {
	t.Parallel()
	var signature atomic.Value // of the address of an attachment
	r := newTestChannel(t, func(o *discord.Options) {
		o.Timing.Response = time.Second
		next := o.Client.Transport
		o.Client.Transport = roundTrip(func(req *http.Request) (*http.Response, error) {
			if strings.Contains(req.URL.Path, "/attachments/") {
				signature.Store(req.URL.RawQuery)
			}
			if strings.Contains(req.URL.Path, "/interactions/") || strings.Contains(req.URL.Path, "/attachments/") {
				return nil, fmt.Errorf("cannot reach %s, that is %s with %s", req.URL, req.URL.Path, req.URL.RawQuery)
			}
			return next.RoundTrip(req)
		})
	})
	r.SetMenu(menu)
	r.startConnected()
	r.server.WaitForCalls(r.t, discordtest.PutCommands, func(c []discordtest.Call) bool { return len(c) == 1 && c[0].Done })
	i := r.runCommand(r.dm, ada, "ask", map[string]any{"text": "hello"})
	r.server.UserSends(r.dm, ada, "look", discordtest.File{Name: "a.txt", Content: []byte("a")})
	r.WaitForLog("interaction not acknowledged")
	r.WaitForLog("file not downloaded")
	for _, secret := range []string{i.Token, signature.Load().(string)} {
		if log := r.LogText(); len(secret) < 10 || strings.Contains(log, secret) {
			t.Errorf("%q is in the log: %s", secret, log)
		}
	}
}

// The token of an interaction may have a slash, which is written in another way in an address.
func TestAnEscapedSecretIsHiddenHoweverItIsWritten(t *testing.T) {
	below := &http.Client{Transport: roundTrip(func(req *http.Request) (*http.Response, error) {
		return nil, fmt.Errorf("cannot reach %s, that is %s", req.URL, req.URL.Path)
	})}
	transport := discord.NewTransport("http://127.0.0.1/api/v10", "MTE.abc.def", below)
	req := musttest.Get(http.NewRequestWithContext(discord.WithRecord(t.Context()), http.MethodPost, discordgo.EndpointInteractionResponse("1", "se%2Fcret"), http.NoBody))(t)
	resp, err := transport.RoundTrip(req)
	if err == nil {
		resp.Body.Close()
		t.Fatal("it was answered")
	}
	if strings.Contains(err.Error(), "cret") {
		t.Errorf("the token is in %q", err)
	}
}

// countedBody is a body that counts how often it was closed.
type countedBody struct {
	io.Reader
	closed int
}

func (b *countedBody) Close() error {
	b.closed++
	return nil
}

func TestABodyIsClosedAlsoIfItIsNotSent(t *testing.T) {
	transport := discord.NewTransport("http://127.0.0.1/api/v10", "MTE.abc.def", nil)
	for _, address := range []string{discordgo.EndpointCDNAvatars, discordgo.EndpointChannelMessages("1")} {
		body := &countedBody{Reader: strings.NewReader("{}")}
		req := musttest.Get(http.NewRequestWithContext(t.Context(), http.MethodPost, address, body))(t)
		resp, err := transport.RoundTrip(req)
		if err == nil {
			resp.Body.Close()
			t.Fatal("it was answered")
		}
		wanttest.Equal(t, address+": the body was closed … times:", body.closed, 1)
	}
}

func TestAnAnswerWithoutEndIsCutOff(t *testing.T) {
	r := newTestChannel(t, func(o *discord.Options) {
		o.Client.Transport = roundTrip(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(&endlessSpaces{t: t})}, nil
		})
	})
	if got := r.MustFailSend(t.Context(), r.PlanText("hello")); !got.Unknown {
		t.Errorf("it means %+v", got)
	}
}

// endlessSpaces is a response body of spaces that must not be read to its end.
type endlessSpaces struct {
	t    *testing.T
	read int
}

func (s *endlessSpaces) Read(p []byte) (int, error) {
	if s.read > 64<<20 {
		s.t.Error("64 MiB of an answer were read")
		return 0, io.EOF
	}
	for i := range p {
		p[i] = ' '
	}
	s.read += len(p)
	return len(p), nil
}
