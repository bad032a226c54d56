package telegramtest

import (
	"cmp"
	"context"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
)

// webhook is the webhook that is set, if any.
type webhook struct {
	url, secret    string
	maxConnections int // deliveries at the same time
	lastError      string
	lastAt         int64
	cancel         context.CancelFunc
	attempts       []*Delivery // to this webhook and to earlier ones
}

var secretPattern = regexp.MustCompile(`^[A-Za-z0-9_-]{1,256}$`)

// setWebhook starts deliveries. Telegram requires HTTPS and one of four ports, except here on
// loopback.
func (s *Server) setWebhook(c *Call) (any, error) {
	to := c.Params["url"]
	if to == "" {
		return s.deleteWebhook(c)
	}
	if err := checkWebhook(c, to); err != nil {
		return nil, err
	}
	if err := s.setAllowedUpdates(c); err != nil {
		return nil, err
	}
	if s.IsClosed() {
		return nil, &apiError{status: http.StatusInternalServerError, text: "Internal Server Error: restart"}
	}
	s.endPoll(conflictWebhookSet)
	most, secret := int(cmp.Or(c.IntParam("max_connections"), 40)), c.Params["secret_token"]
	if s.webhook.url == to && s.webhook.maxConnections == most && s.webhook.secret == secret && !c.flag("drop_pending_updates") {
		return true, nil // already set, nothing changes
	}
	s.removeWebhook(c)
	ctx, cancel := context.WithCancel(context.Background())
	s.webhook.url, s.webhook.secret, s.webhook.maxConnections, s.webhook.cancel = to, secret, most, cancel
	d := &webhookSender{s: s, url: to, secret: secret, maxConnections: most, busyQueues: map[string]bool{}}
	s.deliveryWork.Go(func() { d.run(ctx) })
	return true, nil
}

func checkWebhook(c *Call, to string) error {
	u, err := url.Parse(to)
	if err != nil || u.Host == "" {
		return violationError("bad webhook: invalid webhook URL specified")
	}
	local := u.Hostname() == "localhost" || net.ParseIP(u.Hostname()).IsLoopback()
	if u.Scheme != "https" && (u.Scheme != "http" || !local) {
		return violationError("bad webhook: An HTTPS URL must be provided for webhook")
	}
	if !local && !slices.Contains([]string{"", "80", "88", "443", "8443"}, u.Port()) {
		return violationError("bad webhook: Webhook can be set up only on ports 80, 88, 443 or 8443")
	}
	if c.has("secret_token") && !secretPattern.MatchString(c.Params["secret_token"]) {
		return violationError("secret token contains unallowed characters")
	}
	if n := c.IntParam("max_connections"); c.has("max_connections") && (n < 1 || n > 100) {
		return violationError("max_connections must be between 1 and 100")
	}
	return nil
}

func (s *Server) deleteWebhook(c *Call) (any, error) {
	s.removeWebhook(c)
	return true, nil
}

func (s *Server) removeWebhook(c *Call) {
	if s.webhook.cancel != nil {
		s.webhook.cancel()
	}
	s.webhook = webhook{attempts: s.webhook.attempts}
	if c.flag("drop_pending_updates") {
		s.updates.pending = nil
	}
}

func (s *Server) getWebhookInfo(*Call) (any, error) {
	info := map[string]any{
		"url": s.webhook.url, "has_custom_certificate": false, "pending_update_count": len(s.updates.pending),
	}
	if s.webhook.url != "" {
		info["max_connections"] = s.webhook.maxConnections
	}
	if s.webhook.lastError != "" {
		info["last_error_message"], info["last_error_date"] = s.webhook.lastError, s.webhook.lastAt
	}
	if len(s.updates.allowed) > 0 {
		info["allowed_updates"] = s.updates.allowed
	}
	return info, nil
}
