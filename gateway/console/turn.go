package console

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"time"
	"unicode/utf8"

	"nanobot/channels"
	"nanobot/gateway"
	"nanobot/gateway/events"
	"nanobot/gateway/store"
)

// maxUndelivered bounds one response; maxExcerpt bounds the texts in a list, in bytes.
const maxUndelivered, maxExcerpt = 200, 300

// Turn is a turn in a list.
type Turn struct {
	ID      int64         `json:"id"`
	Chat    string        `json:"chat"`
	Title   string        `json:"title,omitempty"` // of the chat, or the name of the only person in it
	Message string        `json:"message"`         // the network's ID of the message that it answers
	User    channels.User `json:"user"`
	// Origin says who began a message that nobody has typed, such as hook:ci.
	Origin   channels.Origin `json:"origin,omitempty"`
	Agent    string          `json:"agent"`
	Text     string          `json:"text"`
	Media    int             `json:"media,omitempty"` // number of files of the message
	State    store.State     `json:"state"`
	Member   string          `json:"member,omitempty"` // that runs it, if there are several
	Status   string          `json:"status,omitempty"`
	ExitCode int             `json:"exit_code,omitempty"`
	Signal   string          `json:"signal,omitempty"`
	Memory   int64           `json:"memory,omitempty"` // peak, in bytes
	CPU      float64         `json:"cpu,omitempty"`    // seconds
	Attempt  int             `json:"attempt"`
	Received time.Time       `json:"received"`
	Started  time.Time       `json:"started,omitzero"`
	Ended    time.Time       `json:"ended,omitzero"`
	Sends    map[string]int  `json:"sends"` // by state
}

// Send is one network call of an answer.
type Send struct {
	ID        int64       `json:"id"`
	Chat      string      `json:"chat"`
	Inbound   int64       `json:"turn,omitempty"`
	State     store.State `json:"state"`
	Tries     int         `json:"tries"`
	Error     string      `json:"error,omitempty"`
	Queued    time.Time   `json:"queued"`
	NotBefore time.Time   `json:"not_before,omitzero"`
	Message   string      `json:"message,omitempty"` // the network's ID, when it was sent
	Text      string      `json:"text"`
	Media     []string    `json:"media,omitempty"`
}

// Detail is a turn with all its details.
type Detail struct {
	Turn
	Frames []events.TraceLine `json:"frames"` // including log frames
	Missed int                `json:"missed,omitempty"`
	Stderr string             `json:"stderr,omitempty"`
	Sent   []Send             `json:"parts"`
	// Elsewhere says that Member, which is not the one that answers, has the frames until the turn
	// ends.
	Elsewhere bool `json:"elsewhere,omitempty"`
	// Cassette says that this member has a recording of the turn.
	Cassette bool `json:"cassette,omitempty"`
}

func (c *Console) serveTurns(r *http.Request) (any, error) {
	f, err := parseFilter(r)
	if err != nil {
		return nil, err
	}
	inbounds, err := c.store.Turns(r.Context(), f)
	if err != nil {
		return nil, err
	}
	return c.listTurns(r.Context(), inbounds)
}

// listTurns counts the deliveries of turns without reading them, since an agent may print much, and
// every frame is a change.
func (c *Console) listTurns(ctx context.Context, inbounds []store.Inbound) ([]Turn, error) {
	ids := make([]int64, len(inbounds))
	for i, inbound := range inbounds {
		ids[i] = inbound.ID
	}
	counts, err := c.store.CountDeliveries(ctx, ids)
	if err != nil {
		return nil, err
	}
	turns := []Turn{}
	for _, inbound := range inbounds {
		turns = append(turns, newTurn(inbound, counts[inbound.ID]))
	}
	return turns, nil
}

