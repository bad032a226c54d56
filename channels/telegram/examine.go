package telegram

import (
	"context"
	"fmt"
	"net/url"
	"time"

	"nanobot/channels"
	"nanobot/channels/telegram/botapi"
	"nanobot/channels/telegram/receiving"
)

// The checks that Examine makes.
const (
	checkToken   = Name + ".token"
	checkPrivacy = Name + ".privacy"
	checkWebhook = Name + ".webhook"
	checkPoller  = Name + ".poller"
	checkClock   = Name + ".clock"
)

// fixSharedToken is the fix for two programs that use the same token.
const fixSharedToken = "stop the other program, or get a token of its own from @BotFather (/newbot), or a new one " +
	"for this bot (/revoke)"

// Examine checks the token, the bot's privacy mode, the webhook, and whether another program uses
// the token.
func (c *Channel) Examine(ctx context.Context, e channels.ExamineOptions) []channels.Finding {
	x := &examination{api: c.api, groups: c.groups, webhook: c.webhook, options: e}
	defer c.api.CloseIdleConnections()
	if !x.examineToken(ctx) {
		return x.findings
	}
	x.examineWebhook(ctx)
	if skew, ok := c.api.ClockSkew(); ok {
		x.findings = append(x.findings, channels.ClockSkewFinding(checkClock, skew))
	}
	return x.findings
}

// examination is one run of Examine.
type examination struct {
	api      *botapi.Client
	groups   string
	webhook  *receiving.Webhook // nil in poll mode
	options  channels.ExamineOptions
	findings []channels.Finding
}

func (x *examination) addFinding(check string, status channels.Verdict, detail, fix string) {
	x.findings = append(x.findings, channels.Finding{Check: check, Status: status, Detail: x.api.Redact(detail), Fix: fix})
}

// addFailure adds a finding for a call that failed.
func (x *examination) addFailure(check string, err error) {
	fix := "check the network, the proxy variables and channels.telegram.apiBase, and try again"
	if botapi.RetryDelay(err) > 0 {
		fix = "wait as long as it says, and try again"
	}
	x.addFinding(check, channels.Bad, err.Error(), fix)
}

// examineToken checks the token. It reports whether further checks make sense.
func (x *examination) examineToken(ctx context.Context) bool {
	me, err := x.api.GetMe(ctx)
	if tokenErr := botapi.TokenError(err); tokenErr != nil {
		x.addFinding(checkToken, channels.Bad, tokenErr.Error(),
			"copy the token that @BotFather shows for this bot (/mybots → API Token) to where channels.telegram.token says")
		return false
	}
	if err != nil {
		x.addFailure(checkToken, err)
		return false
	}
	x.addFinding(checkToken, channels.Good, "the bot is @"+me.Username, "")
	switch {
	case x.groups == "all" && !me.ReadsAll:
		x.addFinding(checkPrivacy, channels.Doubtful,
			`channels.telegram.groups is "all", but the bot is in privacy mode: unless it is an administrator, in groups it only sees what is meant for it`,
			`send /setprivacy to @BotFather, choose the bot, then Disable, and add the bot to its groups again; or set channels.telegram.groups to "mention"`)
	case x.groups == "all":
		x.addFinding(checkPrivacy, channels.Good, "privacy mode is off: the bot sees all messages of its groups", "")
	default:
		x.addFinding(checkPrivacy, channels.Good,
			fmt.Sprintf("channels.telegram.groups is %q, for which privacy mode makes no difference", x.groups), "")
	}
	return true
}

// examineWebhook checks whether a webhook is set, and looks for another poller if none is.
func (x *examination) examineWebhook(ctx context.Context) {
	info, err := x.api.GetWebhookInfo(ctx)
	if err != nil {
		x.addFailure(checkWebhook, err)
		return
	}
	if x.webhook != nil {
		x.examineOwnWebhook(info)
		return
	}
	switch {
	case info.URL == "":
		x.addFinding(checkWebhook, channels.Good, "none is set, as polling requires", "")
		x.examinePoller(ctx)
	case x.options.Running:
		x.addFinding(checkWebhook, channels.Bad,
			fmt.Sprintf("another program has set a webhook to %s while our daemon polls", webhookHost(info.URL)), fixSharedToken)
	default:
		x.addFinding(checkWebhook, channels.Doubtful,
			fmt.Sprintf("one to %s is left over, and the mode is poll; the next start removes it", webhookHost(info.URL)),
			"nothing if an earlier run set it; if another program did, "+fixSharedToken)
	}
}

// recentFailure is how old a delivery error may be to be reported. Telegram tries again within two
// minutes.
const recentFailure = 10 * time.Minute

// examineOwnWebhook checks the webhook in webhook mode.
func (x *examination) examineOwnWebhook(info *botapi.WebhookInfo) {
	failed := time.Unix(info.LastError, 0)
	switch {
	case info.URL == "" && !x.options.Running:
		x.addFinding(checkWebhook, channels.Good, "none is set yet; the start sets it", "")
	case info.URL != x.webhook.URL() && !x.options.Running:
		x.addFinding(checkWebhook, channels.Doubtful,
			fmt.Sprintf("another one is set, to %s; the next start replaces it", webhookHost(info.URL)),
			"nothing if an earlier run set it; if another program did, "+fixSharedToken)
	case info.URL != x.webhook.URL():
		x.addFinding(checkWebhook, channels.Bad, "the one that our daemon has set was removed or replaced", fixSharedToken)
	case info.LastError > 0 && time.Since(failed) < recentFailure:
		x.addFinding(checkWebhook, channels.Bad,
			fmt.Sprintf("Telegram cannot deliver: %s (at %s, %d waiting)", info.Reason, failed.Format(time.TimeOnly),
				info.Pending),
			"check that the daemon runs, and that the proxy in front of http.listen has a valid certificate and forwards the "+
				"path unchanged")
	default:
		x.addFinding(checkWebhook, channels.Good, fmt.Sprintf("set to %s, %d waiting", webhookHost(info.URL), info.Pending),
			"")
	}
}

// examinePoller looks for another program that polls. A poll ends the previous one with a conflict,
// whose program polls again and so ends ours: that is the sign. Without an offset nothing is
// confirmed, so no update is lost.
func (x *examination) examinePoller(ctx context.Context) {
	if x.options.Running {
		x.addFinding(checkPoller, channels.Good,
			"our own daemon polls, so this was not tried; its log would name another program", "")
		return
	}
	wait := max(x.options.Listen, time.Second)
	call, cancel := context.WithTimeout(ctx, wait+botapi.CallTimeout)
	defer cancel()
	waiting, err := x.api.GetUpdates(call, map[string]any{"timeout": int(wait / time.Second), "limit": 1})
	switch {
	case err == nil && len(waiting) > 0:
		x.addFinding(checkPoller, channels.Good, "messages wait for the daemon, so no other program polls", "")
	case err == nil:
		x.addFinding(checkPoller, channels.Good, fmt.Sprintf("nobody else polled within %s", wait.Truncate(time.Second)), "")
	case botapi.IsConflict(err):
		x.addFinding(checkPoller, channels.Bad, botapi.ExplainConflict(err).Error(), fixSharedToken)
	default:
		x.addFailure(checkPoller, err)
	}
}

// webhookHost returns the host of a webhook URL. The path may contain a secret.
func webhookHost(address string) string {
	if u, err := url.Parse(address); err == nil && u.Host != "" {
		return u.Host
	}
	return "an unreadable address"
}
