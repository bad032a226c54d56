package rich

import (
	"strings"
	"sync"
	"time"

	"nanobot/internal/tasks"
	"nanobot/terminal"
	"nanobot/terminal/process"
)

// deltaKind is the type of a frame with the next piece of a message, an addition to Terminal
// Protocol v1. It is never emitted.
const deltaKind terminal.Kind = "delta"

const (
	// partialInterval is the time between updates of a message that the agent is writing, however
	// many deltas there are.
	partialInterval = 100 * time.Millisecond
	// maxPartial is how many bytes of such a message are shown before it is finished. No network
	// shows more of a text in its messages.
	maxPartial = 256 << 10
)

// stream is the chat of a turn. It emits the frames in order, and collects the message that the
// agent is writing in deltas.
type stream struct {
	terminal.Chat
	formatOf  func(text string) terminal.Format
	maxOutput int

	mu      sync.Mutex       // also held while a frame is emitted, to keep the order
	written *process.Bounded // the unfinished message; nil: there is none
	partial *tasks.Delayed   // shows the unfinished message
	err     error            // the first error of showing it

	line []byte // the current one, for mistakes in it
}

func newStream(t terminal.Turn) *stream {
	s := &stream{Chat: t.Chat, formatOf: t.Final.FormatOf, maxOutput: t.MaxOutput}
	s.partial = tasks.NewDelayed(&s.mu, s.showPartial)
	return s
}

// Emit emits a frame. The timer emits frames, too, but none about a mistake.
func (s *stream) Emit(f terminal.Frame) error {
	if f.Mistake != nil {
		f.Mistake = terminal.NewMistake(f.Mistake.Kind, s.line)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.Chat.Emit(f)
}

// add appends to the message that the agent is writing. It does not wait for the network.
func (s *stream) add(text string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil || text == "" {
		return s.err
	}
	if s.written == nil {
		s.written = process.NewBounded(s.maxOutput/2, s.maxOutput/2)
	}
	before := len(s.written.Head())
	_, _ = s.written.Write([]byte(text))
	if before < maxPartial && len(s.written.Head()) > before {
		s.partial.Schedule(partialInterval)
	}
	return nil
}

// showPartial shows the message that the agent is writing. The caller holds mu.
func (s *stream) showPartial() {
	head := s.written.Head()
	// The end may be within a character.
	text := strings.ToValidUTF8(terminal.TrimText(string(head[:min(len(head), maxPartial)])), "")
	if text != "" {
		s.err = s.Chat.Emit(terminal.Frame{Kind: terminal.Partial, Text: text, Format: s.formatOf(text)})
	}
}

// finish ends the message that the agent is writing and returns its text. ok is false if the agent
// was writing none.
func (s *stream) finish() (text string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.written == nil {
		return "", false
	}
	text = terminal.TrimText(terminal.Clean(s.written.String()))
	s.written = nil
	s.partial.Cancel()
	return text, true
}

// send ends the message that the agent is writing and sends it. Before other messages it is silent.
func (s *stream) send(silent bool, end *terminal.FinalResponse) error {
	text, _ := s.finish()
	if text == "" {
		return nil
	}
	end.MarkShown()
	return s.Emit(terminal.Frame{Kind: terminal.Message, Text: text, Format: s.formatOf(text), Silent: silent})
}

// close ends the updates of an unfinished message.
func (s *stream) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.partial.Cancel()
}
