package lanes_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/gateway/lanes"
	"nanobot/gateway/store"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// fakeStore is an in-memory store of waiting messages. At most one message of a chat is claimed at
// a time.
type fakeStore struct {
	mu      sync.Mutex
	last    int64
	waiting []store.Inbound
	busy    map[channels.Chat]bool
	claim   func()               // before each claim
	claims  []int                // how many each claim asked for
	asked   []store.ClaimRequest // those of NextClaim
}

func (q *fakeStore) Claim(_ context.Context, c store.ClaimRequest) (claimed []store.Inbound, err error) {
	if q.claim != nil {
		q.claim()
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.claims = append(q.claims, c.Limit)
	for len(claimed) < c.Limit {
		i := slices.IndexFunc(q.waiting, func(inbound store.Inbound) bool { return !q.busy[inbound.In.Chat] })
		if i < 0 {
			break
		}
		claimed = append(claimed, q.waiting[i])
		q.busy[q.waiting[i].In.Chat] = true
		q.waiting = slices.Delete(q.waiting, i, i+1)
	}
	return claimed, nil
}

func (q *fakeStore) NextClaim(_ context.Context, c store.ClaimRequest) (time.Duration, bool, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.asked = append(q.asked, c)
	return 0, false, nil
}

func (q *fakeStore) Receive(_ context.Context, request store.ReceiveRequest) (store.ReceiveResult, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.last++
	inbound := store.Inbound{ID: q.last, In: request.In}
	if request.Claim && !q.busy[request.In.Chat] && len(q.waiting) == 0 {
		q.busy[request.In.Chat] = true
		return store.ReceiveResult{Inbound: inbound, Disposition: store.Claimed}, nil
	}
	q.waiting = append(q.waiting, inbound)
	return store.ReceiveResult{Inbound: inbound, Disposition: store.Queued}, nil
}

func (q *fakeStore) finishMessage(inbound store.Inbound) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.busy, inbound.In.Chat)
}

// fakeTurn lasts a second of simulated time.
type fakeTurn struct {
	r       *fixture
	inbound store.Inbound
	slot    *lanes.Slot
}

func (t *fakeTurn) AgentEnded() bool { return false }

func (t *fakeTurn) Drop() { t.r.dropped++ }

func (t *fakeTurn) Run(ctx context.Context) {
	t.r.beginTurn(t)
	select {
	case <-time.After(time.Second):
	case <-ctx.Done():
	}
	t.r.endTurn(t)
}

// fixture is Lanes over a fakeStore, and a record of the turns that ran.
type fixture struct {
	*fakeStore
	lanes *lanes.Lanes[*fakeTurn]

	running, most int
	dropped       int
	order         []int64
	at            map[int64]time.Duration
	began         time.Time
}

func newFixture(slots int) *fixture {
	fx := &fixture{fakeStore: &fakeStore{busy: map[channels.Chat]bool{}}, at: map[int64]time.Duration{}, began: time.Now()}
	newTurn := func(inbound store.Inbound, slot *lanes.Slot) *fakeTurn { return &fakeTurn{fx, inbound, slot} }
	fx.lanes = lanes.New(lanes.Options[*fakeTurn]{Slots: slots, Store: fx.fakeStore, NewTurn: newTurn, Log: zap.NewNop()})
	return fx
}

func (fx *fixture) beginTurn(t *fakeTurn) {
	fx.mu.Lock()
	defer fx.mu.Unlock()
	fx.running++
	fx.most = max(fx.most, fx.running)
	fx.order = append(fx.order, t.inbound.ID)
	fx.at[t.inbound.ID] = time.Since(fx.began)
}

func (fx *fixture) endTurn(t *fakeTurn) {
	fx.mu.Lock()
	fx.running--
	fx.mu.Unlock()
	fx.finishMessage(t.inbound)
	fx.lanes.Wake()
}

func (fx *fixture) acceptMessage(t *testing.T, chat string) store.Inbound {
	t.Helper()
	result := musttest.Get(fx.lanes.Accept(t.Context(), store.ReceiveRequest{In: channels.Incoming{Chat: channels.Chat{ID: chat}}}))(t)
	return result.Inbound
}

func TestAChatsTurnsRunInOrderAndOtherChatsInParallel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		fx := newFixture(2)
		ctx, cancel := context.WithCancel(t.Context())
		working, end := context.WithCancel(t.Context())
		go fx.lanes.Run(ctx, working)
		for _, chat := range []string{"a", "a", "a", "b", "c"} {
			fx.acceptMessage(t, chat)
		}
		time.Sleep(10 * time.Second)
		cancel()
		fx.lanes.WaitForTurns()
		end()
		synctest.Wait()
		wanttest.Equal(t, "got", fx.most, 2)
		ofA := slices.DeleteFunc(slices.Clone(fx.order), func(id int64) bool { return id > 3 })
		if !slices.Equal(ofA, []int64{1, 2, 3}) || len(fx.order) != 5 {
			t.Errorf("the turns ran in the order %v", fx.order)
		}
		if fx.at[4] >= 3*time.Second {
			t.Errorf("chat b began after %s: it waited for chat a", fx.at[4])
		}
	})
}

