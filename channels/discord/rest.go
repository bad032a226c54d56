package discord

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/bwmarrin/discordgo"

	"nanobot/channels/remote"
)

// api makes calls of the REST API. What an answer says is decoded by ourselves and not by the
// library because of a message that was sent only the id matters: were an answer too new for the
// library's types, a message would count as not sent.
type api struct {
	base, token string
	http        *remote.Client
	limits      *limits
	skew        atomic.Int64 // how far Discord's clock is ahead of ours, in nanoseconds
}

const (
	// hidden stands for the token, which must be in no error.
	hidden = "***"
	// maxAnswer bounds what is read of an answer. A hundred messages are some hundred kilobytes.
	maxAnswer = 32 << 20
	// callTimeout is how long a call may take that moves no file.
	callTimeout = 30 * time.Second
	// agent is how Discord wants programs to name themselves: what they are made with, and its
	// version.
	agent = "DiscordBot (https://github.com/bwmarrin/discordgo, v" + discordgo.VERSION + ") nanobot"
)

// request is one call. Its route is as Discord writes it, with the arguments in braces, and is what
// errors and logs show: an argument may be a secret.
type request struct {
	method, route string
	args          []string
	query         url.Values
	body          any             // JSON, or nil
	files         []remote.Upload // sent along with the body
}

func (r request) name() string { return r.method + " " + r.route }

// path puts the arguments in place of the braces.
func (r request) path() string {
	out := r.route
	for _, a := range r.args {
		from, to := strings.IndexByte(out, '{'), strings.IndexByte(out, '}')
		out = out[:from] + url.PathEscape(a) + out[to+1:]
	}
	if len(r.query) > 0 {
		out += "?" + r.query.Encode()
	}
	return out
}

// major is what a route's limit is counted by: the channel, or the id and token of a webhook or
// interaction.
func (r request) major() string {
	n := min(len(r.args), 1)
	if strings.HasPrefix(r.route, "/webhooks/") || strings.HasPrefix(r.route, "/interactions/") {
		n = min(len(r.args), 2)
	}
	return strings.Join(r.args[:n], "/")
}

// isInteraction tells whether a call answers an interaction. Those do not count toward what a bot
// may do in all.
func (r request) isInteraction() bool {
	return strings.HasPrefix(r.route, "/webhooks/") || strings.HasPrefix(r.route, "/interactions/")
}

// call makes a call when its turn has come, and decodes the answer. Into may be nil.
func (a *api) call(ctx context.Context, r request, into any) error {
	turn, err := a.limits.take(ctx, r)
	if err != nil {
		return err
	}
	header, err := a.make(ctx, r, into)
	a.limits.give(turn, header, err)
	return err
}

// make makes a call and returns the headers of its answer, if there was one.
func (a *api) make(ctx context.Context, r request, into any) (http.Header, error) {
	body, err := bodyOf(r)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.name(), err)
	}
	defer body.Close()
	req, err := body.Request(ctx, r.method, a.base+r.path())
	if err != nil {
		return nil, a.silent(r, err, false)
	}
	req.Header.Set("Authorization", "Bot "+a.token)
	req.Header.Set("User-Agent", agent)
	resp, written, err := a.http.Do(req)
	if err != nil {
		return nil, a.silent(r, err, written)
	}
	defer resp.Body.Close()
	a.compare(resp.Header.Get("Date"), time.Now())
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return resp.Header, a.silent(r, err, true)
	}
	if resp.StatusCode >= 300 {
		return resp.Header, a.refused(r, resp, answer)
	}
	if into == nil {
		return resp.Header, nil
	}
	if err := json.Unmarshal(answer, into); err != nil {
		return resp.Header, a.silent(r, errors.New("the answer is not Discord's"), true)
	}
	return resp.Header, nil
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
