// Package console is the operator's view of a gateway over HTTP: the list of turns, single turns,
// undelivered messages, schedules, health, and the commands stop and retry. It does not check
// access, which is up to the server.
package console

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/gateway"
	"nanobot/gateway/events"
	"nanobot/gateway/ledger"
	"nanobot/gateway/schedule"
	"nanobot/gateway/store"
	"nanobot/terminal"
)

const (
	// maxTurns bounds the turns of one response.
	maxTurns, usualTurns = 500, 50
	// publishInterval is the shortest time between two publications of changes, and maxDirty bounds
	// the turns in one. If there are more, watchers are asked to reload.
	publishInterval = 100 * time.Millisecond
	maxDirty        = 1000
	// compareInterval is the time between two reads of the newest turns, which other members may
	// have changed, and maxCompared their number.
	compareInterval = time.Second
	maxCompared     = 50
)

// Console reads a gateway and its store.
type Console struct {
	// Watched reports whether there are watchers of changes; nil: there may be. It must be set
	// before Run.
	Watched func() bool

	store store.Store
	log   *zap.Logger

	mu    sync.Mutex
	dirty map[int64]bool // changed turns that were not published yet
	lost  bool           // more turns than maxDirty have changed

	// versions are those of the newest turns, and compared is when they were read. Only Run uses
	// them.
	versions map[int64]version
	compared time.Time
}

// version tells whether a turn has changed.
type version struct {
	state   store.State
	attempt int
}

// New returns a console on a store. Its Observe is for the gateway's options.
func New(s store.Store, log *zap.Logger) *Console {
	return &Console{store: s, log: log, dirty: map[int64]bool{}}
}

// Observe records that a turn has changed.
func (c *Console) Observe(e events.Event) {
	if e.Inbound == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dirty[e.Inbound] = true; len(c.dirty) > maxDirty {
		c.lost = true
		clear(c.dirty)
	}
}

// Run publishes changed turns, each as the event "turn", until ctx ends. The event "reload" stands
// for too many changes. Without watchers nothing is published, since new watchers read the lists
// first.
func (c *Console) Run(ctx context.Context, publish func(event string, data any)) {
	tick := time.NewTicker(publishInterval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		watched := c.Watched == nil || c.Watched()
		if watched && store.MemberName(c.store.Member()) != "" && time.Since(c.compared) > compareInterval {
			c.compareTurns(ctx)
		}
		ids, lost := c.takeChanged()
		switch {
		case !watched:
		case lost:
			publish("reload", struct{}{})
		default:
			c.publishTurns(ctx, ids, publish)
		}
	}
}

// compareTurns records which of the newest turns have changed: events tell only of the turns of
// this member.
func (c *Console) compareTurns(ctx context.Context) {
	newest, err := c.store.Turns(ctx, store.TurnFilter{Limit: maxCompared})
	if err != nil {
		return // the next read finds what has changed
	}
	now := map[int64]version{}
	for _, inbound := range newest {
		v := version{inbound.State, inbound.Attempt}
		if now[inbound.ID] = v; c.versions[inbound.ID] != v {
			c.Observe(events.Event{Inbound: inbound.ID})
		}
	}
	c.versions, c.compared = now, time.Now()
}

// takeChanged returns the changed turns and resets them.
func (c *Console) takeChanged() (ids []int64, lost bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	ids, lost = slices.Collect(maps.Keys(c.dirty)), c.lost
	clear(c.dirty)
	c.lost = false
	return ids, lost
}

// publishTurns publishes turns. Turns that cannot be read now are published later.
func (c *Console) publishTurns(ctx context.Context, ids []int64, publish func(event string, data any)) {
	var inbounds []store.Inbound
	for _, id := range ids {
		inbound, found, err := c.store.Inbound(ctx, id)
		if err != nil {
			c.Observe(events.Event{Inbound: id})
		}
		if found {
			inbounds = append(inbounds, inbound)
		}
	}
	turns, err := c.listTurns(ctx, inbounds)
	if err != nil {
		for _, inbound := range inbounds {
			c.Observe(events.Event{Inbound: inbound.ID})
		}
	}
	for _, t := range turns {
		publish("turn", t)
	}
}

