package blocks

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"nanobot/terminal"
)

const (
	// joinWithin is how long after a message another one belongs to the same response: a chat
	// splits what is pasted into several messages.
	joinWithin = 2 * time.Second
	// stableFor is how long a file in the inbox must not have changed to be taken.
	stableFor = time.Second
	// lookEvery is how often the inbox is looked at for files.
	lookEvery = time.Second
	// partSuffix ends the names of messages that are not yet joined to a response.
	partSuffix = ".part"
)

// answers are the turns that wait for people, by chat.
type answers struct {
	mu    sync.Mutex
	turns map[string]*person
}

func (a *answers) add(x *turn) *person {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.turns == nil {
		a.turns = map[string]*person{}
	}
	p := &person{x: x, chat: x.t.Envelope.SessionKey, known: x.s.Messages, wake: make(chan struct{}, 1)}
	a.turns[p.chat] = p
	return p
}

func (a *answers) remove(p *person) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.turns[p.chat] == p {
		delete(a.turns, p.chat)
	}
}

// ReadMessage takes what a person writes while a turn waits for the response of a model.
func (p *Protocol) ReadMessage(_ context.Context, m terminal.PersonMessage) (bool, error) {
	p.answers.mu.Lock()
	waiting := p.answers.turns[m.Chat]
	p.answers.mu.Unlock()
	if waiting == nil {
		return false, nil
	}
	return waiting.read(m)
}

// person brings the responses of a model by hand.
type person struct {
	x    *turn
	chat string
	wake chan struct{}

	mu       sync.Mutex
	awaiting bool      // messages are parts of a response
	known    []string  // the messages of the last response, which may be offered again
	last     time.Time // when the last part was read
	requests []string  // commands of the person and remarks for them, for the turn to carry out
}

// respond sends the outbox as a document, and waits for a response.
func (p *person) respond(ctx context.Context, x *turn) (response, error) {
	if err := p.sendOutbox(); err != nil {
		return response{}, err
	}
	p.setAwaiting(true)
	defer p.setAwaiting(false)
	resume := x.t.AwaitPerson(ctx)
	r, err := p.await(ctx)
	if rerr := resume(ctx); rerr != nil {
		err = rerr
	}
	if err != nil {
		return response{}, err
	}
	return r, p.tellEmpty(r)
}

func (p *person) setAwaiting(on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.awaiting = on
}

// sendOutbox sends the outbox of the newest round.
func (p *person) sendOutbox() error {
	dir := filepath.Join(p.x.files.path, outboxName)
	return p.x.t.Emit(terminal.Frame{
		Kind: terminal.Message, Own: dir, Media: []string{filepath.Join(dir, roundFile(p.x.s.ID, p.x.s.Sequence))},
		Text: fmt.Sprintf("Round %d: give this file to the model, and send me its answer, as text or as a .txt or .md file.", p.x.s.Sequence),
	})
}

// tellEmpty tells the person of a response without any command. The model is told by the next
// outbox.
func (p *person) tellEmpty(r response) error {
	content, err := readFile(p.x.files.inbox, r.name, p.x.t.MaxLine)
	if err != nil || len(Parse(string(content))) > 0 {
		return nil //nolint:nilerr // who executes the response meets the error
	}
	return p.x.t.Emit(terminal.Frame{Kind: terminal.Message, Text: "There is no command in that answer. The next file says so to the model."})
}

// await waits for a response: messages that were joined, or a file that somebody has saved.
func (p *person) await(ctx context.Context) (response, error) {
	saved := savedFiles{}
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		if err := p.carryOut(); err != nil {
			return response{}, err
		}
		if r, ok, err := p.joined(); ok || err != nil {
			return r, err
		}
		if name, ok, err := saved.take(p.x.files.inbox, p.x.s.ID); ok || err != nil {
			return p.claim(name), err
		}
		select {
		case <-p.wake:
		case <-tick.C:
		case <-ctx.Done():
			return response{}, context.Cause(ctx)
		}
	}
}

// read takes a message, if the turn waits for a response. A part of one is on disk when it returns.
func (p *person) read(m terminal.PersonMessage) (bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	id := messageHash(m)
	if slices.Contains(p.known, id) { // it is in a response already
		return true, nil
	}
	if !p.awaiting {
		return false, nil
	}
	defer p.poke()
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
	for _, part := range p.parts() {
		if part.hash == id { // it was offered before a crash
			return true, nil
		}
	}
	return true, writeFile(p.x.files.inbox, p.partFile(id), []byte(text), true)
}

func (p *person) poke() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// messageHash identifies a message in the names of files.
func messageHash(m terminal.PersonMessage) string {
	id := m.ID
	if id == "" { // it is offered once
		id = fmt.Sprint(time.Now().UnixNano())
	}
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:8])
}

// textOf is what a message adds to the response, and what is wrong with its files.
func (p *person) textOf(m terminal.PersonMessage) (text, problem string) {
	texts := []string{}
	if strings.TrimSpace(m.Text) != "" {
		texts = append(texts, m.Text)
	}
	for _, path := range m.Media {
		name := terminal.CodeSpan(terminal.OneLine(filepath.Base(path), 100))
		switch strings.ToLower(filepath.Ext(path)) {
		case ".txt", ".md":
		default:
			problem = "⚠ " + name + " was not read: an answer is text, or a .txt or .md file."
			continue
		}
		content, err := readAttachment(path, p.x.t.MaxLine)
		if err != nil {
			problem = fmt.Sprintf("⚠ %s was not read: %s.", name, reason(err))
			continue
		}
		texts = append(texts, string(content))
	}
	return strings.Join(texts, "\n"), problem
}

