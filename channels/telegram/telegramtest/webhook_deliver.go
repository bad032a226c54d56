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

// Delivery is one try to deliver an update to the webhook.
type Delivery struct {
	Update int
	Done   bool
	Status int // of the answer; 0 if there was none
}

// deliveries are made to one webhook as the real server makes them: at most so many at once, and of
// the messages of a chat, or the presses of a person, the next only when the one before was taken.
type deliveries struct {
	s           *Server
	url, secret string
	most        int
	flying      int
	busy        map[string]bool // lines whose first update is being delivered, or waits to be tried again
}

// deliveryTimeout is how long the real server waits for an answer.
const deliveryTimeout = 60 * time.Second

func (d *deliveries) run(ctx context.Context) {
	transport := &http.Transport{MaxIdleConnsPerHost: d.most}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, Timeout: deliveryTimeout}
	for {
		var next update
		var line string
		if !d.s.await(ctx, func() bool { next, line = d.next(); return line != "" }) {
			return
		}
		d.s.work.Go(func() { d.deliver(ctx, client, next, line) })
	}
}

// next takes the first update whose line is free.
func (d *deliveries) next() (update, string) {
	if d.flying >= d.most {
		return update{}, ""
	}
	for _, u := range d.s.updates.pending {
		if line := u.line(); !d.busy[line] {
			d.busy[line] = true
			d.flying++
			return u, line
		}
	}
	return update{}, ""
}

// line is what updates stand in behind each other. Each kind has lines of its own.
func (u update) line() string {
	var body map[string]json.RawMessage
	_ = json.Unmarshal(u.body, &body)
	for kind, raw := range body {
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
	return itoa(int64(u.id))
}

// deliver makes one try. An update that is not taken is tried again after a while, and its line
// waits for it. The real server waits longer each time; here it is always the same, or what the bot
// asks for.
func (d *deliveries) deliver(ctx context.Context, client *http.Client, u update, line string) {
	s := d.s
	record := &Delivery{Update: u.id}
	s.update(func() { s.hook.made = append(s.hook.made, record) })
	status, pause, err := d.push(ctx, client, u)
	s.update(func() {
		d.flying--
		record.Done, record.Status = true, status
		switch {
		case ctx.Err() != nil: // the answer came too late: the webhook is gone
		case err == nil:
			d.busy[line] = false
			s.updates.pending = slices.DeleteFunc(s.updates.pending, func(one update) bool { return one.id == u.id })
		default:
			s.hook.lastError, s.hook.lastAt = err.Error(), time.Now().Unix()
			pause = max(pause, s.set.retry)
		}
	})
	if err == nil {
		return
	}
	select {
	case <-time.After(pause):
		s.update(func() { d.busy[line] = false })
	case <-ctx.Done():
	}
}

// push returns the answer's status, and how long it asks us to wait.
func (d *deliveries) push(ctx context.Context, client *http.Client, u update) (status int, wait time.Duration, err error) {
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

// Deliveries returns the tries to deliver to the webhook so far, in the order in which they were
// begun.
func (s *Server) Deliveries() []Delivery {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.deliveries()
}

func (s *Server) deliveries() (out []Delivery) {
	for _, d := range s.hook.made {
		out = append(out, *d)
	}
	return out
}

// AwaitDeliveries waits until the deliveries satisfy a condition, and returns them. It reports
// false when that takes longer than patience.
func (s *Server) AwaitDeliveries(patience time.Duration, enough func([]Delivery) bool) (all []Delivery, ok bool) {
	ok = s.awaitFor(patience, func() bool { all = s.deliveries(); return enough(all) })
	return all, ok
}
