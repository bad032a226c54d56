package discord

import (
	"context"
	"encoding/json"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/bwmarrin/discordgo"

	"nanobot/channels/httpclient"
)

// api makes the calls of the REST API. Calls without files go through discordgo.
type api struct {
	token  string
	client *http.Client       // sends to the API: its transport is a *transport
	http   *httpclient.Client // sends to anybody; the transport uses it too
	limits *limits
	skew   atomic.Int64 // how far Discord's clock is ahead of ours, in nanoseconds
}

const (
	// callTimeout is how long a call may take that moves no file.
	callTimeout = 30 * time.Second
	// agent is the form of User-Agent that Discord asks for: the library and its version.
	agent = "DiscordBot (https://github.com/bwmarrin/discordgo, v" + discordgo.VERSION + ") nanobot"
	// logNothing is below all log levels of the library, which writes to the standard logger.
	logNothing = -1
)

func newAPI(o Options) *api {
	client := httpclient.NewClient(o.Client)
	return &api{
		token:  o.Token,
		client: &http.Client{Transport: &transport{base: o.APIBase, token: o.Token, next: client}},
		http:   client,
		limits: newLimits(o.Unpaced),
	}
}

// library is a session of discordgo for one call, and the options that its methods must be given.
type library struct {
	*discordgo.Session
	options []discordgo.RequestOption
}

// call makes a call through the library when its turn has come, and decodes the answer into a
// value, which may be nil. What the library returns is ignored: see record.
//
// Each call has a session of its own. The library locks a route for as long as a request takes, and
// sleeps until a rate limit ends without looking at the context: calls that share a session would
// wait for one that hangs. It also never forgets a route. Our own limits pace the calls.
func (a *api) call(ctx context.Context, r route, into any, do func(library) (any, error)) error {
	return a.perform(ctx, r, into, func(ctx context.Context) {
		_, _ = do(library{
			&discordgo.Session{Client: a.client, UserAgent: agent, LogLevel: logNothing, Ratelimiter: discordgo.NewRatelimiter()},
			[]discordgo.RequestOption{discordgo.WithContext(ctx), discordgo.WithRetryOnRatelimit(false), discordgo.WithRestRetries(0)},
		})
	})
}

// perform makes a call when its turn has come. Do passes its context on to the request, so that the
// transport can tell what became of it.
func (a *api) perform(ctx context.Context, r route, into any, do func(ctx context.Context)) error {
	turn, err := a.limits.take(ctx, r)
	if err != nil {
		return err
	}
	got := &record{route: r}
	do(withRecord(ctx, got))
	a.compare(got.Header.Get("Date"), time.Now())
	err = a.check(got, into)
	a.limits.give(turn, got.Header, err)
	return err
}

// check returns nil if a call has succeeded, and otherwise a refusal or a silence.
func (a *api) check(got *record, into any) error {
	switch {
	case got.Err != nil:
		return &silence{Name: got.route.name, Err: got.Err, Written: got.Written}
	case got.Status == 0:
		return &silence{Name: got.route.name, Err: errNoRequest}
	case got.Status >= 300:
		return a.refused(got)
	case into != nil && json.Unmarshal(got.Body, into) != nil:
		return &silence{Name: got.route.name, Err: errForeign, Written: true}
	}
	return nil
}

// compare compares clocks. Headers tell only seconds, so less than a minute is no difference.
func (a *api) compare(date string, now time.Time) {
	theirs, err := http.ParseTime(date)
	if err != nil {
		return
	}
	skew := theirs.Sub(now)
	if skew.Abs() < time.Minute {
		skew = 0
	}
	a.skew.Store(int64(skew))
}

// theirs is a time of ours by Discord's clock, by which ids are made.
func (a *api) theirs(t time.Time) time.Time { return t.Add(time.Duration(a.skew.Load())) }
