package discord_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
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
)

// libraryOnly is a transport that fails the test when it is given a request that discordgo has not
// made. The rig puts it below every channel. Uploads and downloads are the exceptions.
type libraryOnly struct {
	t    testing.TB
	next http.RoundTripper
}

func (l libraryOnly) RoundTrip(req *http.Request) (*http.Response, error) {
	upload := req.Method == http.MethodPost && strings.HasPrefix(req.Header.Get("Content-Type"), "multipart/form-data;")
	download := req.Method == http.MethodGet && strings.HasPrefix(req.URL.Path, "/attachments/")
	if !upload && !download && !madeByLibrary() {
		l.t.Errorf("%s %s was not made by discordgo", req.Method, req.URL.Path)
	}
	return l.next.RoundTrip(req)
}

func (l libraryOnly) CloseIdleConnections() { (&http.Client{Transport: l.next}).CloseIdleConnections() }

// madeByLibrary tells whether the library is among the callers. A client calls its transport in the
// goroutine of its own caller.
func madeByLibrary() bool {
	callers := make([]uintptr, 100)
	frames := runtime.CallersFrames(callers[:runtime.Callers(0, callers)])
	for {
		frame, more := frames.Next()
		if strings.HasPrefix(frame.Function, "github.com/bwmarrin/discordgo.(*Session).") {
			return true
		}
		if !more {
			return false
		}
	}
}

func TestTheRigTellsCallsOfTheLibraryFromOthers(t *testing.T) {
	var made []bool
	client := &http.Client{Transport: roundTrip(func(*http.Request) (*http.Response, error) {
		made = append(made, madeByLibrary())
		return &http.Response{StatusCode: http.StatusNoContent, Body: http.NoBody}, nil
	})}
	s := &discordgo.Session{Client: client, Ratelimiter: discordgo.NewRatelimiter()}
	if err := s.ChannelTyping("1", discordgo.WithContext(t.Context())); err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, discordgo.EndpointChannelTyping("1"), http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if !slices.Equal(made, []bool{true, false}) {
		t.Errorf("made by the library: %v", made)
	}
}

// The rig fails this test if a call does not come through the library.
func TestAConversationUsesEveryRouteThroughTheLibrary(t *testing.T) {
	r := newRig(t, all, threads)
	r.SetMenu(menu)
	g := r.server.AddGuild("home")
	general := r.server.AddChannel(g.ID, "general").ID
	r.connected()
	r.until(discordtest.PutCommands, func(c []discordtest.Call) bool { return len(c) == 1 && c[0].Done })
	r.server.Say(general, ada, "opens a thread")
	r.wait(1)
	r.slash(r.dm, ada, "ask", map[string]any{"text": "a command"})
	r.wait(2)
	r.until(discordtest.EditOriginal, func(c []discordtest.Call) bool { return len(c) == 1 && c[0].Done })
	sent := r.tell(channels.Message{Text: "an answer"})[0]
	if err := r.Edit(t.Context(), sent.ID, r.hello("another answer")); err != nil {
		t.Error(err)
	}
	if err := r.Remove(t.Context(), chatOf(r.dm), sent.ID); err != nil {
		t.Error(err)
	}
	if err := r.Typing(t.Context(), chatOf(r.dm)); err != nil {
		t.Error(err)
	}
	r.server.SetDelivery(unlisted)
	hidden := r.server.AddThread(general, "a thread that is not listed").ID
	r.server.Say(hidden, ada, "in a thread")
	r.wait(3)
	r.Examine(t.Context(), channels.Examination{})

	var routes []string
	for _, c := range r.server.Calls("") {
		if len(c.Files) == 0 && !slices.Contains(routes, c.Route) {
			routes = append(routes, c.Route)
		}
	}
	slices.Sort(routes)
	want := []string{
		discordtest.DeleteMessage, discordtest.GetCommands, discordtest.GetMyApp, discordtest.GetChannel, discordtest.GetMessages,
		discordtest.GetGatewayBot, discordtest.EditMessage, discordtest.EditOriginal, discordtest.CreateMessage, discordtest.ThreadFrom,
		discordtest.StartTyping, discordtest.Callback, discordtest.OpenDM, discordtest.PutCommands,
	}
	slices.Sort(want)
	if !slices.Equal(routes, want) {
		t.Errorf("called were\n%s\nand should be\n%s", strings.Join(routes, "\n"), strings.Join(want, "\n"))
	}
}

