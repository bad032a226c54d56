package acp

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"

	"nanobot/terminal"
	"nanobot/terminal/acp/rpc"
)

// prompts are the prompts of one turn: the message of the turn, and the messages that the person
// sent meanwhile. The turn ends with the response to the last of them.
type prompts struct {
	*turn
	cancelled func() bool   // reports whether the turn was cancelled
	done      chan struct{} // closed when no prompt is open
	answered  chan struct{} // has an element when an injected prompt was answered

	mu      sync.Mutex
	open    []*prompt             // without a response, in the order in which they were sent
	last    *prompt               // the prompt that the agent worked on when it was cancelled or died; nil: neither
	ended   bool                  // no prompt is open, and no further one may be sent
	read    []func()              // Injection.MarkRead of prompts that the agent has worked on
	refused []*terminal.Injection // messages that must wait for turns of their own
	tooLate bool                  // the turn was cancelled before the last response
	reason  string                // the last stop reason
	err     error                 // the first error
}

// prompt is one open prompt.
type prompt struct {
	injected *terminal.Injection // nil: the message of the turn
	steers   bool                // it is added to the prompt that the agent works on
	read     bool                // the agent has worked on it
}

// prompt sends the message to the agent, and the messages that the person sends meanwhile if the
// agent accepts them. It returns the last stop reason.
func (x *turn) prompt(ctx context.Context) (reason string, err error) {
	p := &prompts{
		turn: x, cancelled: func() bool { return ctx.Err() != nil }, done: make(chan struct{}),
		answered: make(chan struct{}, 1),
	}
	if _, err := p.send(ctx, x.t.Envelope, &prompt{}); err != nil {
		return "", err
	}
	x.r.view.ShowThinking()
	defer p.markRead()
	for injections := x.acceptedInjections(); ; {
		select {
		case in, ok := <-injections:
			if !ok || !p.inject(ctx, in) {
				injections = nil // a later message must not overtake this one
				p.refuseInjections()
			}
		case <-p.answered:
			if p.markRead(); p.hasRefused() {
				injections = nil
				p.refuseInjections()
			}
		case <-p.done:
			return p.result(ctx)
		case <-ctx.Done():
			if stopped, inTime := p.cancel(); stopped {
				x.a.unusable = !inTime
				return "", context.Cause(ctx)
			}
			return p.result(ctx)
		}
	}
}

// acceptedInjections returns the messages that the person sends during the turn; nil if the agent
// accepts no prompt while it works on another.
func (x *turn) acceptedInjections() <-chan terminal.Injection {
	if x.t.Injections() == nil {
		return nil
	}
	if !x.a.initResponse.Capabilities.Meta.Claude.PromptQueueing && !x.a.initResponse.Meta.Steering.Supported {
		x.t.Report(terminal.InjectionsRefused{})
		return nil
	}
	return x.t.Injections()
}

// refuseInjections tells the senders of messages that those wait for turns of their own.
func (p *prompts) refuseInjections() {
	p.t.Report(terminal.InjectionsRefused{})
	p.mu.Lock()
	refused := p.refused
	p.refused = nil
	p.mu.Unlock()
	for _, in := range refused {
		if in != nil && in.MarkWaiting != nil {
			in.MarkWaiting()
		}
	}
}

// inject sends a message of the person as another prompt. It reports false if the message must wait
// for a turn of its own: it is a command of the gateway, or the turn has just ended.
func (p *prompts) inject(ctx context.Context, in terminal.Injection) bool {
	p.unread++
	word, _, _ := strings.Cut(strings.TrimSpace(in.Text), " ")
	if slices.Contains([]string{sessionsCommand, "/mode", "/model", configCommand}, word) {
		p.recordRefused(&in)
		return false
	}
	e := p.t.Envelope
	e.Text, e.Media, e.User, e.ReplyTo, e.Forwarded = in.Text, nil, in.User, in.ReplyTo, in.Forwarded
	if p.t.PassMedia {
		e.Media = in.Media
	}
	p.t.Report(terminal.Injected(in))
	k := &prompt{injected: &in, steers: !p.a.initResponse.Capabilities.Meta.Claude.PromptQueueing}
	sent, err := p.send(ctx, e, k)
	return sent && err == nil
}

// recordRefused records that a message must wait for a turn of its own.
func (p *prompts) recordRefused(in *terminal.Injection) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refused = append(p.refused, in)
}

