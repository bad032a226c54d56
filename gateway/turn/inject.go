package turn

import (
	"slices"
	"sync"

	"go.uber.org/zap"

	"nanobot/gateway/store"
	"nanobot/terminal"
)

// maxInjected bounds the messages that wait for the agent to read them. Further messages are queued
// for later turns.
const maxInjected = 16

// injections are the messages that were injected into a running turn.
type injections struct {
	lines    chan terminal.Injection // nil: the turn accepts no injections
	mu       sync.Mutex
	messages []injectedMessage
	texts    []string
	closed   bool
}

// injectedMessage is a message that was injected into a turn.
type injectedMessage struct {
	id   int64
	user string
}

// Inject passes a message to the running agent, if the agent accepts it. It never waits for the
// agent.
func (t *Turn) Inject(inbound store.Inbound) {
	t.injections.mu.Lock()
	defer t.injections.mu.Unlock()
	// After the first message that was not accepted, later ones must not overtake it.
	if t.injections.closed || t.working.hasEnded() {
		return
	}
	if err := t.settings.Runner.GrantFiles(inbound.In.Chat.ID, inbound.In.Media); err != nil {
		t.log.Warn("message not passed to the running agent", zap.Error(err))
		t.injections.closed = true
		return
	}
	select {
	case t.injections.lines <- terminal.Injection{Text: inbound.In.Text, Media: inbound.In.Media}:
		t.injections.messages = append(t.injections.messages, injectedMessage{inbound.ID, inbound.In.User.ID})
		t.injections.texts = append(t.injections.texts, inbound.In.Text)
	default: // the buffer is full, or the agent accepts no injections
		t.injections.closed = true
	}
}

// allTexts returns the texts of the injected messages.
func (j *injections) allTexts() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.texts)
}

// close stops further injections.
func (j *injections) close() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.closed = true
}

// InjectedCount returns the number of messages that were injected.
func (t *Turn) InjectedCount() int {
	t.injections.mu.Lock()
	defer t.injections.mu.Unlock()
	return len(t.injections.messages)
}

// UnreadCount returns the number of injected messages that the agent has not read yet. They get
// turns of their own if this one ends now.
func (t *Turn) UnreadCount() int {
	t.injections.mu.Lock()
	defer t.injections.mu.Unlock()
	return min(len(t.injections.lines), len(t.injections.messages))
}

// closeAndListRead stops further injections and returns the injected messages that the agent has
// read. The others are still in the inbox and get turns of their own.
func (j *injections) closeAndListRead(unread int) []int64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.closed = true
	unread = min(unread+len(j.lines), len(j.messages))
	var read []int64
	for _, h := range j.messages[:len(j.messages)-unread] {
		read = append(read, h.id)
	}
	return read
}

// WaitingInjectors returns the users whose injected messages the agent has not read yet.
func (t *Turn) WaitingInjectors() (users []string) {
	t.injections.mu.Lock()
	defer t.injections.mu.Unlock()
	for _, h := range t.injections.messages[len(t.injections.messages)-min(len(t.injections.lines), len(t.injections.messages)):] {
		if !slices.Contains(users, h.user) {
			users = append(users, h.user)
		}
	}
	return users
}

// WithdrawInjected removes a user's injected messages that the agent has not started to read.
// Messages of other users stay in order.
func (t *Turn) WithdrawInjected(user string) {
	t.injections.mu.Lock()
	defer t.injections.mu.Unlock()
	t.log.Info("access revoked, withdrawing messages that the agent has not read", zap.String("user", user))
	t.injections.withdraw(func(m injectedMessage) bool { return m.user == user })
}

// WithdrawMessage removes one injected message that the agent has not started to read. It reports
// false if the agent may have read it.
func (t *Turn) WithdrawMessage(inbound int64) bool {
	t.injections.mu.Lock()
	defer t.injections.mu.Unlock()
	is := func(m injectedMessage) bool { return m.id == inbound }
	t.injections.withdraw(is)
	return !slices.ContainsFunc(t.injections.messages, is)
}

// withdraw removes the matching messages that the agent has not started to read. The caller holds
// mu.
func (j *injections) withdraw(matches func(injectedMessage) bool) {
	var waiting []terminal.Injection
	for {
		select {
		case line := <-j.lines:
			waiting = append(waiting, line)
			continue
		default:
		}
		break
	}
	// The waiting lines are the last ones that were injected.
	first := len(j.messages) - len(waiting)
	inbounds := slices.Clone(j.messages[first:])
	j.messages = j.messages[:first]
	for i, line := range waiting {
		if matches(inbounds[i]) {
			continue
		}
		j.lines <- line // the buffer has room: the line was in it, and only Inject adds lines
		j.messages = append(j.messages, inbounds[i])
	}
}
