package config

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
)

var (
	// hookPath has nothing that a proxy may rewrite or a router takes for a pattern.
	hookPath   = regexp.MustCompile(`^(/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)*/?$`)
	hookSecret = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)
)

// checkWebhook finds what Telegram would refuse, or could not reach us by.
func checkWebhook(t Telegram) []fault {
	var all []fault
	at := key("channels.telegram.webhookUrl")
	if t.WebhookURL != "" {
		if want := wantHook(t); want != "" {
			all = append(all, fault{path: at, want: want, hide: looksSecret(t.WebhookURL)})
		}
	} else if t.Enabled && t.Mode == "webhook" {
		all = append(all, fault{
			path: at, because: key("channels.telegram.mode"), want: `must be set, because channels.telegram.mode is "webhook"`,
		})
	}
	secret := string(t.WebhookSecret)
	if kind, _ := t.WebhookSecret.reference(); kind == "" && secret != "" && (len(secret) > 256 || !hookSecret.MatchString(secret)) {
		all = append(all, fault{path: key("channels.telegram.webhookSecret"), want: "must be 1 to 256 letters, digits, _ or -"})
	}
	return all
}

// wantHook says what the webhook's address should be, or "". A Bot API server of one's own takes
// any.
func wantHook(t Telegram) string {
	u, err := url.Parse(t.WebhookURL)
	base, _ := url.Parse(t.APIBase)
	telegrams := base == nil || t.APIBase == "" || strings.EqualFold(base.Hostname(), "api.telegram.org")
	switch {
	case err != nil || !isURL(t.WebhookURL) || u.User != nil:
		return `must be an address such as "https://bot.example.com/telegram"`
	case u.RawQuery != "" || u.Fragment != "" || !hookPath.MatchString(u.EscapedPath()):
		return "must have a path of letters, digits and . _ ~ - only, and nothing behind it"
	case telegrams && u.Scheme != "https":
		return `must begin with "https://", which is all that Telegram delivers to`
	case telegrams && !slices.Contains([]string{"", "443", "80", "88", "8443"}, u.Port()):
		return "must have the port 443, 80, 88 or 8443, which are all that Telegram delivers to"
	}
	return ""
}