// send sends a prompt, unless the turn has ended.
func (p *prompts) send(ctx context.Context, e terminal.Envelope, k *prompt) (sent bool, err error) {
	p.mu.Lock()
	if p.ended {
		p.mu.Unlock()
		return false, nil
	}
	p.open = append(p.open, k)
	p.mu.Unlock()
	if k.injected != nil {
		p.r.started.Store(true) // the first prompt is not repeated after this one
	}
	blocks := promptBlocks(e, p.a.initResponse.Capabilities.Prompt)
	method, params, handle := "session/prompt", map[string]any{"sessionId": p.s.id, "prompt": blocks}, p.handleResponse
	if k.steers {
		method, handle = steerMethod, p.handleSteered
		params["_meta"] = map[string]any{"steering": map[string]string{"idleBehavior": "promptRequired"}}
	}
	err = p.a.Start(ctx, method, params, func(result json.RawMessage, err error) { handle(k, result, err) })
	if err != nil {
		p.remove(k)
	}
	return err == nil, err
}

// remove removes a prompt that was not sent.
func (p *prompts) remove(k *prompt) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open = slices.DeleteFunc(p.open, func(other *prompt) bool { return other == k })
	if len(p.open) == 0 && !p.ended { // the others were answered meanwhile
		p.ended = true
		p.s.endTurn()
		close(p.done)
	}
}

// handleResponse handles the response to a prompt, before any later message of the agent.
func (p *prompts) handleResponse(k *prompt, result json.RawMessage, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if errors.Is(err, rpc.ErrGone) {
		p.stopAtOldest()
	}
	// Agents work on prompts in order. The agent has read a prompt if it has answered it, or if it
	// was working on it when it failed, was cancelled or died.
	worked := k == p.last || p.last == nil && k == p.open[0]
	p.open = slices.DeleteFunc(p.open, func(other *prompt) bool { return other == k })
	var got struct {
		Reason string `json:"stopReason"`
	}
	if err == nil {
		_ = rpc.DecodeLenient(result, &got) // a missing stop reason counts as end_turn
		p.s.reportUsage(p.t, result)
	}
	switch {
	case worked || err == nil && got.Reason != "cancelled":
		p.reason = got.Reason
		if p.err == nil {
			p.err = err
		}
		p.recordRead(k)
	case err != nil && !errors.Is(err, rpc.ErrGone):
		p.refused = append(p.refused, k.injected)
		p.a.Log("info", "the agent refused a prompt during a turn: "+err.Error())
	}
	if len(p.open) > 0 {
		if slices.ContainsFunc(p.open, func(other *prompt) bool { return !other.steers }) {
			p.r.view.EmitPending() // the next answer is a message of its own
		}
		signal(p.answered)
		return
	}
	p.end(err)
}

// end ends the turn after the last response, on the reader's goroutine. The caller holds mu.
func (p *prompts) end(err error) {
	p.ended, p.tooLate = true, p.cancelled()
	if !p.a.login().ShouldRepeat(err, p.r.started.Load()) {
		p.s.detachTurn() // later updates belong to no turn
	}
	close(p.done)
}

// stopAtOldest records that the agent works on no prompt after the oldest. The caller holds mu.
func (p *prompts) stopAtOldest() {
	if p.last == nil && len(p.open) > 0 && !p.open[0].steers {
		p.last = p.open[0]
		p.recordRead(p.last)
	}
}

// recordRead records that the agent has worked on a prompt. The caller holds mu.
func (p *prompts) recordRead(k *prompt) {
	if k.injected != nil && !k.read {
		k.read = true
		p.read = append(p.read, k.injected.MarkRead)
	}
}

// signal adds an element to a channel of one element, unless it has one.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// markRead records the messages that the agent has read.
func (p *prompts) markRead() {
	p.mu.Lock()
	read := p.read
	p.read = nil
	p.mu.Unlock()
	for _, mark := range read {
		if p.unread--; mark != nil {
			mark()
		}
	}
}

func (p *prompts) hasRefused() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.refused) > 0
}

// result returns the result of the turn after the last response.
func (p *prompts) result(ctx context.Context) (reason string, err error) {
	<-p.done
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.tooLate {
		p.s.access.Table.KillAll()
		return "", context.Cause(ctx)
	}
	if p.err != nil {
		p.s.tasks.forgetToolCalls()
		return "", p.err
	}
	return p.reason, nil
}

// cancel cancels the prompts unless all have just ended. inTime reports whether the agent responded
// within StopTimeout. Open questions were cancelled with the turn.
func (p *prompts) cancel() (stopped, inTime bool) {
	select {
	case <-p.done:
		return false, true
	default:
	}
	p.mu.Lock()
	p.stopAtOldest() // the prompts after it get turns of their own
	p.mu.Unlock()
	p.s.access.Table.KillAll()
	defer p.s.tasks.forgetAll()
	late, cancel := context.WithTimeout(context.Background(), p.StopTimeout)
	defer cancel()
	_ = p.a.Notify(late, "session/cancel", map[string]string{"sessionId": p.s.id})
	select {
	case <-p.done:
		return true, true
	case <-late.Done():
		return true, false
	}
}