// altered changes the answers to the requests of a method to paths with an ending.
func altered(method, ending string, change func(h http.Header, body []byte) []byte) func(*discord.Options) {
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

// strange is an answer that the library cannot decode.
const strange = `{"id": "123", "channel_id": 4, "timestamp": "soon", "components": [{"type": 99}], "type": "new"}`

func TestTheLibraryCannotDecodeTheAnswersOfTheseTests(t *testing.T) {
	if json.Unmarshal([]byte(strange), &discordgo.Message{}) == nil || json.Unmarshal([]byte(`{"type": "new"}`), &discordgo.Channel{}) == nil {
		t.Error("the library decodes them")
	}
}

func TestAnAnswerThatIsNewToTheLibraryIsNoFailure(t *testing.T) {
	r := newRig(t, threads)
	r.server.SetFault(func(c discordtest.Call) discordtest.Fault {
		switch c.Route {
		case discordtest.CreateMessage, discordtest.EditMessage, discordtest.ThreadFrom, discordtest.PutCommands, discordtest.EditOriginal:
			return discordtest.Fault{Body: strange}
		case discordtest.GetCommands:
			return discordtest.Fault{Body: `[null, {"contexts": "everywhere", "options": [null]}]`}
		}
		return discordtest.Fault{}
	})
	ch := r.server.AddChannel(r.server.AddGuild("home").ID, "general").ID
	r.connected()
	receipt, err := r.Send(t.Context(), r.hello("hello"))
	if err != nil || receipt.ID != "123" {
		t.Errorf("sent as %+v, %v", receipt, err)
	}
	file := r.plan(channels.Message{Chat: chatOf(r.dm), Text: "a file", Media: []channels.File{r.file("a.txt", []byte("a"))}})[0]
	if receipt, err = r.Send(t.Context(), file); err != nil || receipt.ID != "123" {
		t.Errorf("sent with a file as %+v, %v", receipt, err)
	}
	shown := r.server.Shown(r.dm)
	if len(shown) != 2 {
		t.Fatalf("shown is %+v", shown)
	}
	if err := r.Edit(t.Context(), shown[0].ID, r.hello("edited")); err != nil {
		t.Error(err)
	}
	m := r.server.Say(ch, ada, "<@"+r.server.Bot.ID+"> opens a thread")
	if got := r.wait(1)[0]; got.ThreadID != m.ID {
		t.Errorf("received %+v", got)
	}
	r.until(discordtest.PutCommands, func(c []discordtest.Call) bool { return len(c) == 1 && c[0].Done })
	r.slash(r.dm, ada, "ask", map[string]any{"text": "hello"})
	r.until(discordtest.EditOriginal, func(c []discordtest.Call) bool { return len(c) == 1 && c[0].Done })
	if log := r.logged(); strings.Contains(log, "not registered") || strings.Contains(log, "not shown") || strings.Contains(log, "not opened") {
		t.Errorf("the log is %s", log)
	}
}

// A repetition of the send is the same message.
func TestASendWhoseAnswerHasNoIDIsUnknown(t *testing.T) {
	r := newRig(t)
	for _, body := range []string{`{}`, `null`, `{"id": null}`, `[]`} {
		r.server.FailNext(discordtest.CreateMessage, discordtest.Fault{Body: body})
		if got := r.sendError(t.Context(), r.hello("hello")); !got.Unknown || got.Permanent {
			t.Errorf("%s means %+v", body, got)
		}
	}
}

// The library would panic.
func TestAGatewayThatIsNullIsAskedForAgain(t *testing.T) {
	r := newRig(t)
	r.server.FailNext(discordtest.GetGatewayBot, discordtest.Fault{Body: "null"})
	r.connected()
}

// The library would drop the answer.
func TestRateLimitsThatCannotBeReadCostNoReceipt(t *testing.T) {
	r := newRig(t, altered(http.MethodPost, "/messages", func(h http.Header, body []byte) []byte {
		h.Set("X-RateLimit-Remaining", "many")
		h.Set("X-RateLimit-Reset-After", "soon")
		return body
	}))
	r.tell(channels.Message{Text: "hello"})
}

func TestAStrangeMessageInTheHistoryCostsNoOther(t *testing.T) {
	const said = 100
	r := newRig(t, altered(http.MethodGet, "/messages", func(_ http.Header, body []byte) []byte {
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
		body, err := json.Marshal(append(append([]any{nil}, anys(page)...), "?"))
		if err != nil {
			t.Error(err)
		}
		return body
	}))
	for i := range said {
		r.server.Say(r.dm, ada, strconv.Itoa(i))
	}
	r.run()
	want := slices.DeleteFunc(numbers(said), func(s string) bool { return s == "31" })
	if got := texts(r.wait(said - 1)); !slices.Equal(got, want) {
		t.Errorf("received %q", got)
	}
	r.untilLogged("undecodable message skipped")
}

func anys[T any](all []T) (out []any) {
	for _, one := range all {
		out = append(out, one)
	}
	return out
}

func numbers(n int) (out []string) {
	for i := range n {
		out = append(out, strconv.Itoa(i))
	}
	return out
}

// A session of the library locks a route while a call of it is not answered.
func TestACallThatHangsHoldsUpNoOtherOfItsRoute(t *testing.T) {
	r := newRig(t)
	r.tell(channels.Message{Text: "before"}) // then it is known how many calls there may be
	hang := make(chan struct{})
	r.server.FailNext(discordtest.CreateMessage, discordtest.Fault{Hang: hang})
	first := make(chan error, 1)
	go func() {
		_, err := r.Send(t.Context(), r.hello("hangs"))
		first <- err
	}()
	r.until(discordtest.CreateMessage, func(c []discordtest.Call) bool { return len(c) == 2 })
	r.tell(channels.Message{Text: "meanwhile"})
	close(hang)
	if err := <-first; err != nil {
		t.Error(err)
	}
	var shown []string
	for _, m := range r.server.Shown(r.dm) {
		shown = append(shown, m.Content)
	}
	if want := []string{"before", "meanwhile", "hangs"}; !slices.Equal(shown, want) {
		t.Errorf("shown is %q", shown)
	}
}

// A session of the library would sleep for a day, whatever becomes of the context.
func TestTheLibraryDoesNotWaitForARateLimit(t *testing.T) {
	r := newRig(t)
	r.server.FailNext(discordtest.CreateMessage, discordtest.GlobalLimit(24*time.Hour))
	if got := r.sendError(t.Context(), r.hello("hello")); got.After != 24*time.Hour {
		t.Errorf("it means %+v", got)
	}
	if n := len(r.creates()); n != 1 {
		t.Errorf("%d calls were made", n)
	}
}

func TestSecretsInTheErrorsOfTheNetworkAreHidden(t *testing.T) {
	var signature atomic.Value // of the address of an attachment
	r := newRig(t, func(o *discord.Options) {
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
	r.connected()
	r.until(discordtest.PutCommands, func(c []discordtest.Call) bool { return len(c) == 1 && c[0].Done })
	i := r.slash(r.dm, ada, "ask", map[string]any{"text": "hello"})
	r.server.Say(r.dm, ada, "look", discordtest.File{Name: "a.txt", Content: []byte("a")})
	r.untilLogged("interaction not acknowledged")
	r.untilLogged("file not downloaded")
	for _, secret := range []string{i.Token, signature.Load().(string)} {
		if log := r.logged(); len(secret) < 10 || strings.Contains(log, secret) {
			t.Errorf("%q is in the log: %s", secret, log)
		}
	}
}

func TestARedirectionIsNotFollowed(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		t.Errorf("%s %s was asked with the token %q", req.Method, req.URL, req.Header.Get("Authorization"))
	}))
	defer elsewhere.Close()
	r := newRig(t, func(o *discord.Options) {
		o.Client.Transport = roundTrip(func(req *http.Request) (*http.Response, error) {
			if req.Body != nil {
				_, _ = io.Copy(io.Discard, req.Body)
				req.Body.Close()
			}
			return &http.Response{
				StatusCode: http.StatusTemporaryRedirect, Header: http.Header{"Location": {elsewhere.URL + req.URL.Path}}, Body: http.NoBody,
			}, nil
		})
	})
	file := r.plan(channels.Message{Chat: chatOf(r.dm), Text: "a file", Media: []channels.File{r.file("a.txt", []byte("a"))}})[0]
	for _, o := range []channels.Outgoing{r.hello("hello"), file} {
		if got := r.sendError(t.Context(), o); got.Permanent || !strings.Contains(got.Error(), "307") {
			t.Errorf("it means %+v", got)
		}
	}
}

// The library also knows addresses that are not the API's.
func TestOnlyCallsOfTheAPIAreSent(t *testing.T) {
	below := &http.Client{Transport: roundTrip(func(req *http.Request) (*http.Response, error) {
		t.Errorf("%s was asked with the token %q", req.URL, req.Header.Get("Authorization"))
		return nil, io.ErrUnexpectedEOF
	})}
	s := &discordgo.Session{
		Client:      &http.Client{Transport: discord.NewTransport("http://127.0.0.1/api/v10", "MTE.abc.def", below)},
		Ratelimiter: discordgo.NewRatelimiter(),
	}
	recorded := discordgo.WithContext(discord.WithAnswer(t.Context()))
	if _, err := s.UserAvatarDecode(&discordgo.User{ID: ada, Avatar: "a"}, recorded); err == nil {
		t.Error("a picture was fetched")
	}
	if s.ChannelTyping("1") == nil {
		t.Error("a call was made whose answer nobody waits for")
	}
}
