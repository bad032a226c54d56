package pace_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"nanobot/channels"
	"nanobot/channels/telegram/pace"
	"nanobot/internal/killtest"
)

const simulatedGroup = -1009876543210

// purpose is what a simulated message is for.
type purpose int

const (
	isAnswer purpose = iota // answers, questions and errors
	isRemark                // a silent message in the middle of a turn
	isDiff                  // the changes, silent after the answer, because the board could not be folded in time
)

// message is a durable message of a topic.
type message struct {
	at               time.Duration
	purpose          purpose
	arrives, returns time.Duration // after the call has begun
	started          time.Duration
	sending          bool
}

// turn is a turn of an agent in a topic.
type turn struct {
	from, to time.Duration
	every    time.Duration // between two changes of its board; 0: it has none
	fold     bool
	diff     bool // which the fold has; nothing else does
	messages []*message
}

// script is what happens in a group, whatever the network allows.
type script [][]turn

// between returns a random time between two times, where short ones are as likely as long ones.
func between(r *rand.Rand, from, to time.Duration) time.Duration {
	return time.Duration(float64(from) * math.Pow(float64(to)/float64(from), r.Float64()))
}

// newScript invents a group of 1 to 30 topics. In some groups people ask all the time, in others
// seldom, and sometimes many ask together.
func newScript(seed uint64, length time.Duration) script {
	r := rand.New(rand.NewPCG(seed, 39))
	topics := int(between(r, 1, 31))
	think := between(r, 10*time.Second, 20*time.Minute) // of an average person of this group
	var meetings []time.Duration                        // when many ask within seconds
	for at := between(r, time.Minute, time.Hour); at < length; at += between(r, time.Minute, time.Hour) {
		meetings = append(meetings, at)
	}
	all := make(script, topics)
	for i := range all {
		protocol := r.IntN(6)
		for at := time.Duration(r.ExpFloat64() * float64(think)); at < length; {
			for _, m := range meetings {
				if at > m && r.IntN(3) > 0 && (len(all[i]) == 0 || all[i][len(all[i])-1].to < m) {
					at = m + time.Duration(r.Int64N(int64(5*time.Second)))
					break
				}
			}
			t := newTurn(r, protocol, at)
			all[i] = append(all[i], t)
			at = t.to + time.Second + time.Duration(r.ExpFloat64()*float64(think))
		}
	}
	return all
}

// newTurn invents a turn of an agent.
func newTurn(r *rand.Rand, protocol int, from time.Duration) turn {
	t := turn{from: from}
	say := func(p purpose) {
		latency := 10*time.Millisecond + time.Duration(r.Int64N(int64(200*time.Millisecond)))
		t.messages = append(t.messages, &message{
			at: t.to, purpose: p, returns: latency, arrives: time.Duration(r.Int64N(int64(latency))),
		})
	}
	switch t.to = from; protocol {
	case 0: // plain, or rich with a quick answer
		t.to += between(r, 100*time.Millisecond, 5*time.Second)
	case 1: // rich with progress
		t.every, t.to = between(r, time.Second, 5*time.Second), t.to+between(r, 5*time.Second, 90*time.Second)
	case 2, 3: // acp
		t.every, t.fold = between(r, 500*time.Millisecond, 3*time.Second), true
		for range r.IntN(3) {
			t.to += between(r, 5*time.Second, time.Minute)
			say([]purpose{isAnswer, isRemark, isRemark}[r.IntN(3)])
		}
		t.to += between(r, 5*time.Second, time.Minute)
		t.diff = r.IntN(2) == 0
	case 4: // keys or screen
		t.every, t.to = 500*time.Millisecond, t.to+between(r, 3*time.Second, 2*time.Minute)
	case 5: // blocks, which asks before it executes
		t.every, t.fold = between(r, time.Second, 10*time.Second), true
		for range r.IntN(4) {
			t.to += between(r, 2*time.Second, 30*time.Second)
			say(isAnswer)
		}
		t.to += between(r, 2*time.Second, 30*time.Second)
	}
	say(isAnswer)
	return t
}