func TestOnlyMessagesThatMayBeClaimedAreWaitedFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := &fakeStore{busy: map[channels.Chat]bool{}}
		may := store.ClaimRequest{ExceptAgents: []string{"gpu"}, ExceptChannels: []string{"page"}}
		l := lanes.New(lanes.Options[*fakeTurn]{
			Slots: 1, Store: q, Log: zap.NewNop(), Claims: func() (store.ClaimRequest, bool) { return may, true },
		})
		working, end := context.WithCancel(t.Context())
		go l.Run(working, working)
		synctest.Wait()
		end()
		wanttest.Equal(t, "what is waited for", fmt.Sprint(q.asked), fmt.Sprint([]store.ClaimRequest{may}))
	})
}

func TestTurnsThatWaitForSlotsAreClaimedTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		fx := newFixture(3)
		for _, chat := range []string{"a", "b", "c", "d", "e"} { // before anything runs
			fx.waiting = append(fx.waiting, store.Inbound{ID: int64(len(fx.waiting) + 1), In: channels.Incoming{Chat: channels.Chat{ID: chat}}})
		}
		ctx, cancel := context.WithCancel(t.Context())
		working, end := context.WithCancel(t.Context())
		go fx.lanes.Run(ctx, working)
		synctest.Wait()
		fx.mu.Lock()
		if fx.running != 3 || !slices.Equal(fx.claims, []int{1, 2}) { // twice as many while there is enough to claim
			t.Errorf("%d turns run after claims of %v, want 3 after two claims", fx.running, fx.claims)
		}
		fx.mu.Unlock()
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if len(fx.order) != 5 || fx.most != 3 || fx.lanes.Full() {
			t.Errorf("%d turns ran, %d at the same time; all slots taken: %t", len(fx.order), fx.most, fx.lanes.Full())
		}
		cancel()
		fx.lanes.WaitForTurns()
		end()
	})
}

func TestSlotsThatBecomeFreeDuringAClaimAreFilledByTheNext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		fx := newFixture(4)
		for i := range 12 {
			fx.waiting = append(fx.waiting, store.Inbound{ID: int64(i + 1), In: channels.Incoming{Chat: channels.Chat{ID: string(rune('a' + i))}}})
		}
		fx.claim = func() {
			if time.Since(fx.began) >= time.Second { // the first four turns have ended
				time.Sleep(10 * time.Millisecond)
			}
		}
		working, end := context.WithCancel(t.Context())
		go fx.lanes.Run(working, working)
		time.Sleep(1500 * time.Millisecond)
		synctest.Wait()
		fx.mu.Lock()
		if fx.running != 4 || len(fx.claims) > 5 { // at first 1, 2 and the last free slot, then two claims for four slots
			t.Errorf("%d turns run after claims of %v", fx.running, fx.claims)
		}
		fx.mu.Unlock()
		end()
	})
}

func TestATurnOfALockedChatStartsAfterTheUnlock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		fx := newFixture(2)
		working, end := context.WithCancel(t.Context())
		fx.waiting = []store.Inbound{{ID: 1, In: channels.Incoming{Chat: channels.Chat{ID: "a"}}}, {ID: 2, In: channels.Incoming{Chat: channels.Chat{ID: "b"}}}}
		unlock := fx.lanes.Lock(channels.Chat{ID: "a"})
		go fx.lanes.Run(working, working)
		synctest.Wait()
		wanttest.EqualSlices(t, "the turns … began while chat a was locked:", fx.order, []int64{2})
		if _, found := fx.lanes.RunningTurn(channels.Chat{ID: "a"}); !found {
			t.Error("the turn that is about to begin cannot be found")
		}
		unlock()
		synctest.Wait()
		wanttest.EqualSlices(t, "the turns … began:", fx.order, []int64{2, 1})
		end()
	})
}

func TestAClaimInProgressIsAwaited(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		fx := newFixture(1)
		release := make(chan struct{})
		fx.claim = func() { <-release }
		fx.waiting = []store.Inbound{{ID: 1, In: channels.Incoming{Chat: channels.Chat{ID: "a"}}}}
		working, end := context.WithCancel(t.Context())
		go fx.lanes.Run(working, working)
		synctest.Wait()
		found := false
		go func() {
			fx.lanes.AwaitClaim()
			_, found = fx.lanes.RunningTurn(channels.Chat{ID: "a"})
		}()
		synctest.Wait()
		close(release)
		synctest.Wait()
		if !found {
			t.Error("the claim had ended and its turn could not be found")
		}
		end()
	})
}

