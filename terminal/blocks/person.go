package blocks

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"nanobot/internal/words"
	"nanobot/terminal"
)

const (
	// joinWindow is how long after a message another one belongs to the same response, since chats
	// split long texts into several messages.
	joinWindow = 2 * time.Second
	// inboxInterval is how often the inbox is searched for saved files.
	inboxInterval = time.Second
)

// waitingTurns are the turns that wait for a response from a person, by chat.
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

// ReadMessage reads a person's message while a turn waits for a response.
func (p *Protocol) ReadMessage(_ context.Context, m terminal.PersonMessage) (bool, error) {
	if p.settings.Agent != personAgent {
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
	return waiting.readMessage(m)
}

// personTransport lets a person transfer outboxes to a model and its responses back.
type personTransport struct {
	x    *turn
	chat string
	wake chan struct{}

	mu       sync.Mutex
	reading  bool      // messages of the chat are parts of the response
	lastPart time.Time // when the last part was read
	requests []string  // commands of the person, and notices to send, which the turn's goroutine handles
}

// roundTrip sends the outbox as a document and waits for a response.
func (p *personTransport) roundTrip(ctx context.Context) (response, error) {
	if err := p.sendOutbox(); err != nil {
		return response{}, err
	}
	for {
		r, err := p.readResponse(ctx)
		if err != nil {
			return response{}, err
		}
		if confirmed, err := p.confirmResponse(ctx, r); confirmed || err != nil {
			return r, err
		}
		if err := p.x.files.moveToProcessed(r); err != nil {
			return response{}, err
		}
	}
}

// readResponse waits for a response, unless one was joined before a crash.
func (p *personTransport) readResponse(ctx context.Context) (response, error) {
	if r, err := p.joinedResponse(); r.name != "" || err != nil {
		return r, err
	}
	p.setReading(true)
	resume := p.x.t.AwaitPerson(ctx)
	r, err := p.awaitResponse(ctx)
	p.setReading(false)
	if rerr := resume(ctx); rerr != nil {
		err = rerr
	}
	if err == nil {
		err = p.runRequests()
	}
	return r, err
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
	return p.x.sendMessage(terminal.Frame{
		ProtocolDir: dir, Media: []string{filepath.Join(dir, roundFile(p.x.s.ID, p.x.s.Sequence))},
		Text: p.x.text(words.BlocksGiveFile, p.x.s.Sequence),
	})
}

// confirmResponse asks about a response without commands, because it may be a remark of the person.
// It reports false if the response does not count. Messages are not read meanwhile: one that is no
// answer ends the question, and is offered again.
func (p *personTransport) confirmResponse(ctx context.Context, r response) (bool, error) {
	content, err := readFile(p.x.files.inbox, r.name, p.x.t.MaxLine)
	if err != nil || len(Parse(string(content))) > 0 {
		return true, nil //nolint:nilerr // execute reports the error
	}
	resume := p.x.t.AwaitPerson(ctx)
	a, err := p.x.t.Ask(ctx, terminal.Question{
		// Deterministic, so that a turn that is repeated after a crash finds the stored answer.
		ID: fmt.Sprintf("blocks-%s-%d-%s", p.x.s.ID, p.x.s.Sequence, messageHash(string(content))), UniqueID: true,
		Text: p.x.text(words.BlocksModelsAnswer), Options: []string{p.x.text(words.ButtonYes), p.x.text(words.ButtonNo)},
		OtherText: terminal.OtherTextDismisses,
	})
	if err := resume(ctx); err != nil {
		return false, err
	}
	var other *terminal.DismissedError
	switch {
	case ctx.Err() != nil:
		return false, context.Cause(ctx)
	case err == nil && a.Option != 1, errors.As(err, &other), errors.Is(err, terminal.ErrNoAnswer):
		return false, nil // any other error costs a round, but no answer
	}
	return true, p.x.sendSilent(terminal.Frame{Text: p.x.text(words.BlocksEmptyAnswer)})
}

// awaitResponse waits for a response: joined messages, or a file saved in the inbox.
func (p *personTransport) awaitResponse(ctx context.Context) (response, error) {
	saved := savedFiles{}
	tick := time.NewTicker(inboxInterval)
	defer tick.Stop()
	join := time.NewTimer(joinWindow)
	defer join.Stop()
	for {
		if err := p.runRequests(); err != nil {
			return response{}, err
		}
		r, left, err := p.joinParts()
		switch {
		case err != nil || r.name != "":
			return r, err
		case left > 0:
			join.Reset(left)
		default: // only without parts: a saved file must not displace messages that are being joined
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

// readMessage reads a message if the turn waits for a response. A part is synced to disk when it
// returns.
func (p *personTransport) readMessage(m terminal.PersonMessage) (bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.reading {
		return false, nil
	}
	defer p.wakeUp()
	if parsePersonCommand(m.Text) != "" {
		p.requests = append(p.requests, parsePersonCommand(m.Text))
		return true, nil
	}
	text, problem := p.messageText(m)
	if problem != "" {
		p.requests = append(p.requests, problem)
	}
	if strings.TrimSpace(text) == "" {
		return true, nil
	}
	p.lastPart = time.Now()
	return true, p.writePart(m, text)
}

func (p *personTransport) wakeUp() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// messageText returns the text that a message adds to the response, and a notice about files that
// cannot be read.
func (p *personTransport) messageText(m terminal.PersonMessage) (text, problem string) {
	var texts, problems []string
	if strings.TrimSpace(m.Text) != "" {
		texts = append(texts, m.Text)
	}
	for _, path := range m.Media {
		name := terminal.CodeSpan(terminal.OneLine(filepath.Base(path), 100))
		switch strings.ToLower(filepath.Ext(path)) {
		case ".txt", ".md":
		default:
			problems = append(problems, p.x.text(words.BlocksNotText, name))
			continue
		}
		content, err := readAttachment(path, p.x.t.MaxLine)
		if err != nil {
			problems = append(problems, p.x.text(words.BlocksNotRead, name, errorReason(p.x.t.Words, err)))
			continue
		}
		texts = append(texts, string(content))
	}
	return strings.Join(texts, "\n"), strings.Join(problems, "\n")
}

// runRequests handles the commands that a person has sent instead of a response.
func (p *personTransport) runRequests() error {
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
			err = p.x.sendResult(p.x.showDiff)
		case undoCommand:
			err = p.x.sendResult(p.x.undo)
		default:
			err = p.x.sendMessage(terminal.Frame{Text: r})
		}
		if err != nil {
			return err
		}
	}
	return nil
}