// simulation is a group in synthetic time.
type simulation struct {
	t         *testing.T
	pacer     *pace.Pacer
	began     time.Time
	hasBoards bool
	folds     sync.WaitGroup
	mu        sync.Mutex
	topics    []*topic
	calls     []time.Duration // when the network has counted them
	boards    int
}

// topic is the sender of a topic: it sends its messages in order, as the outbox does.
type topic struct {
	s     *simulation
	id    int
	queue []*message
	woken chan struct{}
}

func (s *simulation) now() time.Duration { return time.Since(s.began) }

// call makes a call that takes a while.
func (s *simulation) call(m *message, returned func()) {
	time.Sleep(m.arrives)
	s.mu.Lock()
	now := s.now()
	s.calls = append(s.calls, now)
	if n := len(s.calls); n > 20 && now-s.calls[n-21] < time.Minute {
		s.t.Errorf("21 calls in %s", now-s.calls[n-21])
	}
	s.mu.Unlock()
	time.Sleep(m.returns - m.arrives)
	returned()
}

// checkOrder checks that no answer of another topic waits for the limit, whether it is the next
// message of its topic or not.
func (s *simulation) checkOrder(by *topic) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, other := range s.topics {
		if other == by || len(other.queue) == 0 || other.queue[0].sending {
			continue
		}
		if slices.ContainsFunc(other.queue, func(m *message) bool { return m.purpose == isAnswer && m.at < s.now() }) {
			s.t.Errorf("an answer of topic %d waits at %s while topic %d sends something else", other.id, s.now(), by.id)
		}
	}
}

// awaited reports whether an answer waits behind the first message.
func (t *topic) awaited() bool {
	t.s.mu.Lock()
	defer t.s.mu.Unlock()
	return slices.ContainsFunc(t.queue[1:], func(m *message) bool { return m.purpose == isAnswer })
}

func (t *topic) post(m *message) {
	t.s.mu.Lock()
	defer t.s.mu.Unlock()
	t.queue = append(t.queue, m)
	select {
	case t.woken <- struct{}{}:
	default:
	}
}

// send sends what is posted until ctx ends and nothing is left.
func (t *topic) send(ctx context.Context) {
	for {
		var m *message
		t.s.mu.Lock()
		if len(t.queue) > 0 {
			m = t.queue[0]
		}
		t.s.mu.Unlock()
		if m == nil {
			select {
			case <-t.woken:
				continue
			case <-ctx.Done():
				return
			}
		}
		class := pace.Class{Topic: t.id, GivesWay: m.purpose != isAnswer && !t.awaited()}
		limited, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		returned, err := t.s.pacer.Wait(limited, simulatedGroup, 1, class)
		cancel()
		var refused *channels.SendError
		if errors.As(err, &refused) {
			if class.GivesWay && t.awaited() {
				continue
			}
			select {
			case <-time.After(refused.After):
			case <-t.woken:
			}
			continue
		}
		if class.GivesWay {
			t.s.checkOrder(t)
		}
		t.s.mu.Lock()
		m.started, m.sending = t.s.now(), true
		t.s.mu.Unlock()
		t.s.call(m, returned)
		t.s.mu.Lock()
		t.queue = t.queue[1:]
		t.s.mu.Unlock()
	}
}