func newTurn(i store.Inbound, sends map[store.State]int) Turn {
	t := Turn{
		ID: i.ID, Chat: i.In.Chat.String(), Message: i.In.ID, User: i.In.User, Origin: i.In.Origin,
		Agent: i.Agent, Text: excerpt(i.In.Text),
		Media: len(i.In.Media), State: i.State, Member: store.MemberName(i.Owner),
		Status: i.Outcome.Status, ExitCode: i.Outcome.ExitCode, Signal: i.Outcome.Signal, Memory: i.Outcome.Memory,
		CPU: i.Outcome.CPU.Seconds(), Attempt: i.Attempt,
		Received: i.Received, Started: i.Started, Ended: i.Ended, Sends: map[string]int{},
	}
	if i.Ended.IsZero() { // it may have been asked to stop, but still runs
		t.Status = ""
	}
	if t.Title = i.In.Title; t.Title == "" && !i.In.Group && i.In.Origin == channels.Person {
		t.Title = i.In.User.Name
	}
	for state, n := range sends {
		t.Sends[string(state)] = n
	}
	return t
}

func (c *Console) serveTurn(r *http.Request, g *gateway.Gateway) (any, error) {
	inbound, err := c.requestedInbound(r)
	if err != nil {
		return nil, err
	}
	trace, err := g.Trace(r.Context(), inbound.ID)
	if err != nil {
		return nil, err
	}
	deliveries, err := c.store.Deliveries(r.Context(), inbound.ID)
	if err != nil {
		return nil, err
	}
	counts := map[store.State]int{}
	for _, delivery := range deliveries {
		counts[delivery.State]++
	}
	d := Detail{
		Turn: newTurn(inbound, counts), Frames: trace.Lines, Missed: trace.Missed, Stderr: trace.Stderr,
		Sent: newSends(deliveries), Elsewhere: g.RunsElsewhere(inbound),
	}
	d.Text = inbound.In.Text
	if f, err := g.Recording(inbound); err == nil {
		d.Cassette = f.Close() == nil
	}
	if d.Frames == nil {
		d.Frames = []events.TraceLine{}
	}
	return d, nil
}

// serveCassette serves the recording of a turn as a file.
func (c *Console) serveCassette(w http.ResponseWriter, r *http.Request, g *gateway.Gateway) {
	inbound, err := c.requestedInbound(r)
	var f *os.File
	if err == nil {
		f, err = g.Recording(inbound)
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = errNotFound
	}
	if err != nil {
		c.serveJSON(w, r, func(*http.Request) (any, error) { return nil, err })
		return
	}
	defer f.Close()
	w.Header().Set("Content-Type", "application/jsonl")
	w.Header().Set("Content-Disposition", fmt.Sprintf("attachment; filename=turn-%d.nbt.jsonl", inbound.ID))
	w.Header().Set("Cache-Control", "no-store")
	_, _ = io.Copy(w, f) // the client may have disconnected
}

func (c *Console) serveUndelivered(r *http.Request) (any, error) {
	deliveries, err := c.store.Undelivered(r.Context(), channels.Chat{}, maxUndelivered)
	if err != nil {
		return nil, err
	}
	all := newSends(deliveries)
	for i := range all {
		all[i].Text = excerpt(all[i].Text)
	}
	return all, nil
}

func newSends(deliveries []store.Delivery) []Send {
	out := []Send{}
	for _, delivery := range deliveries {
		s := Send{
			ID: delivery.ID, Chat: delivery.Out.Chat.String(), Inbound: delivery.Inbound, State: delivery.State,
			Tries: delivery.Tries, Error: delivery.Err, Queued: delivery.Queued,
			NotBefore: delivery.NotBefore, Message: delivery.Receipt, Text: delivery.Out.Text,
		}
		for _, f := range delivery.Out.Media {
			s.Media = append(s.Media, f.Name)
		}
		out = append(out, s)
	}
	return out
}

// excerpt returns the beginning of a text.
func excerpt(text string) string {
	if len(text) <= maxExcerpt {
		return text
	}
	cut := maxExcerpt
	for !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "…"
}
