package turn

import (
	"context"
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
	// unsettled are messages that the agent has read and the store still has as pending.
	unsettled []injectedMessage
	texts     []string
	closed    bool
}

// injectedMessage is a message that was injected into a turn.
type injectedMessage struct {
	id   int64
	user string
	// announce tells the sender that the message waits, at most once.
	announce func()
}

// Inject passes a message to the running agent. It reports false if the agent does not accept it.
// It never waits for the agent.
func (p *people) Inject(inbound store.Inbound) bool {
	p.injections.mu.Lock()
	defer p.injections.mu.Unlock()
	// After the first message that was not accepted, later ones must not overtake it.
	if p.injections.closed || p.working.hasEnded() {
		return false
	}
	if p.hears(inbound.In) {
		p.injections.closed = true
		return false
	}
	req, err := p.injectedRequest(inbound)
	if err != nil {
		p.log.Warn("message not passed to the running agent", zap.Error(err))
		p.injections.closed = true
		return false
	}
	announce := sync.OnceFunc(func() { p.stage.o.Notices.Announce(inbound) })
	line := terminal.Injection{
		Text: req.Text, Media: req.Media, User: req.User, ReplyTo: req.ReplyTo, Forwarded: req.Forwarded,
		MarkRead: func() { p.markRead(inbound.ID) }, MarkWaiting: announce,
	}
	select {
	case p.injections.lines <- line:
		p.injections.messages = append(p.injections.messages, injectedMessage{inbound.ID, inbound.In.User.ID, announce})
		p.injections.texts = append(p.injections.texts, inbound.In.Text)
		return true
	default: // the buffer is full, or the agent accepts no injections
		p.injections.closed = true
		return false
	}
}

// injectedRequest returns a message as the agent gets it, and lets the agent read its files.
func (p *people) injectedRequest(inbound store.Inbound) (req terminal.Request, err error) {
	if err := p.settings.Runner.GrantFiles(inbound.In.Chat.Channel, inbound.In.Chat.ID, inbound.In.Media); err != nil {
		return req, err
	}
	req = RequestFor(inbound.In, "")
	req.Text, err = p.restoreCommand(context.Background(), req.Text)
	return req, err
}

// refuseInjections says that the agent accepts no further injections. Those that it has not
// received get turns of their own, and their senders are told that they wait.
func (p *people) refuseInjections() {
	p.injections.mu.Lock()
	p.injections.closed = true
	waiting := slices.Clone(p.injections.waiting())
	p.injections.mu.Unlock()
	for _, m := range waiting {
		m.announce()
	}
}

// waiting returns the injected messages that the agent has not received. The caller holds mu.
func (j *injections) waiting() []injectedMessage {
	return j.messages[len(j.messages)-min(len(j.lines), len(j.messages)):]
}

// markRead ends an injected message that the agent has worked on, so that it does not run again
// after a crash. If the store fails, the message ends with the turn.
func (p *people) markRead(inbound int64) {
	err := p.stage.o.Store.SettlePending(context.Background(), inbound)
	if p.isFenced(err) {
		return
	}
	if err != nil {
		p.log.Warn("message that the agent has read not settled", zap.Int64("message", inbound), zap.Error(err))
		p.injections.markUnsettled(inbound)
		return
	}
	p.injections.mu.Lock()
	defer p.injections.mu.Unlock()
	p.injections.messages = slices.DeleteFunc(p.injections.messages,
		func(m injectedMessage) bool { return m.id == inbound })
}

// markUnsettled records that the agent has read a message which the store still has as pending.
func (j *injections) markUnsettled(inbound int64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for i, m := range j.messages {
		if m.id == inbound {
			j.messages = slices.Delete(j.messages, i, i+1)
			j.unsettled = append(j.unsettled, m)
			return
		}
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
func (p *people) InjectedCount() int {
	p.injections.mu.Lock()
	defer p.injections.mu.Unlock()
	return len(p.injections.messages) + len(p.injections.unsettled)
}

// UnreadCount returns the number of injected messages that the agent has not read yet. They get
// turns of their own if this one ends now.
func (p *people) UnreadCount() int {
	p.injections.mu.Lock()
	defer p.injections.mu.Unlock()
	return min(len(p.injections.lines), len(p.injections.messages))
}

// closeAndListRead stops further injections and returns the injected messages that the agent has
// read. The others are still in the inbox and get turns of their own.
func (j *injections) closeAndListRead(unread int) []int64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.closed = true
	unread = min(unread+len(j.lines), len(j.messages))
	var read []int64
	for _, h := range slices.Concat(j.unsettled, j.messages[:len(j.messages)-unread]) {
		read = append(read, h.id)
	}
	return read
}

// WaitingInjectors returns the users whose injected messages the agent has not read yet.
func (p *people) WaitingInjectors() (users []string) {
	p.injections.mu.Lock()
	defer p.injections.mu.Unlock()
	for _, h := range p.injections.waiting() {
		if !slices.Contains(users, h.user) {
			users = append(users, h.user)
		}
	}
	return users
}

// WithdrawInjected removes a user's injected messages that the agent has not started to read.
// Messages of other users stay in order.
func (p *people) WithdrawInjected(user string) {
	p.injections.mu.Lock()
	defer p.injections.mu.Unlock()
	p.log.Info("access revoked, withdrawing messages that the agent has not read", zap.String("user", user))
	p.injections.withdraw(func(m injectedMessage) bool { return m.user == user })
}

// WithdrawMessage removes one injected message that the agent has not started to read. It reports
// false if the agent may have read it.
func (p *people) WithdrawMessage(inbound int64) bool {
	p.injections.mu.Lock()
	defer p.injections.mu.Unlock()
	is := func(m injectedMessage) bool { return m.id == inbound }
	p.injections.withdraw(is)
	return !slices.ContainsFunc(p.injections.messages, is)
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
