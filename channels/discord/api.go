package discord

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/bwmarrin/discordgo"

	"nanobot/channels/httpclient"
)

// api makes the calls of the REST API. Calls without files go through discordgo.
type api struct {
	client *http.Client       // for API calls; its transport is a *transport
	http   *httpclient.Client // for other servers; the transport uses it too
	limits *rateLimits
}

const (
	// callTimeout is the timeout of a call without files, with the wait for the rate limit.
	callTimeout = 30 * time.Second
	// userAgent has the form that Discord demands: the library and its version.
	userAgent = "DiscordBot (https://github.com/bwmarrin/discordgo, v" + discordgo.VERSION + ") nanobot"
	// logNothing is below all log levels of the library, which logs to the standard logger.
	logNothing = -1
)

func newAPI(o Options) *api {
	client := httpclient.NewClient(o.Client, o.Token)
	return &api{
		client: &http.Client{Transport: &transport{base: o.APIBase, token: o.Token, next: client}},
		http:   client,
		limits: newRateLimits(o.Unpaced),
	}
}

// library is a session of discordgo for one call, and the options that its methods must be given.
type library struct {
	*discordgo.Session
	options []discordgo.RequestOption
}

// call makes a call through the library once its rate limit allows, and decodes the response into a
// value, which may be nil. The library's result is ignored: see callRecord.
//
// Each call has its own session. The library locks a route during a request and sleeps for a rate
// limit without watching the context: calls that share a session would wait for one that hangs. It
// also never forgets a route. The rate limits of this package pace the calls.
func (a *api) call(ctx context.Context, r route, into any, do func(library) (any, error)) error {
	return a.callWithPermit(ctx, r, into, func(ctx context.Context) {
		_, _ = do(library{
			&discordgo.Session{
				Client: a.client, UserAgent: userAgent, LogLevel: logNothing,
				Ratelimiter: discordgo.NewRatelimiter(),
			},
			[]discordgo.RequestOption{
				discordgo.WithContext(ctx), discordgo.WithRetryOnRatelimit(false),
				discordgo.WithRestRetries(0),
			},
		})
	})
}

// callWithPermit runs do once the rate limit allows. do passes its context to the request, so that
// the transport records the outcome.
func (a *api) callWithPermit(ctx context.Context, r route, into any, do func(ctx context.Context)) error {
	turn, err := a.limits.acquire(ctx, r)
	if err != nil {
		return err
	}
	got := &callRecord{route: r}
	do(withRecord(ctx, got))
	err = a.checkResponse(got, into)
	a.limits.release(turn, got.Header, err)
	return err
}

// checkResponse returns nil if a call has succeeded, otherwise an apiError or a
// httpclient.NoResponseError.
func (a *api) checkResponse(got *callRecord, into any) error {
	switch {
	case got.Err != nil:
		return &httpclient.NoResponseError{Name: got.route.name, Err: got.Err, Written: got.Written}
	case got.Status == 0:
		return &httpclient.NoResponseError{Name: got.route.name, Err: errNoRequest}
	case got.Status >= 300:
		return a.newAPIError(got)
	case into != nil && json.Unmarshal(got.Body, into) != nil:
		return &httpclient.NoResponseError{Name: got.route.name, Err: errNotDiscord, Written: true}
	}
	return nil
}

// discordTime converts a local time to Discord's clock, on which IDs are based.
func (a *api) discordTime(t time.Time) time.Time {
	skew, _ := a.http.ClockSkew()
	return t.Add(skew)
}
