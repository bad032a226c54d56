package telegramtest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// Delivery is one attempt to deliver an update to the webhook.
type Delivery struct {
	Update int
	Done   bool
	Status int // of the response; 0 if there was none
}

// webhookSender delivers updates to one webhook as Telegram does: a limited number at the same
// time, and in order within the messages of a chat and within the presses of a user.
type webhookSender struct {
	s              *Server
	url, secret    string
	maxConnections int
	inFlight       int
	busyQueues     map[string]bool // order keys whose first update is being delivered or waits for a retry
}

// deliveryTimeout is how long Telegram waits for a response.
const deliveryTimeout = 60 * time.Second

func (d *webhookSender) run(ctx context.Context) {
	transport := &http.Transport{MaxIdleConnsPerHost: d.maxConnections}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, Timeout: deliveryTimeout}
	for {
		var next update
		var line string
		if !d.s.Await(ctx, func() bool { next, line = d.nextUpdate(); return line != "" }) {
			return
		}
		d.s.deliveryWork.Go(func() { d.deliver(ctx, client, next, line) })
	}
}

// nextUpdate returns the first update whose order key is not busy.
func (d *webhookSender) nextUpdate() (update, string) {
	if d.inFlight >= d.maxConnections {
		return update{}, ""
	}
	for _, u := range d.s.updates.pending {
		if !d.busyQueues[u.orderKey] {
			d.busyQueues[u.orderKey] = true
			d.inFlight++
			return u, u.orderKey
		}
	}
	return update{}, ""
}

// orderKey returns the key within which updates are delivered in order. Each update type has its
// own keys.
func orderKey(id int, body json.RawMessage) string {
	var fields map[string]json.RawMessage
	_ = json.Unmarshal(body, &fields)
	for kind, raw := range fields {
		var one struct {
			Chat, From struct{ ID int64 }
		}
		switch {
		case kind == "update_id":
		case json.Unmarshal(raw, &one) != nil:
		case kind == "callback_query":
			return kind + itoa(one.From.ID)
		case one.Chat.ID != 0:
			return kind + itoa(one.Chat.ID)
		}
	}
	return itoa(int64(id))
}

// deliver makes one attempt. After a failure it keeps the order key busy until the retry. Telegram
// increases the delay; this server uses a constant delay, or the delay that the bot asks for.
func (d *webhookSender) deliver(ctx context.Context, client *http.Client, u update, line string) {
	s := d.s
	record := &Delivery{Update: u.id}
	s.Update(func() { s.webhook.attempts = append(s.webhook.attempts, record) })
	status, pause, err := d.postUpdate(ctx, client, u)
	s.Update(func() {
		d.inFlight--
		record.Done, record.Status = true, status
		switch {
		case ctx.Err() != nil: // too late: the webhook was removed
		case err == nil:
			d.busyQueues[line] = false
			s.updates.pending = slices.DeleteFunc(s.updates.pending, func(one update) bool { return one.id == u.id })
		default:
			s.webhook.lastError, s.webhook.lastAt = err.Error(), time.Now().Unix()
			pause = max(pause, s.settings.webhookRetry)
		}
	})
	if err == nil {
		return
	}
	select {
	case <-time.After(pause):
		s.Update(func() { d.busyQueues[line] = false })
	case <-ctx.Done():
	}
}

// postUpdate returns the status of the response and the delay that it asks for.
func (d *webhookSender) postUpdate(ctx context.Context, client *http.Client, u update) (status int, wait time.Duration, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, d.url, bytes.NewReader(u.body))
	if err != nil {
		return 0, 0, err
	}
	r.Header.Set("Content-Type", "application/json")
	if d.secret != "" {
		r.Header.Set("X-Telegram-Bot-Api-Secret-Token", d.secret)
	}
	resp, err := client.Do(r)
	if err != nil {
		return 0, 0, err
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	if resp.StatusCode/100 != 2 {
		err = fmt.Errorf("Wrong response from the webhook: %s", resp.Status) //nolint:staticcheck // Telegram's own words
	}
	seconds, _ := strconv.Atoi(resp.Header.Get("Retry-After"))
	return resp.StatusCode, time.Duration(seconds) * time.Second, err
}

// Deliveries returns the attempts so far, in the order in which they started.
func (s *Server) Deliveries() []Delivery {
	s.Lock()
	defer s.Unlock()
	return s.deliveries()
}

func (s *Server) deliveries() (out []Delivery) {
	for _, d := range s.webhook.attempts {
		out = append(out, *d)
	}
	return out
}

// AwaitDeliveries waits until enough reports true for the attempts, and returns them. It reports
// false after the timeout.
func (s *Server) AwaitDeliveries(timeout time.Duration, enough func([]Delivery) bool) (all []Delivery, ok bool) {
	ok = s.AwaitFor(timeout, func() bool { all = s.deliveries(); return enough(all) })
	return all, ok
}
