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

// hook is where updates are delivered, when they are.
type hook struct {
	url, secret string
	most        int // deliveries at once
	lastError   string
	lastAt      int64
	cancel      context.CancelFunc
	made        []*Delivery // to this and earlier ones
}

var secretForm = regexp.MustCompile(`^[A-Za-z0-9_-]{1,256}$`)

// setWebhook starts deliveries. The real one wants HTTPS and one of four ports; here a server on
// loopback may do without.
func (s *Server) setWebhook(c *Call) (any, error) {
	to := c.Params["url"]
	if to == "" {
		return s.deleteWebhook(c)
	}
	if err := checkHook(c, to); err != nil {
		return nil, err
	}
	if err := s.allow(c); err != nil {
		return nil, err
	}
	if s.isClosed() {
		return nil, &refusal{status: http.StatusInternalServerError, text: "Internal Server Error: restart"}
	}
	s.endPoll(hookCame)
	most, secret := int(cmp.Or(c.IntParam("max_connections"), 40)), c.Params["secret_token"]
	if s.hook.url == to && s.hook.most == most && s.hook.secret == secret && !c.flag("drop_pending_updates") {
		return true, nil // it is already set, and goes on as before
	}
	s.dropHook(c)
	ctx, cancel := context.WithCancel(context.Background())
	s.hook.url, s.hook.secret, s.hook.most, s.hook.cancel = to, secret, most, cancel
	d := &deliveries{s: s, url: to, secret: secret, most: most, busy: map[string]bool{}}
	s.work.Go(func() { d.run(ctx) })
	return true, nil
}

func checkHook(c *Call, to string) error {
	u, err := url.Parse(to)
	if err != nil || u.Host == "" {
		return forbid("bad webhook: invalid webhook URL specified")
	}
	local := u.Hostname() == "localhost" || net.ParseIP(u.Hostname()).IsLoopback()
	if u.Scheme != "https" && (u.Scheme != "http" || !local) {
		return forbid("bad webhook: An HTTPS URL must be provided for webhook")
	}
	if !local && !slices.Contains([]string{"", "80", "88", "443", "8443"}, u.Port()) {
		return forbid("bad webhook: Webhook can be set up only on ports 80, 88, 443 or 8443")
	}
	if c.has("secret_token") && !secretForm.MatchString(c.Params["secret_token"]) {
		return forbid("secret token contains unallowed characters")
	}
	if n := c.IntParam("max_connections"); c.has("max_connections") && (n < 1 || n > 100) {
		return forbid("max_connections must be between 1 and 100")
	}
	return nil
}

func (s *Server) deleteWebhook(c *Call) (any, error) {
	s.dropHook(c)
	return true, nil
}

func (s *Server) dropHook(c *Call) {
	if s.hook.cancel != nil {
		s.hook.cancel()
	}
	s.hook = hook{made: s.hook.made}
	if c.flag("drop_pending_updates") {
		s.updates.pending = nil
	}
}

func (s *Server) getWebhookInfo(*Call) (any, error) {
	info := map[string]any{
		"url": s.hook.url, "has_custom_certificate": false, "pending_update_count": len(s.updates.pending),
	}
	if s.hook.url != "" {
		info["max_connections"] = s.hook.most
	}
	if s.hook.lastError != "" {
		info["last_error_message"], info["last_error_date"] = s.hook.lastError, s.hook.lastAt
	}
	if len(s.updates.allowed) > 0 {
		info["allowed_updates"] = s.updates.allowed
	}
	return info, nil
}
