package rich

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"nanobot/terminal"
)

// askKind is the type of a frame that is a question. It is an addition to Terminal Protocol v1 and
// never emitted.
const askKind terminal.Kind = "ask"

// maxOpen bounds how many questions of one turn are open: nobody answers more, and each holds a
// goroutine.
const maxOpen = 64

// question is a question with its id as the agent wrote it.
type question struct {
	terminal.Question
	raw json.RawMessage // nil: the agent gave none
}

// question returns the fields of an ask frame. It keeps nothing of the line.
func (f *fields) question() question {
	q := question{Question: terminal.Question{ID: f.id.text(), Text: f.text.text(), Options: f.options.list()}}
	// A number goes back as a number, because an agent compares. What nests is more than
	// encoding/json may take.
	if q.ID != "" && f.id[0] != '{' && f.id[0] != '[' {
		q.raw = append(q.raw, f.id...)
	}
	return q
}

// answer is the line that answers a question.
type answer struct {
	Type  string          `json:"type"`
	ID    json.RawMessage `json:"id"`
	Text  string          `json:"text"`
	Error string          `json:"error,omitempty"`
}

// injection is the line for what the person wrote meanwhile.
type injection struct {
	Type    string   `json:"type"`
	Version int      `json:"version"`
	Text    string   `json:"text"`
	Media   []string `json:"media"`
}

// talk is what is said to one agent while it runs.
type talk struct {
	turn   terminal.Turn
	stdin  io.Writer
	work   sync.WaitGroup
	asked  int // questions so far, to name those without an id
	open   atomic.Int32
	unread int // set by end

	mu   sync.Mutex // held while somebody writes, so that lines go out whole and are counted in order
	said int        // bytes that stdin took
	ends []int      // what said was to be behind each injection
}

// ask puts a question to the person, and the answer on the agent's stdin, without keeping the
// agent's output waiting.
func (k *talk) ask(ctx context.Context, q question) error {
	k.asked++
	if q.ID == "" {
		q.ID = fmt.Sprintf("ask-%d", k.asked)
	}
	if !k.turn.Interactive {
		return refuse(k.turn, q)
	}
	if k.open.Add(1) > maxOpen {
		k.open.Add(-1)
		return warn(k.turn, fmt.Sprintf("ask frame %.40q ignored: %d questions are open", q.ID, maxOpen))
	}
	k.work.Go(func() {
		defer k.open.Add(-1)
		k.say(k.answer(ctx, q), false)
	})
	return nil
}

func (k *talk) answer(ctx context.Context, q question) answer {
	a := answer{Type: "answer", ID: q.raw}
	if a.ID == nil {
		a.ID, _ = json.Marshal(q.ID) // of a string this cannot fail
	}
	// What a dead agent printed last is still read, but nobody is to be bothered with it.
	err := ctx.Err()
	if err == nil {
		var got terminal.Answer
		got, err = k.turn.Ask(ctx, q.Question)
		a.Text = got.Text
	}
	if err != nil {
		a.Text, a.Error = "", "timeout"
	}
	return a
}

// inject passes on what the person writes, one at a time: while the agent does not read, the next
// stays where it is, and whoever put it there can still take it back.
func (k *talk) inject(ctx context.Context) {
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
			return
		case in, ok := <-k.turn.Injections:
			if !ok {
				return
			}
			line := injection{Type: "inject", Version: terminal.Version, Text: in.Text, Media: []string{}}
			if k.turn.PassMedia {
				line.Media = append(line.Media, in.Media...)
			}
			if !k.say(line, true) {
				return
			}
		}
	}
}

// say writes one line and reports whether stdin took it. An agent that does not listen is no error.
func (k *talk) say(v any, injected bool) bool {
	line, err := terminal.EncodeLine(v)
	if err != nil {
		return false // not with the types above, whose raw part has been scanned
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if injected {
		k.ends = append(k.ends, k.said+len(line))
	}
	n, err := k.stdin.Write(line)
	k.said += n
	return err == nil
}

// end waits for all that is under way and counts the injections that the agent never read whole.
func (k *talk) end(ended terminal.AgentExit) {
	k.work.Wait()
	read := k.said - ended.Unread
	for i := len(k.ends) - 1; i >= 0 && k.ends[i] > read; i-- {
		k.unread++
	}
}

// refuse says in the log why nobody was asked.
func refuse(t terminal.Turn, q question) error {
	return warn(t, fmt.Sprintf("ask frame %.40q ignored: terminal.interactive is off", q.ID))
}
