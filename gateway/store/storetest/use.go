package storetest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"nanobot/channels"
	"nanobot/gateway/store"
	"nanobot/terminal"
)

// UsedTables are the tables that LongUse fills.
var UsedTables = strings.Fields("inbox outbox seen transcript trace details memory afresh token question usage spooled pairing " +
	"refused occurrence part quota quota_told")

// LongUse stores what people, strangers and schedules of a bot store in a long time. Engines test
// with it that the state stays bounded.
type LongUse struct {
	Store store.Store
	Dir   string // for files
	Now   func() time.Time
}

// Turn stores what a turn of a person stores, and returns its inbound message.
func (u LongUse) Turn(ctx context.Context, person, step int) (int64, error) {
	s := u.Store
	chat, name := channels.Chat{Channel: "net", ID: strconv.Itoa(person)}, fmt.Sprintf("%d-%d", person, step)
	in := channels.Incoming{Chat: chat, ID: name, User: channels.User{ID: chat.ID, Name: "Ada"}, Text: strings.Repeat("hello ", 100)}
	received, err := s.Receive(ctx, store.ReceiveRequest{In: in, Claim: true})
	if err != nil {
		return 0, err
	}
	id := received.Inbound.ID
	quota := store.Quota{Rule: "turns", Per: "chat", Subject: chat.String(), Unit: store.QuotaTurns, Limit: 1}
	if _, err := s.AdmitTurn(ctx, id, []store.Quota{quota}, nil); err != nil {
		return 0, err
	}
	parts := []channels.Outgoing{{Chat: chat, Text: strings.Repeat("hi ", 50)}}
	if person%4 == 0 { // a file that could be sent again
		path := filepath.Join(u.Dir, "picture-"+name)
		if err := os.WriteFile(path, []byte(name), 0o600); err != nil {
			return 0, err
		}
		copied, err := SaveCopy(ctx, s, path, 0)
		if err = errors.Join(err, os.Remove(path)); err != nil {
			return 0, err
		}
		parts = append(parts, channels.Outgoing{Chat: chat, Media: []channels.File{{Path: copied, Name: "a.png"}}})
	}
	_, _, err = s.Enqueue(ctx, store.Outbound{Inbound: id, Sequence: 1, Parts: parts, Entry: &store.Entry{Role: "agent", Text: "hi"}})
	question := store.Question{Question: terminal.Question{ID: name, Text: "Really?", Timeout: time.Hour}, Inbound: id, Chat: chat}
	err = errors.Join(err, s.Ask(ctx, question, store.Outbound{Parts: parts[:1]}), s.Remember(ctx, chat, "agent", `{"session":"abc"}`),
		s.Remember(ctx, chat, store.LastingPrefix+"choice", "coder"))
	for more := true; more && err == nil; {
		var d store.Delivery
		if d, more, err = s.NextDelivery(ctx, chat, 0); more && err == nil {
			end := store.Settlement{State: store.Sent, Receipt: "1"}
			if len(d.Out.Media) > 0 {
				end = store.Settlement{State: store.Failed, Resendable: true}
			}
			_, err = s.Settle(ctx, d.ID, end)
		}
	}
	used := store.TurnUsage{Took: time.Second, Models: []store.ModelUsage{{Model: "m", InputTokens: 9, Cost: 0.01}}}
	if err == nil {
		_, err = s.Finish(ctx, id, store.Done,
			store.Outcome{Status: "done", Trace: "[]", Usage: &used, Fold: &store.Fold{Summary: "done", Details: "steps"}})
	}
	if err == nil && person%2 == 1 {
		again := channels.Incoming{Chat: chat, ID: name + "-new", User: in.User, Text: "/new"}
		_, err = s.Receive(ctx, store.ReceiveRequest{In: again, Settle: true, StartConversation: true})
	}
	return id, err
}

// Rest stores what schedules and strangers store.
func (u LongUse) Rest(ctx context.Context, name string) error {
	s := u.Store
	in := channels.Incoming{Chat: channels.Chat{Channel: "net", ID: "s" + name}, ID: name, User: channels.User{ID: "s" + name}, Text: "hi"}
	_, err := s.RequestPairing(ctx, store.PairingRequest{In: in, Code: "code" + name, Limits: store.CodeLimits{Life: time.Hour, Open: 9, PerHour: 9}})
	in.ID, in.Part = "piece-"+name, &channels.Part{Group: "never complete"}
	due := u.Now()
	_, saveErr := s.SaveSchedule(ctx, store.Schedule{Name: name, Chat: in.Chat, Spec: "{}", Made: due, Accounted: due}, 0)
	occurrence := store.Occurrence{Schedule: name, Due: due, Outcome: store.Skipped, Reason: "paused"}
	err = errors.Join(err, saveErr, s.StorePart(ctx, in), s.Account(ctx, name, due, []store.Occurrence{occurrence}))
	_, removeErr := s.RemoveSchedule(ctx, name)
	return errors.Join(err, removeErr)
}

// CheckBounded compares sizes after the longest retention with those much later. Names in except
// may grow.
func CheckBounded(t *testing.T, before, after map[string]int64, except ...string) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(after)) {
		was, is := before[name], after[name]
		t.Logf("%-26s %9d, later %9d", name, was, is)
		if is > was+was/10+1 && !slices.Contains(except, name) {
			t.Errorf("%s grows without bound: %d, and later %d", name, was, is)
		}
	}
}