// Handler serves the API of a gateway.
func (c *Console) Handler(g *gateway.Gateway) http.Handler {
	mux := http.NewServeMux()
	handle := func(pattern string, f func(r *http.Request) (any, error)) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) { c.serveJSON(w, r, f) })
	}
	handle("GET /api/turns", c.serveTurns)
	handle("GET /api/turns/{id}", func(r *http.Request) (any, error) { return c.serveTurn(r, g) })
	mux.HandleFunc("GET /api/turns/{id}/cassette", func(w http.ResponseWriter, r *http.Request) {
		c.serveCassette(w, r, g)
	})
	for pattern, execute := range map[string]func(context.Context, int64) error{
		"POST /api/turns/{id}/stop": g.Stop, "POST /api/turns/{id}/retry": g.Retry,
	} {
		handle(pattern, func(r *http.Request) (any, error) {
			inbound, err := c.requestedInbound(r)
			if err != nil {
				return nil, err
			}
			return accepted, execute(r.Context(), inbound.ID)
		})
	}
	handle("GET /api/undelivered", c.serveUndelivered)
	handle("GET /api/schedules", func(r *http.Request) (any, error) {
		last := schedule.MaxReported
		if n, err := strconv.Atoi(r.FormValue("occurrences")); err == nil {
			last = min(max(n, 0), last)
		}
		return schedule.Report(r.Context(), c.store, nil, last)
	})
	handle("GET /api/usage", func(r *http.Request) (any, error) { return c.serveUsage(r, g) })
	handle("GET /api/health", func(r *http.Request) (any, error) { return c.readHealth(r.Context(), g), nil })
	return mux
}

// serveUsage returns what turns have used.
func (c *Console) serveUsage(r *http.Request, g *gateway.Gateway) (any, error) {
	q := ledger.Query{Zone: g.Zone()}
	var err error
	if q.By, err = ledger.ParseKey(r.FormValue("by")); err != nil {
		return nil, badRequest{fmt.Errorf("by: %w", err)}
	}
	if text := r.FormValue("since"); text != "" {
		if q.Last, err = time.ParseDuration(text); err != nil || q.Last <= 0 {
			return nil, badRequest{errors.New("since: must be a time such as 24h")}
		}
	}
	return ledger.Report(r.Context(), c.store, q)
}

// readHealth returns the health of a gateway, with the running turns of all members.
func (c *Console) readHealth(ctx context.Context, g *gateway.Gateway) gateway.Health {
	h := g.Health(ctx)
	members, err := c.store.ListMembers(ctx)
	if err != nil || len(members) < 2 {
		return h // the health says that the store does not answer
	}
	h.Running = 0
	for _, m := range members {
		h.Running += m.Running
	}
	return h
}

// accepted is the response to a command that will be carried out.
var accepted = struct {
	OK bool `json:"ok"`
}{true}

var errNotFound = errors.New("there is no such turn")

// badRequest is a mistake of the client.
type badRequest struct{ error }

func (c *Console) serveJSON(w http.ResponseWriter, r *http.Request, f func(*http.Request) (any, error)) {
	v, err := f(r)
	status := http.StatusOK
	var bad badRequest
	switch {
	case errors.As(err, &bad):
		status = http.StatusBadRequest
	case errors.Is(err, errNotFound):
		status = http.StatusNotFound
	case errors.Is(err, gateway.ErrNotNow):
		status = http.StatusConflict
	case err != nil:
		status = http.StatusServiceUnavailable
		c.log.Warn("console request failed", zap.String("path", r.URL.Path), zap.Error(err))
	case r.Method == http.MethodPost:
		status = http.StatusAccepted
	}
	if err != nil {
		v = map[string]string{"error": err.Error()}
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the client may have disconnected
}

func (c *Console) requestedInbound(r *http.Request) (store.Inbound, error) {
	id, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
	if err != nil {
		return store.Inbound{}, badRequest{fmt.Errorf("turn %q is not a number", r.PathValue("id"))}
	}
	inbound, found, err := c.store.Inbound(r.Context(), id)
	if err == nil && !found {
		err = errNotFound
	}
	return inbound, err
}

// outcomes are the filter values: the states of unfinished turns, and the statuses of finished
// ones.
var outcomes = []string{
	"", string(store.Pending), string(store.Running), string(store.Interrupted), string(store.Dead),
	string(terminal.Done), string(terminal.Failed), string(terminal.TimedOut), string(terminal.Stopped),
	string(terminal.Refused), string(terminal.Silent),
}

// parseFilter parses the filter of a list request.
func parseFilter(r *http.Request) (store.TurnFilter, error) {
	q := r.URL.Query()
	f := store.TurnFilter{Agent: q.Get("agent"), Origin: q.Get("origin"), Outcome: q.Get("outcome"), Limit: usualTurns}
	if channel, id, ok := strings.Cut(q.Get("chat"), ":"); ok {
		f.Chat = channels.Chat{Channel: channel, ID: id}
	} else if channel != "" {
		return f, badRequest{errors.New("chat: must be channel:id")}
	}
	if !slices.Contains(outcomes, f.Outcome) {
		return f, badRequest{errors.New("outcome: must be one of" + strings.Join(outcomes, " "))}
	}
	for name, into := range map[string]func(int64){
		"before": func(n int64) { f.Before = n },
		"limit":  func(n int64) { f.Limit = int(min(max(n, 1), maxTurns)) },
	} {
		if v := q.Get(name); v != "" {
			n, err := strconv.ParseInt(v, 10, 64)
			if err != nil || n < 0 {
				return f, badRequest{fmt.Errorf("%s: must be a number", name)}
			}
			into(n)
		}
	}
	return f, nil
}
