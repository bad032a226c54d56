package recording

import (
	"sync"
	"sync/atomic"

	"nanobot/terminal"
	"nanobot/terminal/cassette"
)

// turn is the recording of one turn. Its cassette begins with the envelope: what nanobot says
// before is not the agent's.
type turn struct {
	recorder *Recorder
	agent    Agent
	redactor *cassette.Redactor
	secret   bool
	req      terminal.Request
	tape     *tape
	writer   atomic.Pointer[cassette.Writer] // nil before the envelope, and if there is no cassette

	mu            sync.Mutex
	secretAnswers map[int]bool // by the number of the question
}

var _ terminal.Recording = (*turn)(nil)

// Envelope begins the cassette.
func (t *turn) Envelope(e terminal.Envelope) {
	path, err := t.agent.Path(t.req)
	var tape *tape
	var fresh bool
	if err == nil {
		tape, fresh, err = beginTape(path)
	}
	if t.recorder.report(err); err != nil {
		return
	}
	t.tape = tape
	o := cassette.WriterOptions{
		Out: tape, Redactor: t.redactor, FilesDir: cassette.FilesDir(tape.path), OnError: t.recorder.report,
	}
	if fresh {
		o.Header = &t.agent.Header
	}
	w := cassette.NewWriter(o)
	if t.secret {
		e.Text = cassette.Redacted
	}
	w.Envelope(e)
	t.writer.Store(w)
}

func (t *turn) Frame(f terminal.Frame) {
	if w := t.writer.Load(); w != nil {
		w.Frame(f)
	}
}

func (t *turn) Ask(q terminal.Question) (number int) {
	w := t.writer.Load()
	if w == nil {
		return 0
	}
	number = w.Ask(q)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.secretAnswers[number] = q.Secret
	return number
}

func (t *turn) Answer(number int, a terminal.Answer, err error) {
	t.mu.Lock()
	secret := t.secretAnswers[number]
	t.mu.Unlock()
	if secret && a.Text != "" {
		t.recorder.mu.Lock()
		t.recorder.learn(a.Text)
		t.recorder.mu.Unlock()
	}
	if w := t.writer.Load(); w != nil {
		w.Answer(number, a, err)
	}
}

func (t *turn) Inject(in terminal.Injection) {
	if w := t.writer.Load(); w != nil {
		w.Inject(in)
	}
}

// Exit ends the recording. What is sent later is added.
func (t *turn) Exit(out terminal.Outcome, err error) {
	if w := t.writer.Load(); w != nil {
		w.Exit(out, err)
		t.tape.close()
	}
}
