package discord_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"nanobot/channels"
	"nanobot/channels/channelstest"
	"nanobot/internal/wanttest"
)

// addDMs adds n users with DM channels.
func (r *testChannel) addDMs(n int) (chats, users []string) {
	for i := range n {
		user := strconv.Itoa(5_000_000_000_000_000 + i)
		users = append(users, user)
		chats = append(chats, r.server.DM(user).ID)
	}
	return chats, users
}

// The receiver blocks until 128 messages are being received, which a channel that receives them one
// by one never reaches.
func TestManyChatsAreReceivedAtTheSameTime(t *testing.T) {
	const people, room = 200, 128
	r := newTestChannel(t, noKnownPeople)
	var mu sync.Mutex
	inside, most := 0, 0
	full := make(chan struct{})
	open := sync.OnceFunc(func() { close(full) })
	channelstest.Start(t, r.Channel, func(ctx context.Context, in channels.Incoming) error {
		mu.Lock()
		inside++
		if most = max(most, inside); most >= room {
			open()
		}
		mu.Unlock()
		select {
		case <-full:
		case <-ctx.Done():
			return ctx.Err()
		}
		mu.Lock()
		inside--
		mu.Unlock()
		return r.Recorder.Receive(ctx, in)
	})
	r.server.AwaitReady(t)
	chats, users := r.addDMs(people)
	for i := range chats {
		r.server.UserSends(chats[i], users[i], "hello")
	}
	r.WaitForMessages(people)
	mu.Lock()
	defer mu.Unlock()
	if most > room {
		t.Errorf("%d messages were received at the same time", most)
	}
}

func TestAChatThatIsBeingReceivedHoldsUpNoOther(t *testing.T) {
	const people, each = 5, 20
	r := newTestChannel(t, noKnownPeople)
	others := make(chan struct{})
	channelstest.Start(t, r.Channel, func(ctx context.Context, in channels.Incoming) error {
		if in.Chat.ID == r.dm {
			select {
			case <-others:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return r.Recorder.Receive(ctx, in)
	})
	r.server.AwaitReady(t)
	chats, users := r.addDMs(people)
	r.server.UserSends(r.dm, ada, "0")
	r.server.UserSends(r.dm, ada, "1")
	for n := range each {
		for i := range chats {
			r.server.UserSends(chats[i], users[i], strconv.Itoa(n))
		}
	}
	r.WaitForMessages(people * each)
	close(others)
	got := map[string][]string{}
	for _, in := range r.WaitForMessages(people*each + 2) {
		got[in.Chat.ID] = append(got[in.Chat.ID], in.Text)
	}
	for chat, texts := range got {
		if !slices.IsSortedFunc(texts, func(a, b string) int { return parseNumber(a) - parseNumber(b) }) {
			t.Errorf("in %s was received %q", chat, texts)
		}
	}
}

// storeModel is a model of the store, with the latest cursor. Storing a message takes a random time
// and may fail.
type storeModel struct {
	t      *testing.T
	r      *testChannel
	mu     sync.Mutex
	random *rand.Rand
	said   []uint64
	stored map[uint64]bool
	order  map[string][]string
	cursor string
}

func (l *storeModel) userSends(chat, user, text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	id, _ := strconv.ParseUint(l.r.server.UserSends(chat, user, text).ID, 10, 64)
	l.said = append(l.said, id)
}

func (l *storeModel) receive(ctx context.Context, in channels.Incoming) error {
	l.mu.Lock()
	delay, fails := time.Duration(l.random.IntN(3000))*time.Microsecond, l.random.IntN(10) == 0
	l.mu.Unlock()
	select {
	case <-time.After(delay):
	case <-ctx.Done():
		return ctx.Err()
	}
	if fails {
		return errors.New("the disk is full")
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	id, _ := strconv.ParseUint(in.ID, 10, 64)
	if l.stored[id] {
		l.t.Errorf("%q was received twice", in.Text)
	}
	l.stored[id] = true
	l.order[in.Chat.ID] = append(l.order[in.Chat.ID], in.Text)
	l.r.memory.Lock()
	if !slices.Contains(strings.Fields(l.r.memory.values["chats"]), in.Chat.ID) {
		l.t.Errorf("chat %s is not in the stored list", in.Chat.ID)
	}
	l.r.memory.Unlock()
	l.check(in.Cursor)
	return l.r.Recorder.Receive(ctx, in)
}

func (l *storeModel) storeCursor(_ context.Context, cursor string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.check(cursor)
	return nil
}

// check fails the test unless every message up to the position of a stored cursor is stored.
func (l *storeModel) check(cursor string) {
	l.cursor = cursor
	mark, err := strconv.ParseUint(strings.Fields(cursor)[0], 10, 64)
	if err != nil {
		l.t.Error(err)
	}
	for _, id := range l.said {
		if id <= mark && !l.stored[id] {
			l.t.Errorf("the cursor %s passes message %d, which is not stored", cursor, id)
		}
	}
}

func TestTheCursorNeverSkipsAMessageThatIsBeingReceived(t *testing.T) {
	const people, each = 12, 25
	seed := uint64(time.Now().UnixNano())
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("seed %d", seed)
		}
	})
	r := newTestChannel(t, noKnownPeople)
	l := &storeModel{t: t, r: r, random: rand.New(rand.NewPCG(seed, 0)), stored: map[uint64]bool{}, order: map[string][]string{}}
	fails := rand.New(rand.NewPCG(seed, 1))
	r.memory.fail = func(string) error {
		if fails.IntN(2) == 0 {
			return errors.New("the disk is full")
		}
		return nil
	}
	r.KeepCursor(l.storeCursor)
	channelstest.Start(t, r.Channel, l.receive)
	r.server.AwaitReady(t)
	chats, users := r.addDMs(people)
	for n := range each {
		for i := range chats {
			l.userSends(chats[i], users[i], strconv.Itoa(n))
			r.server.AdvanceClock(time.Minute) // the mark is only five minutes behind
		}
		if n%5 == 4 {
			r.WaitForMessages(n * people / 2)
		}
	}
	r.WaitForMessages(people * each)
	l.mu.Lock()
	defer l.mu.Unlock()
	for chat, texts := range l.order {
		if len(texts) != each || !slices.IsSortedFunc(texts, func(a, b string) int { return parseNumber(a) - parseNumber(b) }) {
			t.Errorf("in %s was received %q", chat, texts)
		}
	}
	first, _ := strconv.ParseUint(strings.Fields(l.cursor)[0], 10, 64)
	if first < l.said[len(l.said)/2] {
		t.Errorf("the cursor %s is before message %d, the middle of all messages", l.cursor, l.said[len(l.said)/2])
	}
}

