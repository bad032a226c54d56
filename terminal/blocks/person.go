package blocks

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"nanobot/terminal"
)

const (
	// joinWithin is how long after a message another one belongs to the same response: a chat
	// splits a long paste into several messages.
	joinWithin = 2 * time.Second
	// lookEvery is how often the inbox is searched for files that somebody has saved.
	lookEvery = time.Second
)

// waitingTurns are the turns in which a person brings the responses, by chat.
type waitingTurns struct {
	mu    sync.Mutex
	turns map[string]*personTransport
}

func (w *waitingTurns) add(x *turn) *personTransport {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.turns == nil {
		w.turns = map[string]*personTransport{}
	}
	p := &personTransport{x: x, chat: x.t.Envelope.SessionKey, wake: make(chan struct{}, 1)}
	w.turns[p.chat] = p
	return p
}

func (w *waitingTurns) remove(p *personTransport) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.turns[p.chat] == p {
		delete(w.turns, p.chat)
	}
}

func (w *waitingTurns) find(chat string) *personTransport {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.turns[chat]
}

// ReadMessage reads what a person writes while a turn waits for the response of a model.
func (p *Protocol) ReadMessage(_ context.Context, m terminal.PersonMessage) (bool, error) {
	if p.set.Agent != personAgent {
		return false, nil
	}
	waiting := p.waiting.find(m.Chat)
	if m.ID == "" && m.Text == "" && len(m.Media) == 0 {
		return waiting != nil && waiting.isReading(), nil
	}
	files, err := openFolder(m.UserDataDir)
	if err != nil {
		return false, err
	}
	defer files.close()
	if m.ID != "" {
		if known, err := files.wasRead(messageHash(m.ID)); known || err != nil {
			return known, err
		}
	}
	if waiting == nil {
		return false, nil
	}
	return waiting.read(m)
}

// personTransport has a person carry the outbox to a model, and its response back.
type personTransport struct {
	x    *turn
	chat string
	wake chan struct{}

	mu       sync.Mutex
	reading  bool      // messages are parts of a response
	last     time.Time // when the last part was read
	requests []string  // commands of the person and remarks for them, for the turn to carry out
}

// respond sends the outbox as a document, and waits for a response.
func (p *personTransport) respond(ctx context.Context) (response, error) {
	if err := p.sendOutbox(); err != nil {
		return response{}, err
	}
	p.setReading(true)
	resume := p.x.t.AwaitPerson(ctx)
	r, err := p.await(ctx)
	p.setReading(false)
	if rerr := resume(ctx); rerr != nil {
		err = rerr
	}
	if err == nil {
		err = p.carryOutRequests()
	}
	if err != nil {
		return response{}, err
	}
	return r, p.tellEmpty(r)
}

func (p *personTransport) setReading(on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reading = on
}

func (p *personTransport) isReading() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.reading
}

// sendOutbox sends the outbox of the newest round.
func (p *personTransport) sendOutbox() error {
	dir := filepath.Join(p.x.files.path, outboxName)
	return p.x.say(terminal.Frame{
		ProtocolDir: dir, Media: []string{filepath.Join(dir, roundFile(p.x.s.ID, p.x.s.Sequence))},
		Text: fmt.Sprintf("Round %d: give this file to the model, and send me its answer, as text or as a .txt or .md file.", p.x.s.Sequence),
	})
}

// tellEmpty tells the person of a response without any command. The model is told by the next
// outbox.
func (p *personTransport) tellEmpty(r response) error {
	content, err := readFile(p.x.files.inbox, r.name, p.x.t.MaxLine)
	if err != nil || len(Parse(string(content))) > 0 {
		return nil //nolint:nilerr // execute reports the error
	}
	return p.x.say(terminal.Frame{Text: "There is no command in that answer. The next file says so to the model. /stop ends this task."})
}

// await waits for a response: messages that were joined, or a file that somebody has saved.
func (p *personTransport) await(ctx context.Context) (response, error) {
	saved := savedFiles{}
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	join := time.NewTimer(joinWithin)
	defer join.Stop()
	for {
		if err := p.carryOutRequests(); err != nil {
			return response{}, err
		}
		r, left, err := p.joinParts()
		switch {
		case err != nil || r.name != "":
			return r, err
		case left > 0:
			join.Reset(left)
		default: // a file that is saved now must not take the place of messages that are being joined
			if name, err := p.savedAnswer(saved); name != "" || err != nil {
				return p.renameToResponse(name), err
			}
		}
		select {
		case <-p.wake:
		case <-join.C:
		case <-tick.C:
		case <-ctx.Done():
			return response{}, context.Cause(ctx)
		}
	}
}

// read reads a message, if the turn waits for a response. A part of one is on disk when it returns.
func (p *personTransport) read(m terminal.PersonMessage) (bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.reading {
		return false, nil
	}
	defer p.wakeUp()
	if commandOf(m.Text) != "" {
		p.requests = append(p.requests, commandOf(m.Text))
		return true, nil
	}
	text, problem := p.textOf(m)
	if problem != "" {
		p.requests = append(p.requests, problem)
	}
	if strings.TrimSpace(text) == "" {
		return true, nil
	}
	p.last = time.Now()
	return true, p.writePart(m, text)
}

func (p *personTransport) wakeUp() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// textOf is what a message adds to the response, and what is wrong with its files.
func (p *personTransport) textOf(m terminal.PersonMessage) (text, problem string) {
	var texts, problems []string
	if strings.TrimSpace(m.Text) != "" {
		texts = append(texts, m.Text)
	}
	for _, path := range m.Media {
		name := terminal.CodeSpan(terminal.OneLine(filepath.Base(path), 100))
		switch strings.ToLower(filepath.Ext(path)) {
		case ".txt", ".md":
		default:
			problems = append(problems, "⚠ "+name+" was not read: an answer is text, or a .txt or .md file.")
			continue
		}
		content, err := readAttachment(path, p.x.t.MaxLine)
		if err != nil {
			problems = append(problems, fmt.Sprintf("⚠ %s was not read: %s.", name, reason(err)))
			continue
		}
		texts = append(texts, string(content))
	}
	return strings.Join(texts, "\n"), strings.Join(problems, "\n")
}

// carryOutRequests carries out the commands that a person has sent instead of an answer.
func (p *personTransport) carryOutRequests() error {
	p.mu.Lock()
	requests := p.requests
	p.requests = nil
	p.mu.Unlock()
	for _, r := range requests {
		var err error
		switch r {
		case resumeCommand:
			err = p.sendOutbox()
		case diffCommand:
			err = p.x.sayResult(p.x.showDiff)
		case undoCommand:
			err = p.x.sayResult(p.x.undo)
		default:
			err = p.x.say(terminal.Frame{Text: r})
		}
		if err != nil {
			return err
		}
	}
	return nil
}
