package gateway_test

import (
	"context"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"go.uber.org/zap/zapcore"

	"nanobot/channels"
	"nanobot/gateway/gatewaytest"
	"nanobot/gateway/store"
	"nanobot/gateway/store/sqlite"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
	"nanobot/terminal/process"
)

var fencedChat = channels.Chat{Channel: "net", ID: "1"}

// otherHandle says why tests of openMember use SQLite.
const otherHandle = "the other handle has only what it adopts; a member that is gone loses all its work, and ends"

// openMember opens a second handle on the state, which is another member. It considers the gateway
// gone: what it adopts, the gateway cannot change any more.
func (fx *fixture) openMember() store.Store {
	fx.t.Helper()
	s := musttest.Get(sqlite.Open(fx.t.Context(), filepath.Join(fx.dir, ".nanobot"), sqlite.Options{Shared: true}))(fx.t)
	fx.t.Cleanup(func() { musttest.Do(fx.t, s.Close()) })
	return s
}

// loggedFences returns the log messages about another member, and all warnings and errors.
func (fx *fixture) loggedFences() (all []string) {
	for _, e := range fx.logs.All() {
		if e.Level >= zapcore.WarnLevel || strings.HasPrefix(e.Message, "another member") {
			all = append(all, e.Level.String()+" "+e.Message)
		}
	}
	return all
}

// reactingChannel is a channel that records reactions.
type reactingChannel struct {
	*gatewaytest.Channel
	mu    sync.Mutex
	shown []channels.Reaction
}

func (r *reactingChannel) Reacts(channels.Chat) bool { return true }

func (r *reactingChannel) React(_ context.Context, _ channels.Chat, _ string, reaction channels.Reaction) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.shown = append(r.shown, reaction)
	return nil
}

func TestATurnThatAnotherMemberHasEndsWithoutAMessage(t *testing.T) {
	t.Parallel()
	onlySQLite(t, otherHandle)
	for _, c := range []struct{ name, meets string }{
		{"with its message", `echo '{"type":"message","text":"late"}'`},
		{"with its question", `echo '{"type":"ask","id":"q","text":"Late?"}'`},
		{"with its end", `exit 0`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			fx := newFixture(t, `touch up; `+waitForFileScript("go")+c.meets+`; `+waitForFileScript("never"))
			fx.terminal.Interactive = true
			reacting := &reactingChannel{}
			fx.wrapChannel = func(ch *gatewaytest.Channel) channels.Channel { reacting.Channel = ch; return reacting }
			fx.start()
			fx.net.UserWrites("1", "u", "work")
			fx.awaitFile("up")
			var pids []int
			fx.awaitTrue("the agent's process", func() bool {
				pids = fx.gw.Activity()[store.DefaultAgent].PIDs
				return len(pids) == 1
			})
			pid := pids[0]
			other := fx.openMember()
			adopted := musttest.Get(other.Adopt(t.Context()))(t).Inbounds
			wanttest.Equal(t, "adopted turns", len(adopted), 1)
			fx.touchFile("go")
			fx.awaitTrue("the end of the turn", func() bool { return len(fx.gw.Activity()[store.DefaultAgent].PIDs) == 0 })
			fx.awaitTrue("the end of the agent", func() bool { return syscall.Kill(pid, 0) != nil })
			out := store.Outbound{
				Inbound: adopted[0].ID, Sequence: 1, Claim: true,
				Parts: []channels.Outgoing{{Chat: fencedChat, Kind: channels.Answer, Text: "from the new owner"}},
			}
			first, claimed, err := other.Enqueue(t.Context(), out)
			musttest.Do(t, err)
			wanttest.Equal(t, "the new owner sends first", claimed, true)
			musttest.Get(other.Settle(t.Context(), first.ID, store.Settlement{State: store.Sent}))(t)
			musttest.Get(other.Finish(t.Context(), adopted[0].ID, store.Done, store.Outcome{Status: "done"}))(t)
			fx.stop()
			wanttest.Equal(t, "messages of the old owner", len(fx.net.Sent("1")), 0)
			wanttest.EqualSlices(t, "reactions of the old owner", reacting.shown, []channels.Reaction{channels.Taken})
			wanttest.EqualSlices(t, "log", fx.loggedFences(), []string{"info another member has the turn, it ends here"})
		})
	}
}