func TestATurnThatYieldsItsSlotLetsAnotherRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		fx := newFixture(1)
		working, end := context.WithCancel(t.Context())
		go fx.lanes.Run(working, working)
		first := fx.acceptMessage(t, "a")
		synctest.Wait()
		yielding, _ := fx.lanes.RunningTurn(first.In.Chat)
		back := make(chan bool, 1)
		go func() { back <- yielding.slot.Yield(working, 100*time.Millisecond, nil) }()
		synctest.Wait()
		fx.acceptMessage(t, "b")
		synctest.Wait()
		wanttest.EqualSlices(t, "the turns … began while the only slot was free:", fx.order, []int64{1, 2})
		if !<-back { // when the other turn has ended
			t.Error("the slot did not come back")
		}
		end()
	})
}

func TestAnyNumberOfTurnsMayWaitWithoutASlotAndResumeOneAfterTheOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		fx := newFixture(1)
		working, end := context.WithCancel(t.Context())
		go fx.lanes.Run(working, working)
		const turns = 50
		var waiting []*lanes.Slot
		for i := range turns {
			in := fx.acceptMessage(t, string(rune('a'+i))).In
			synctest.Wait()
			turn, ok := fx.lanes.RunningTurn(in.Chat)
			if !ok || fx.running != i+1 {
				t.Fatalf("turn %d did not begin", i)
			}
			turn.slot.Release()
			waiting = append(waiting, turn.slot)
		}
		stopped, stop := context.WithCancel(working)
		synctest.Wait() // the dispatcher has looked for another turn
		if stop(); waiting[0].Retake(stopped) || fx.lanes.Full() {
			t.Error("a turn that was told to end has a slot")
		}
		most, now := 0, 0
		var mu sync.Mutex
		count := func(n int) {
			mu.Lock()
			defer mu.Unlock()
			now += n
			most = max(most, now)
		}
		var back sync.WaitGroup
		for _, slot := range waiting {
			back.Go(func() {
				if !slot.Retake(working) {
					t.Error("the slot did not come back")
				}
				count(1)
				time.Sleep(time.Millisecond)
				count(-1)
				slot.Release()
				slot.Release() // as the end of the turn does
			})
		}
		back.Wait()
		synctest.Wait()
		if most != 1 || fx.lanes.Full() {
			t.Errorf("%d turns went on at the same time; all slots are taken: %v", most, fx.lanes.Full())
		}
		end()
	})
}

func TestAtMostAsManyTurnsAsSlotsStoreTheOutputOfExitedAgents(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		fx := newFixture(1)
		working, end := context.WithCancel(t.Context())
		go fx.lanes.Run(working, working)
		for i, begun := range []int{1, 2, 2} { // the second turn keeps its slot until the first has ended
			in := fx.acceptMessage(t, string(rune('a'+i))).In
			synctest.Wait()
			if len(fx.order) != begun {
				t.Errorf("%d turns began, want %d", len(fx.order), begun)
			}
			if turn, ok := fx.lanes.RunningTurn(in.Chat); ok {
				turn.slot.AgentExited()
				turn.slot.AgentExited()
			}
		}
		time.Sleep(1500 * time.Millisecond)
		synctest.Wait()
		if len(fx.order) != 3 || fx.lanes.Full() != true {
			t.Errorf("%d turns began, and the last has no slot", len(fx.order))
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if fx.lanes.Full() {
			t.Error("a slot was lost")
		}
		end()
	})
}

func TestAMessageAcceptedAfterShutdownStaysOnDisk(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		fx := newFixture(1)
		working, end := context.WithCancel(t.Context())
		end()
		fx.lanes.Run(working, working)
		fx.acceptMessage(t, "a")
		fx.lanes.WaitForTurns()
		if len(fx.order) != 0 || len(fx.lanes.RunningTurns()) != 0 || fx.lanes.Full() {
			t.Errorf("ran %v, registered %d, all slots taken %t", fx.order, len(fx.lanes.RunningTurns()), fx.lanes.Full())
		}
		wanttest.Equal(t, "the turn was dropped … times:", fx.dropped, 1)
	})
}

func TestAMessageThatWaitsForItsChatTakesNoSlot(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		fx := newFixture(1)
		working, end := context.WithCancel(t.Context())
		go fx.lanes.Run(working, working)
		unlock := fx.lanes.Lock(channels.Chat{ID: "a"})
		go func() {
			if _, err := fx.lanes.Accept(t.Context(), store.ReceiveRequest{In: channels.Incoming{Chat: channels.Chat{ID: "a"}}}); err != nil {
				t.Error(err)
			}
		}()
		synctest.Wait()
		fx.acceptMessage(t, "b")
		synctest.Wait()
		if len(fx.order) != 1 {
			t.Error("the message of another chat waits")
		}
		unlock()
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if len(fx.order) != 2 {
			t.Error("the message did not get its turn")
		}
		end()
	})
}
