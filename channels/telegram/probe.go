package telegram

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	"nanobot/channels"
)

// The checks that Examine makes.
const (
	checkToken   = Name + ".token"
	checkPrivacy = Name + ".privacy"
	checkWebhook = Name + ".webhook"
	checkPoller  = Name + ".poller"
	checkClock   = Name + ".clock"
)

// onlyOne is the fix for two programs that use one token.
const onlyOne = "stop the other program, or get a token of its own from @BotFather (/newbot), or a new one for this bot (/revoke)"

// Examine asks Telegram about the bot: whether it knows the token, what the bot is allowed to see,
// and who else uses it.
func (c *Channel) Examine(ctx context.Context, e channels.Examination) []channels.Finding {
	x := &probe{Channel: c, e: e, clock: &clock{next: c.api.http.Transport}}
	var err error
	if x.api, err = newAPI(c.o.APIBase, c.o.Token, &http.Client{Transport: x.clock}); err != nil {
		return []channels.Finding{{Check: checkToken, Status: channels.Bad, Detail: err.Error()}}
	}
	defer c.api.http.CloseIdleConnections()
	if !x.token(ctx) {
		return x.found
	}
	x.webhook(ctx)
	if skew, ok := x.clock.skew(); ok {
		x.found = append(x.found, channels.SkewFinding(checkClock, skew))
	}
	return x.found
}

// probe is one examination.
type probe struct {
	*Channel
	api   *api // in place of the channel's, which does not look at the clock
	e     channels.Examination
	clock *clock
	found []channels.Finding
}

func (x *probe) say(check string, status channels.Verdict, detail, fix string) {
	x.found = append(x.found, channels.Finding{Check: check, Status: status, Detail: x.api.clean(detail), Fix: fix})
}

// cannot says that Telegram did not answer a question.
func (x *probe) cannot(check string, err error) {
	fix := "check the network, the proxy variables and channels.telegram.apiBase, and try again"
	if flooded(err) {
		fix = "wait as long as it says, and try again"
	}
	x.say(check, channels.Bad, err.Error(), fix)
}

// token asks who the bot is. It reports whether there is any use in asking more.
func (x *probe) token(ctx context.Context) bool {
	me, err := x.api.getMe(ctx)
	if wrong := wrongToken(err); wrong != nil {
		x.say(checkToken, channels.Bad, wrong.Error(), "copy the token that @BotFather shows for this bot (/mybots → API Token) to where channels.telegram.token says")
		return false
	}
	if err != nil {
		x.cannot(checkToken, err)
		return false
	}
	x.say(checkToken, channels.Good, "the bot is @"+me.Username, "")
	switch {
	case x.o.Groups == "all" && !me.ReadsAll:
		x.say(checkPrivacy, channels.Doubtful, `channels.telegram.groups is "all", but the bot is in privacy mode: unless it is an administrator, in groups it only sees what is meant for it`,
			`tell @BotFather /setprivacy, choose the bot, Disable, and add it to its groups anew; or set channels.telegram.groups to "mention"`)
	case x.o.Groups == "all":
		x.say(checkPrivacy, channels.Good, "privacy mode is off: the bot sees all messages of its groups", "")
	default:
		x.say(checkPrivacy, channels.Good, fmt.Sprintf("channels.telegram.groups is %q, for which privacy mode makes no difference", x.o.Groups), "")
	}
	return true
}

// webhook asks whether one is set, and looks for another poller if none is.
func (x *probe) webhook(ctx context.Context) {
	info, err := x.api.getWebhookInfo(ctx)
	if err != nil {
		x.cannot(checkWebhook, err)
		return
	}
	if x.hook != nil {
		x.own(info)
		return
	}
	switch {
	case info.URL == "":
		x.say(checkWebhook, channels.Good, "none is set, as polling wants it", "")
		x.poller(ctx)
	case x.e.Running:
		x.say(checkWebhook, channels.Bad, fmt.Sprintf("somebody has set a webhook to %s while our daemon polls", host(info.URL)), onlyOne)
	default:
		x.say(checkWebhook, channels.Doubtful, fmt.Sprintf("one to %s is left over, and the mode is poll; the next start removes it", host(info.URL)),
			"nothing if it is of an earlier run; if another program is there, "+onlyOne)
	}
}