// readAttachment reads a file that came with a message.
func readAttachment(path string, most int) ([]byte, error) {
	dir, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	return readFile(dir, filepath.Base(path), most)
}

// part is a message that is not yet joined to a response.
type part struct{ name, hash string }

// partFile names the file of a part so that parts sort in the order of their coming.
func (p *person) partFile(hash string) string {
	return fmt.Sprintf("%s-%020d-%s%s", roundFile(p.x.s.ID, p.x.s.Sequence), time.Now().UnixNano(), hash, partSuffix)
}

// parts returns the parts of the response to the newest outbox, in the order of their coming.
func (p *person) parts() (all []part) {
	names, _ := fs.Glob(p.x.files.inbox.FS(), roundFile(p.x.s.ID, p.x.s.Sequence)+"-*"+partSuffix)
	slices.Sort(names)
	for _, name := range names {
		hash := strings.TrimSuffix(name[strings.LastIndexByte(name, '-')+1:], partSuffix)
		all = append(all, part{name, hash})
	}
	return all
}

// joined makes a response of the parts, once no further one has come for a while.
func (p *person) joined() (response, bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	parts := p.parts()
	if len(parts) == 0 {
		return response{}, false, nil
	}
	if p.last.IsZero() { // they came before a crash
		p.last = time.Now()
	}
	if left := joinWithin - time.Since(p.last); left > 0 {
		time.AfterFunc(left, p.poke)
		return response{}, false, nil
	}
	r := response{name: roundFile(p.x.s.ID, p.x.s.Sequence)}
	var texts []string
	for _, part := range parts {
		content, err := readFile(p.x.files.inbox, part.name, 2*p.x.t.MaxLine)
		if err != nil {
			return r, false, fmt.Errorf("read answer: %w", err)
		}
		texts, r.messages = append(texts, string(content)), append(r.messages, part.hash)
	}
	// A message that is offered again from now on is known, also after a crash.
	p.known, p.x.s.Messages = r.messages, r.messages
	if err := p.x.save(); err != nil {
		return r, false, err
	}
	if err := writeFile(p.x.files.inbox, r.name, []byte(strings.Join(texts, "\n")), true); err != nil {
		return r, false, err
	}
	p.awaiting, p.last = false, time.Time{}
	for _, part := range parts {
		_ = p.x.files.inbox.Remove(part.name) // one that stays would be joined to the same response again
	}
	return r, true, nil
}

// claim gives a file that somebody has saved the name of the session's response, so that no other
// session takes it.
func (p *person) claim(name string) response {
	r := response{name: roundFile(p.x.s.ID, p.x.s.Sequence), savedAs: name}
	if r.name != name && p.x.files.inbox.Rename(name, r.name) != nil {
		r.name = name
	}
	return r
}

// carryOut carries out the commands that a person has sent instead of an answer.
func (p *person) carryOut() error {
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
			_, err = tell(p.x.t, p.x.showDiff)
		case undoCommand:
			_, err = tell(p.x.t, p.x.undo)
		default:
			err = p.x.t.Emit(terminal.Frame{Kind: terminal.Message, Text: r})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// savedFiles are the files that somebody saves in the inbox by hand.
type savedFiles map[string]savedFile

// savedFile is a file as it was seen, and since when it has not changed.
type savedFile struct {
	size  int64
	mod   time.Time
	since time.Time
}

// storedResponse matches the names of responses that the gateway stores.
var storedResponse = regexp.MustCompile(`^([0-9a-f]{8})_seq[0-9]{4,}\.txt$`)

// take returns the oldest file that is not being written any more. Those of other sessions wait
// until these are resumed.
func (s savedFiles) take(inbox *os.Root, session string) (string, bool, error) {
	entries, err := fs.ReadDir(inbox.FS(), ".")
	if err != nil {
		return "", false, fmt.Errorf("look into the inbox: %w", err)
	}
	type candidate struct {
		name string
		mod  time.Time
	}
	var all []candidate
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() || !strings.HasSuffix(e.Name(), ".txt") {
			continue // it may just be gone
		}
		if m := storedResponse.FindStringSubmatch(e.Name()); m != nil && m[1] != session {
			continue
		}
		seen, ok := s[e.Name()]
		if !ok || seen.size != info.Size() || !seen.mod.Equal(info.ModTime()) {
			seen = savedFile{info.Size(), info.ModTime(), time.Now()}
			s[e.Name()] = seen
		}
		all = append(all, candidate{e.Name(), seen.mod})
	}
	slices.SortFunc(all, func(a, b candidate) int { return cmp.Or(a.mod.Compare(b.mod), strings.Compare(a.name, b.name)) })
	if len(all) == 0 || time.Since(s[all[0].name].since) < stableFor {
		return "", false, nil
	}
	return all[0].name, true, nil
}
