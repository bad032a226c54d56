package telegramtest

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"time"
)

// hook is where updates are delivered, when they are.
type hook struct {
	url, secret string
	most        int
	lastError   string
	lastAt      int64
	cancel      context.CancelFunc
}

var secretForm = regexp.MustCompile(`^[A-Za-z0-9_-]{1,256}$`)

// setWebhook starts deliveries. The real one wants HTTPS; here a server on loopback may do without.
func (s *Server) setWebhook(c *Call) (any, error) {
	to := c.Params["url"]
	if to == "" {
		return s.deleteWebhook(c)
	}
	u, err := url.Parse(to)
	if err != nil || u.Host == "" {
		return nil, forbid("bad webhook: invalid webhook URL specified")
	}
	ip := net.ParseIP(u.Hostname())
	local := u.Hostname() == "localhost" || ip.IsLoopback()
	if u.Scheme != "https" && (u.Scheme != "http" || !local) {
		return nil, forbid("bad webhook: An HTTPS URL must be provided for webhook")
	}
	if c.has("secret_token") && !secretForm.MatchString(c.Params["secret_token"]) {
		return nil, forbid("secret token contains unallowed characters")
	}
	if n := c.Int("max_connections"); c.has("max_connections") && (n < 1 || n > 100) {
		return nil, forbid("max_connections must be between 1 and 100")
	}
	if err := s.allow(c); err != nil {
		return nil, err
	}
	if s.isClosed() {
		return nil, &refusal{status: http.StatusInternalServerError, text: "Internal Server Error: restart"}
	}
	s.endPoll(hookCame)
	s.dropHook(c)
	ctx, cancel := context.WithCancel(context.Background())
	s.hook = hook{url: to, secret: c.Params["secret_token"], most: int(c.Int("max_connections")), cancel: cancel}
	h := s.hook
	s.work.Go(func() { s.deliver(ctx, h) })
	return true, nil
}

func (s *Server) deleteWebhook(c *Call) (any, error) {
	s.dropHook(c)
	return true, nil
}

func (s *Server) dropHook(c *Call) {
	if s.hook.cancel != nil {
		s.hook.cancel()
	}
	s.hook = hook{}
	if c.flag("drop_pending_updates") {
		s.updates.pending = nil
	}
}

func (s *Server) getWebhookInfo(*Call) (any, error) {
	info := map[string]any{
		"url": s.hook.url, "has_custom_certificate": false, "pending_update_count": len(s.updates.pending),
	}
	if s.hook.url != "" {
		info["max_connections"] = cmp.Or(s.hook.most, 40)
	}
	if s.hook.lastError != "" {
		info["last_error_message"], info["last_error_date"] = s.hook.lastError, s.hook.lastAt
	}
	if len(s.updates.allowed) > 0 {
		info["allowed_updates"] = s.updates.allowed
	}
	return info, nil
}

// deliver offers the webhook one update after the other, each until it is taken.
func (s *Server) deliver(ctx context.Context, h hook) {
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, Timeout: 60 * time.Second}
	for {
		var next update
		var pause time.Duration
		if !s.await(ctx, func() bool {
			pause = s.set.retry
			if len(s.updates.pending) > 0 {
				next = s.updates.pending[0]
			}
			return next.id != 0
		}) {
			return
		}
		err := push(ctx, client, h, next)
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			s.update(func() { s.updates.confirm(next.id + 1) })
			continue
		}
		s.update(func() { s.hook.lastError, s.hook.lastAt = err.Error(), time.Now().Unix() })
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
	}
}

// push makes one delivery.
func push(ctx context.Context, client *http.Client, h hook, u update) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, h.url, bytes.NewReader(u.body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	if h.secret != "" {
		r.Header.Set("X-Telegram-Bot-Api-Secret-Token", h.secret)
	}
	resp, err := client.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("Wrong response from the webhook: %s", resp.Status) //nolint:staticcheck // Telegram's own words
	}
	return nil
}