// recent is how old an error of the webhook may be to be worth a word. Telegram tries again within
// two minutes.
const recent = 10 * time.Minute

// own looks at the webhook in webhook mode.
func (x *probe) own(info *webhookInfo) {
	failed := time.Unix(info.LastError, 0)
	switch {
	case info.URL == "" && !x.e.Running:
		x.say(checkWebhook, channels.Good, "none is set yet; the start sets it", "")
	case info.URL != x.hook.url && !x.e.Running:
		x.say(checkWebhook, channels.Doubtful, fmt.Sprintf("another one is set, to %s; the next start replaces it", host(info.URL)),
			"nothing if it is of an earlier run; if another program is there, "+onlyOne)
	case info.URL != x.hook.url:
		x.say(checkWebhook, channels.Bad, "the one that our daemon has set was removed or replaced", onlyOne)
	case info.LastError > 0 && time.Since(failed) < recent:
		x.say(checkWebhook, channels.Bad, fmt.Sprintf("Telegram cannot deliver: %s (at %s, %d waiting)", info.Reason, failed.Format(time.TimeOnly), info.Pending),
			"see that the daemon runs, and that what stands in front of http.listen has a valid certificate and passes the path on as it is")
	default:
		x.say(checkWebhook, channels.Good, fmt.Sprintf("set to %s, %d waiting", host(info.URL), info.Pending), "")
	}
}

// poller looks for another program that polls. A poll ends the one before it with a conflict, whose
// program polls again and so ends ours: that is what we wait for. Without an offset nothing is
// confirmed, so nothing is lost.
func (x *probe) poller(ctx context.Context) {
	if x.e.Running {
		x.say(checkPoller, channels.Good, "our own daemon polls, and is not disturbed; its log would speak of another", "")
		return
	}
	wait := max(x.e.Listen, time.Second)
	call, cancel := context.WithTimeout(ctx, wait+callTimeout)
	defer cancel()
	waiting, err := x.api.getUpdates(call, map[string]any{"timeout": int(wait / time.Second), "limit": 1})
	var no *refusal
	switch {
	case err == nil && len(waiting) > 0:
		x.say(checkPoller, channels.Good, "messages wait for the daemon, so nobody else takes them", "")
	case err == nil:
		x.say(checkPoller, channels.Good, fmt.Sprintf("nobody else polled within %s", wait.Truncate(time.Second)), "")
	case errors.As(err, &no) && no.Code == http.StatusConflict:
		x.say(checkPoller, channels.Bad, explain(err).Error(), onlyOne)
	default:
		x.cannot(checkPoller, err)
	}
}

// host is what may be shown of a webhook: some hide a secret in the path.
func host(address string) string {
	if u, err := url.Parse(address); err == nil && u.Host != "" {
		return u.Host
	}
	return "an unreadable address"
}

// clock is a transport that compares the server's clock with ours.
type clock struct {
	next http.RoundTripper // nil: the usual one

	mu    sync.Mutex
	ahead time.Duration
	told  bool
}

// RoundTrip makes a request and looks at the date of its answer.
func (k *clock) RoundTrip(r *http.Request) (*http.Response, error) {
	next := k.next
	if next == nil {
		next = http.DefaultTransport
	}
	resp, err := next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if theirs, perr := http.ParseTime(resp.Header.Get("Date")); perr == nil {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.ahead, k.told = time.Until(theirs), true
	}
	return resp, nil
}

// skew is how far the server's clock is ahead of ours, if it told.
func (k *clock) skew() (time.Duration, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.ahead, k.told
}