func TestADeliveryThatAnotherMemberHasIsForgotten(t *testing.T) {
	t.Parallel()
	onlySQLite(t, otherHandle)
	fx := newFixture(t, `echo '{"type":"message","text":"one"}'; echo '{"type":"message","text":"two"}'; `+waitForFileScript("done"))
	var other store.Store
	var adopted store.Adopted
	fx.net.Fault = func(gatewaytest.Call) gatewaytest.Fault {
		fx.awaitTrue("both are stored", func() bool {
			turn, err := other.Recent(t.Context(), fencedChat, 1)
			if err != nil || len(turn) == 0 {
				return false
			}
			stored, err := other.Deliveries(t.Context(), turn[0].ID)
			return err == nil && len(stored) == 2
		})
		adopted = musttest.Get(other.Adopt(t.Context()))(t)
		return gatewaytest.Fault{}
	}
	fx.start()
	other = fx.openMember()
	fx.net.UserWrites("1", "u", "work")
	fx.awaitText("1", "one")
	fx.awaitTrue("the forgotten delivery", func() bool { return len(fx.loggedFences()) > 0 })
	musttest.Get(other.Settle(t.Context(), adopted.Deliveries[0].ID, store.Settlement{State: store.Sent}))(t)
	next, ok, err := other.NextDelivery(t.Context(), fencedChat, 0)
	musttest.Do(t, err)
	wanttest.Equal(t, "the new owner sends", ok, true)
	wanttest.Equal(t, "what the new owner sends", next.Out.Text, "two")
	wanttest.EqualSlices(t, "what the old owner has sent", texts(fx.net.Sent("1")), []string{"one"})
	wanttest.EqualSlices(t, "log", fx.loggedFences(), []string{"info another member has the delivery"})
	musttest.Get(other.Settle(t.Context(), next.ID, store.Settlement{State: store.Sent}))(t)
	musttest.Get(other.Finish(t.Context(), adopted.Inbounds[0].ID, store.Done, store.Outcome{}))(t)
	fx.touchFile("done")
}

// fencingStore is a store in which another member adopts the work of the gateway before a transient
// message is recorded, and after the gateway has adopted work.
type fencingStore struct {
	store.Store
	adopt func()
}

func (s fencingStore) AddTransient(ctx context.Context, transient store.Transient) error {
	if s.adopt(); transient.Board {
		return store.ErrFenced
	}
	return s.Store.AddTransient(ctx, transient)
}

func (s fencingStore) Adopt(ctx context.Context) (store.Adopted, error) {
	defer s.adopt()
	return s.Store.Adopt(ctx)
}

func TestABoardOfATurnThatAnotherMemberHasIsRemoved(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, `echo '{"type":"progress","text":"step"}'; `+waitForFileScript("never"))
	fx.wrapStore = func(s store.Store) store.Store { return fencingStore{s, func() {}} }
	fx.start()
	fx.net.UserWrites("1", "u", "work")
	fx.awaitTrue("the end of the turn", func() bool { return len(fx.loggedFences()) > 0 && fx.gw.Activity()[store.DefaultAgent].Turns == 0 })
	fx.awaitTrue("the removal of the board", func() bool { return len(fx.net.Sent("1")) == 0 })
	wanttest.EqualSlices(t, "log", fx.loggedFences(), []string{"info another member has the turn, it ends here"})
}

func TestATurnThatAnotherMemberAdoptsDuringTheRecoveryIsLeftAlone(t *testing.T) {
	t.Parallel()
	onlySQLite(t, otherHandle)
	fx := newFixture(t, echo)
	before := musttest.Get(sqlite.Open(t.Context(), filepath.Join(fx.dir, ".nanobot"), sqlite.Options{}))(t)
	in := channels.Incoming{Chat: fencedChat, ID: "before", User: channels.User{ID: "u"}, Text: "cut off"}
	cut := musttest.Get(before.Receive(t.Context(), store.ReceiveRequest{In: in, Claim: true}))(t).Inbound
	musttest.Do(t, before.SetProcess(cut.ID, store.Process(process.NewStartingRecord())))
	musttest.Do(t, before.Close())
	other := fx.openMember()
	fx.wrapStore = func(s store.Store) store.Store {
		return fencingStore{s, func() { musttest.Get(other.Adopt(t.Context()))(t) }}
	}
	fx.start()
	fx.net.UserWrites("2", "u", "hello")
	fx.expect("2", "you said hello")
	wanttest.Equal(t, "messages about the turn", len(fx.net.Sent("1")), 0)
	musttest.Get(other.Finish(t.Context(), cut.ID, store.Done, store.Outcome{Status: "done"}))(t)
}
