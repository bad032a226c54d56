package turn

import (
	"slices"
	"sync"

	"go.uber.org/zap"

	"nanobot/gateway/store"
	"nanobot/terminal"
)

// mostInjected bounds what waits for an agent to read it; more is queued behind the turn.
const mostInjected = 16

// injections are the messages that were handed to a turn while it ran.
type injections struct {
	lines    chan terminal.Injection // nil: none are taken
	mu       sync.Mutex
	inbounds []handed
	texts    []string
	closed   bool
}

// handed is a message that was handed to a turn.
type handed struct {
	id   int64
	user string
}

// Inject hands a message to the agent that runs, if it takes it. It never waits for the agent.
func (t *Turn) Inject(inbound store.Inbound) {
	t.inject.mu.Lock()
	defer t.inject.mu.Unlock()
	// Once one was not taken, a later one must not pass it.
	if t.inject.closed || t.working.over() {
		return
	}
	if err := t.set.Runner.GrantFiles(inbound.In.Chat.ID, inbound.In.Media); err != nil {
		t.log.Warn("message not handed to the agent at work", zap.Error(err))
		t.inject.closed = true
		return
	}
	select {
	case t.inject.lines <- terminal.Injection{Text: inbound.In.Text, Media: inbound.In.Media}:
		t.inject.inbounds = append(t.inject.inbounds, handed{inbound.ID, inbound.In.User.ID})
		t.inject.texts = append(t.inject.texts, inbound.In.Text)
	default: // also when it takes none at all
		t.inject.closed = true
	}
}

// written returns the texts of the messages that were handed to the turn.
func (j *injections) written() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.texts)
}

// close has the turn take no more.
func (j *injections) close() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.closed = true
}

// Injected counts the messages that were handed to the agent.
func (t *Turn) Injected() int {
	t.inject.mu.Lock()
	defer t.inject.mu.Unlock()
	return len(t.inject.inbounds)
}

// closeAndRead has the turn take no more, and returns the messages that the agent was handed and
// has read. The others wait in the inbox all along, and get turns of their own.
func (j *injections) closeAndRead(unread int) []int64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.closed = true
	unread = min(unread+len(j.lines), len(j.inbounds))
	var read []int64
	for _, h := range j.inbounds[:len(j.inbounds)-unread] {
		read = append(read, h.id)
	}
	return read
}

// Injectors are the users whose messages wait for the agent to read them.
func (t *Turn) Injectors() (users []string) {
	t.inject.mu.Lock()
	defer t.inject.mu.Unlock()
	for _, h := range t.inject.inbounds[len(t.inject.inbounds)-min(len(t.inject.lines), len(t.inject.inbounds)):] {
		if !slices.Contains(users, h.user) {
			users = append(users, h.user)
		}
	}
	return users
}

// TakeBack withdraws the messages of a user that nobody has begun to read. Those of others stay in
// order.
func (t *Turn) TakeBack(user string) {
	t.inject.mu.Lock()
	defer t.inject.mu.Unlock()
	var waiting []terminal.Injection
	for {
		select {
		case line := <-t.inject.lines:
			waiting = append(waiting, line)
			continue
		default:
		}
		break
	}
	t.log.Info("access revoked, what waits for the agent is taken back", zap.String("user", user))
	// The lines that wait are the last that were handed over.
	first := len(t.inject.inbounds) - len(waiting)
	inbounds := slices.Clone(t.inject.inbounds[first:])
	t.inject.inbounds = t.inject.inbounds[:first]
	for i, line := range waiting {
		if inbounds[i].user == user {
			continue
		}
		t.inject.lines <- line // there is room: it was in there, and only Inject puts in more
		t.inject.inbounds = append(t.inject.inbounds, inbounds[i])
	}
}