// Run ends when the messages that are being received are stored or not; only what was not is
// offered to the next Run.
func TestRunWaitsForMessagesThatAreBeingReceived(t *testing.T) {
	r := newTestChannel(t, noKnownPeople)
	ctx, cancel := context.WithCancel(t.Context())
	inside, done := make(chan string, 2), make(chan error, 1)
	release := make(chan struct{})
	go func() {
		done <- r.Run(ctx, func(ctx context.Context, in channels.Incoming) error {
			inside <- in.Text
			<-release
			if in.Text == "not stored" {
				return errors.New("the disk is full")
			}
			return r.Recorder.Receive(ctx, in)
		})
	}()
	r.server.AwaitReady(t)
	r.server.UserSends(r.dm, ada, "stored")
	r.server.UserSends(r.server.DM(bob).ID, bob, "not stored")
	<-inside
	<-inside
	cancel()
	select {
	case err := <-done:
		t.Fatalf("Run returned %v while messages were being received", err)
	default:
	}
	close(release)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if got := textsOf(r.Recorder.Messages()); !slices.Equal(got, []string{"stored"}) {
		t.Fatalf("when Run has returned %q was received", got)
	}
	r.start()
	r.waitForSessions(2)
	wanttest.EqualSlices(t, "got", textsOf(r.receivedSoFar(r.server.DM(bob).ID)), []string{"stored", "not stored"})
}

// The first message of a chat waits until the chat is in the stored list.
func TestAMessageOfANewChatWaitsForTheListOfChats(t *testing.T) {
	r := newTestChannel(t, noKnownPeople)
	broken := true
	r.memory.fail = func(list string) error {
		if broken && strings.Contains(list, r.dm) {
			return errors.New("the disk is full")
		}
		return nil
	}
	r.startConnected()
	other := r.server.DM(bob).ID
	r.waitForMessage(r.server.UserSends(other, bob, "one").ID)
	r.server.UserSends(r.dm, ada, "from somebody new")
	r.WaitForLog("known chats not stored, will retry")
	wanttest.EqualSlices(t, "got", textsOf(r.Recorder.Messages()), []string{"one"})
	r.memory.Lock()
	broken = false
	r.memory.Unlock()
	wanttest.EqualSlices(t, "got", textsOf(r.WaitForMessages(2)), []string{"one", "from somebody new"})
}