// run runs the turns of a topic.
func (t *topic) run(turns []turn) {
	for _, turn := range turns {
		time.Sleep(turn.from - t.s.now())
		over, end := context.WithCancel(context.Background())
		var work sync.WaitGroup
		work.Go(func() {
			for sleep(over, 300*time.Millisecond); over.Err() == nil; sleep(over, 4*time.Second) {
				t.s.pacer.ExpectAnswer(simulatedGroup, t.id)
			}
		})
		shown, refused := false, false
		if turn.every > 0 && t.s.hasBoards {
			work.Go(func() {
				sleep(over, time.Second)
				for over.Err() == nil {
					refused = !t.show(over, pace.Class{Topic: t.id, Edit: shown, Transient: true})
					shown = shown || !refused
					sleep(over, max(turn.every, 1500*time.Millisecond))
				}
			})
		}
		for _, m := range turn.messages {
			time.Sleep(m.at - t.s.now())
			t.post(m)
		}
		time.Sleep(turn.to - t.s.now())
		end()
		work.Wait()
		if turn.fold && shown { // otherwise the answer has the diff
			limited, cancel := context.WithTimeout(context.Background(), 2*time.Second)
			t.s.folds.Go(func() {
				defer cancel()
				fold := pace.Class{Topic: t.id, Edit: true, Transient: true, Last: true}
				folded := t.show(limited, fold)
				for limited.Err() == nil && !folded {
					folded = t.show(limited, fold)
				}
				if !folded && turn.diff && !refused { // otherwise the board is deleted, which costs nothing
					t.post(&message{at: t.s.now(), purpose: isDiff, arrives: 60 * time.Millisecond, returns: 120 * time.Millisecond})
				}
			})
		}
	}
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// show sends or edits the board, or waits until it may be tried again.
func (t *topic) show(ctx context.Context, class pace.Class) bool {
	returned, err := t.s.pacer.Wait(ctx, simulatedGroup, 1, class)
	var refused *channels.SendError
	if errors.As(err, &refused) {
		sleep(ctx, refused.After)
		return false
	}
	if err != nil {
		return false
	}
	t.s.checkOrder(t)
	t.s.mu.Lock()
	t.s.boards++
	t.s.mu.Unlock()
	t.s.call(&message{arrives: 60 * time.Millisecond, returns: 120 * time.Millisecond}, returned)
	return true
}

// simulate runs a script and returns what the answers have waited.
func simulate(t *testing.T, all script, hasBoards bool) (waits []time.Duration, s *simulation) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s = &simulation{t: t, pacer: pace.New(false), began: time.Now(), hasBoards: hasBoards}
		ctx, end := context.WithCancel(context.Background())
		var people, senders sync.WaitGroup
		for i := range all {
			s.topics = append(s.topics, &topic{s: s, id: i + 1, woken: make(chan struct{}, 1)})
		}
		for i, topic := range s.topics {
			senders.Go(func() { topic.send(ctx) })
			people.Go(func() { topic.run(all[i]) })
		}
		people.Wait()
		s.folds.Wait()
		end()
		senders.Wait()
	})
	for _, turn := range slices.Concat(all...) {
		for _, m := range turn.messages {
			m.sending = false
			if m.purpose == isAnswer {
				waits = append(waits, m.started-m.at)
			}
		}
	}
	return waits, s
}

func sum(all []time.Duration) (total time.Duration) {
	for _, d := range all {
		total += d
	}
	return total
}

func TestInASimulatedGroupNothingOvertakesAnswersAndBoardsCostThemLittle(t *testing.T) {
	seeds := 8
	if !testing.Short() {
		seeds = killtest.Rounds(t, 30, 1000)
	}
	var with, without time.Duration
	var beyond, boards int
	for seed := range uint64(seeds) {
		s := newScript(seed, 10*time.Minute)
		bare, _ := simulate(t, s, false)
		waits, boarded := simulate(t, s, true)
		a, b := sum(waits), sum(bare)
		with, without, boards = with+a, without+b, boards+boarded.boards
		if float64(a) > 1.05*float64(b) {
			beyond++
			t.Logf("seed %d: %d answers in %d topics have waited %s, %s without boards", seed, len(waits), len(s), a, b)
		}
	}
	t.Logf("the answers of %d groups have waited %s, %s without %d boards; in %d groups it was 1.05 times as long",
		seeds, with, without, boards, beyond)
	// A burst of answers that nothing announces finds the boards of the last minute counted. Only a
	// group without any boards would never have that.
	if float64(with) > 1.02*float64(without) || beyond > 1+seeds/50 || boards < 10*seeds {
		t.Error("boards delay answers, or are not shown")
	}
}
