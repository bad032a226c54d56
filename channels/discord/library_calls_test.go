package discord_test

import (
	"bytes"
	"context"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"runtime"
	"slices"
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

// libraryOnly is a transport that fails the test if discordgo has not made a request, or if the
// request does not match the route of its rate limit. It is below every test channel. Uploads and
// downloads are exempt.
type libraryOnly struct {
	t    testing.TB
	next http.RoundTripper
}

func (l libraryOnly) RoundTrip(req *http.Request) (*http.Response, error) {
	download := req.Method == http.MethodGet && strings.HasPrefix(req.URL.Path, "/attachments/")
	if !download && !hasFile(req) && !madeByLibrary() {
		l.t.Errorf("%s %s was not made by discordgo", req.Method, req.URL.Path)
	}
	if name, major := discord.RouteOf(req); !download && !isOfRoute(req, name, major) {
		l.t.Errorf("%s %s counts as %q of %q", req.Method, req.URL.Path, name, major)
	}
	return l.next.RoundTrip(req)
}

// hasFile reports whether a request is a form with a file.
func hasFile(req *http.Request) bool {
	if req.GetBody == nil {
		return false
	}
	body, err := req.GetBody()
	if err != nil {
		return false
	}
	defer body.Close()
	form, err := (&http.Request{Method: req.Method, Header: req.Header, Body: body}).MultipartReader()
	if err != nil {
		return false
	}
	for {
		part, err := form.NextPart()
		if err != nil {
			return false
		}
		if part.FileName() != "" {
			return true
		}
	}
}

// argument is a part of a route's name that stands for any value.
var argument = regexp.MustCompile(`\\\{[a-z_]+\\\}`)

// isOfRoute reports whether the method and path of a request are those of a route, with its major
// parameter.
func isOfRoute(req *http.Request, name, major string) bool {
	method, path, _ := strings.Cut(name, " ")
	pattern := argument.ReplaceAllString(regexp.QuoteMeta(path), "[^/]+") + "$"
	asked := req.URL.EscapedPath()
	return path != "" && req.Method == method && regexp.MustCompile(pattern).MatchString(asked) && strings.Contains(asked+"/", "/"+major)
}

func TestTheTestTransportComparesARouteWithThePath(t *testing.T) {
	req := musttest.Get(http.NewRequestWithContext(t.Context(), http.MethodPost, "http://127.0.0.1/api/v10/channels/12/messages", http.NoBody))(t)
	for _, c := range []struct {
		name, major string
		want        bool
	}{
		{discordtest.CreateMessage, "12", true},
		{discordtest.CreateMessage, "13", false},
		{discordtest.GetMessages, "12", false},
		{discordtest.EditMessage, "12", false},
		{discordtest.StartTyping, "12", false},
		{discordtest.GetGatewayBot, "", false},
		{"", "", false},
	} {
		if got := isOfRoute(req, c.name, c.major); got != c.want {
			t.Errorf("%s of %q: %t", c.name, c.major, got)
		}
	}
}

func TestAFormWithoutAFileIsNoUpload(t *testing.T) {
	for name, want := range map[string]bool{"": false, "a.txt": true} {
		var body bytes.Buffer
		w := multipart.NewWriter(&body)
		field, err := w.CreateFormField("payload_json")
		if name != "" {
			field, err = w.CreateFormFile("files[0]", name)
		}
		if err != nil {
			t.Fatal(err)
		}
		musttest.Get(io.WriteString(field, "{}"))(t)
		w.Close()
		req := musttest.Get(http.NewRequestWithContext(t.Context(), http.MethodPost, "http://127.0.0.1/", &body))(t)
		req.Header.Set("Content-Type", w.FormDataContentType())
		if got := hasFile(req); got != want {
			t.Errorf("a form with the file %q: %t", name, got)
		}
	}
}

func (l libraryOnly) CloseIdleConnections() { (&http.Client{Transport: l.next}).CloseIdleConnections() }

// madeByLibrary reports whether the library is among the callers. A client calls its transport in
// the goroutine of its own caller.
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

func TestTheTestTransportDistinguishesCallsOfTheLibrary(t *testing.T) {
	var made []bool
	client := &http.Client{Transport: roundTrip(func(*http.Request) (*http.Response, error) {
		made = append(made, madeByLibrary())
		return &http.Response{StatusCode: http.StatusNoContent, Body: http.NoBody}, nil
	})}
	s := &discordgo.Session{Client: client, Ratelimiter: discordgo.NewRatelimiter()}
	musttest.Do(t, s.ChannelTyping("1", discordgo.WithContext(t.Context())))
	req := musttest.Get(http.NewRequestWithContext(t.Context(), http.MethodPost, discordgo.EndpointChannelTyping("1"), http.NoBody))(t)
	resp := musttest.Get(client.Do(req))(t)
	resp.Body.Close()
	wanttest.EqualSlices(t, "made by the library:", made, []bool{true, false})
}

// The transport of the test channel fails this test if a call bypasses the library.
func TestAConversationUsesEveryRouteThroughTheLibrary(t *testing.T) {
	r := newTestChannel(t, allGroups, withThreads)
	r.SetMenu(menu)
	g := r.server.AddGuild("home")
	general := r.server.AddChannel(g.ID, "general").ID
	r.startConnected()
	r.server.WaitForCalls(r.t, discordtest.PutCommands, func(c []discordtest.Call) bool { return len(c) == 1 && c[0].Done })
	r.server.UserSends(general, ada, "opens a thread")
	r.WaitForMessages(1)
	r.runCommand(r.dm, ada, "ask", map[string]any{"text": "a command"})
	r.WaitForMessages(2)
	r.server.WaitForCalls(r.t, discordtest.EditOriginal, func(c []discordtest.Call) bool { return len(c) == 1 && c[0].Done })
	sent := r.SendAnswer(channels.Message{Text: "an answer"})[0]
	if err := r.Edit(t.Context(), sent.ID, r.PlanText("another answer")); err != nil {
		t.Error(err)
	}
	if err := r.Remove(t.Context(), chatOf(r.dm), sent.ID); err != nil {
		t.Error(err)
	}
	if err := r.Typing(t.Context(), chatOf(r.dm)); err != nil {
		t.Error(err)
	}
	r.server.SetEventCopies(dropThreadEvents)
	hidden := r.server.AddThread(general, "a thread that is not listed").ID
	r.server.UserSends(hidden, ada, "in a thread")
	r.WaitForMessages(3)
	r.Examine(t.Context(), channels.ExamineOptions{})
	r.server.WaitForCalls(r.t, discordtest.OpenDM, func(c []discordtest.Call) bool { return len(c) > 0 }) // which is made in the background

	var routes []string
	for _, c := range r.server.Calls("") {
		if len(c.Files) == 0 && !slices.Contains(routes, c.Route) {
			routes = append(routes, c.Route)
		}
	}
	slices.Sort(routes)
	want := []string{
		discordtest.DeleteMessage, discordtest.GetCommands, discordtest.GetMyApp, discordtest.GetChannel, discordtest.GetMessages,
		discordtest.GetGatewayBot, discordtest.EditMessage, discordtest.EditOriginal, discordtest.CreateMessage, discordtest.StartThreadFromMessage,
		discordtest.StartTyping, discordtest.Callback, discordtest.OpenDM, discordtest.PutCommands,
	}
	slices.Sort(want)
	if !slices.Equal(routes, want) {
		t.Errorf("called were\n%s\nand should be\n%s", strings.Join(routes, "\n"), strings.Join(want, "\n"))
	}
}

// A session of the library locks a route while a call of it is not answered.
func TestACallThatHangsHoldsUpNoOtherOfItsRoute(t *testing.T) {
	r := newTestChannel(t)
	r.SendAnswer(channels.Message{Text: "before"}) // then it is known how many calls there may be
	hang := make(chan struct{})
	r.server.FailNext(discordtest.CreateMessage, discordtest.Fault{HangUntil: hang})
	first := make(chan error, 1)
	go func() {
		_, err := r.Send(t.Context(), r.PlanText("hangs"))
		first <- err
	}()
	r.server.WaitForCalls(r.t, discordtest.CreateMessage, func(c []discordtest.Call) bool { return len(c) == 2 })
	r.SendAnswer(channels.Message{Text: "meanwhile"})
	close(hang)
	if err := <-first; err != nil {
		t.Error(err)
	}
	var shown []string
	for _, m := range r.server.BotMessages(r.dm) {
		shown = append(shown, m.Content)
	}
	wanttest.EqualSlices(t, "shown is", shown, []string{"before", "meanwhile", "hangs"})
}

// A session of the library would sleep for a day, whatever becomes of the context.
func TestTheLibraryDoesNotWaitForARateLimit(t *testing.T) {
	r := newTestChannel(t)
	r.server.FailNext(discordtest.CreateMessage, discordtest.GloballyRateLimited(24*time.Hour))
	if got := r.MustFailSend(t.Context(), r.PlanText("hello")); got.After != 24*time.Hour {
		t.Errorf("it means %+v", got)
	}
	wanttest.Equal(t, "calls were made:", len(r.createCalls()), 1)
}

func TestARedirectionIsNotFollowed(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		t.Errorf("%s %s was asked with the token %q", req.Method, req.URL, req.Header.Get("Authorization"))
	}))
	defer elsewhere.Close()
	r := newTestChannel(t, func(o *discord.Options) {
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
	file := r.MustPlan(channels.Message{Chat: chatOf(r.dm), Text: "a file", Media: []channels.File{r.WriteFile("a.txt", []byte("a"))}})[0]
	for _, o := range []channels.Outgoing{r.PlanText("hello"), file} {
		if got := r.MustFailSend(t.Context(), o); got.Permanent || !strings.Contains(got.Error(), "307") {
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
	recorded := discordgo.WithContext(discord.WithRecord(t.Context()))
	if _, err := s.UserAvatarDecode(&discordgo.User{ID: ada, Avatar: "a"}, recorded); err == nil {
		t.Error("a picture was fetched")
	}
	if s.ChannelTyping("1") == nil {
		t.Error("a call was made whose answer nobody waits for")
	}
}

// Sessions are made for each call; connections are not.
func TestCallsShareAConnection(t *testing.T) {
	var dials atomic.Int32
	r := newTestChannel(t, func(o *discord.Options) {
		o.Client.Transport.(*http.Transport).DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
			dials.Add(1)
			return (&net.Dialer{}).DialContext(ctx, network, address)
		}
	})
	for range 3 {
		sent := r.SendAnswer(channels.Message{Text: "hello"})[0]
		if err := r.Edit(t.Context(), sent.ID, r.PlanText("hello again")); err != nil {
			t.Error(err)
		}
		if err := r.Remove(t.Context(), chatOf(r.dm), sent.ID); err != nil {
			t.Error(err)
		}
	}
	wanttest.Equal(t, "connections were made:", dials.Load(), 1)
}
