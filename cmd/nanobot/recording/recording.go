// Package recording records the turns of the daemon, each as a cassette in a folder. It knows the
// names of the files, removes old ones, and finds those of a person. The format is that of package
// cassette.
package recording

import (
	"slices"
	"strconv"
	"strings"
	"sync"

	"go.uber.org/zap"

	"nanobot/gateway/store"
	"nanobot/terminal"
	"nanobot/terminal/cassette"
)

const (
	// maxTurns bounds the latest turns whose sends are recorded. Most sends follow within seconds.
	maxTurns = 256
	// maxLearned bounds the secrets that people have told to agents, which later turns may repeat.
	maxLearned = 1000
)

// Agent is what an agent's turns are recorded with.
type Agent struct {
	// Path returns the path of the cassette of a turn, which may have earlier attempts at it.
	Path   func(req terminal.Request) (string, error)
	Header cassette.Header
	// Environ has variables, of which those with the name of a secret are redacted, Secrets has
	// secrets, and URLs may contain some.
	Environ, Secrets, URLs []string
}

// Recorder records the turns of all agents of the daemon. It outlives a reload.
type Recorder struct {
	log *zap.Logger

	mu      sync.Mutex
	turns   map[int64]*turn // the latest turns, by inbound message
	order   []int64         // their keys, the oldest first
	learned []string
	failing bool // the last recording has ended with an error, which was logged
}

// New returns a Recorder.
func New(log *zap.Logger) *Recorder { return &Recorder{log: log, turns: map[int64]*turn{}} }

// For returns the function that begins the recording of an agent's turns.
func (r *Recorder) For(a Agent) terminal.RecordFunc {
	return func(req terminal.Request, secret bool) terminal.Recording {
		return r.begin(a, req, secret)
	}
}

func (r *Recorder) begin(a Agent, req terminal.Request, secret bool) *turn {
	r.mu.Lock()
	if secret {
		r.learn(req.Text)
	}
	secrets := slices.Concat(a.Secrets, r.learned, []string{req.Token})
	r.mu.Unlock()
	redactor := cassette.NewRedactor(a.Environ, secrets...)
	for _, address := range a.URLs {
		redactor.AddURL(address)
	}
	t := &turn{recorder: r, agent: a, redactor: redactor, req: req, secret: secret, secretAnswers: map[int]bool{}}
	inbound, err := parseRun(req.RunID)
	if err != nil { // it is not of the daemon
		return t
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.turns[inbound] == nil {
		if r.order = append(r.order, inbound); len(r.order) > maxTurns {
			delete(r.turns, r.order[0])
			r.order = r.order[1:]
		}
	}
	r.turns[inbound] = t
	return t
}

// parseRun returns the number of the message of a turn, whose ID may end with a task.
func parseRun(id string) (int64, error) {
	number, _, _ := strings.Cut(id, ".")
	return strconv.ParseInt(number, 10, 64)
}

// learn redacts a text in later turns, too. The caller holds mu.
func (r *Recorder) learn(secret string) {
	if slices.Contains(r.learned, secret) {
		return
	}
	if r.learned = append(r.learned, secret); len(r.learned) > maxLearned {
		r.learned = r.learned[1:]
	}
}

// report logs the first of several errors. Turns go on without a record.
func (r *Recorder) report(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil && !r.failing {
		r.log.Warn("turn not recorded, it continues", zap.Error(err))
	}
	r.failing = err != nil
}

// Sending records that a delivery is sent for the first time.
func (r *Recorder) Sending(delivery store.Delivery) {
	w := r.writerOf(delivery)
	if w == nil || delivery.Tries > 1 {
		return
	}
	out := delivery.Out
	s := cassette.Send{
		ID: strconv.FormatInt(delivery.ID, 10), Kind: string(out.Kind), Text: out.Text, Format: string(out.Format),
	}
	for _, b := range out.Buttons {
		s.Buttons = append(s.Buttons, b.Label)
	}
	var files []cassette.File
	for _, f := range out.Media {
		files = append(files, cassette.File{Path: f.Name, Size: f.Size})
	}
	w.Send(s, files...)
}

// Settled records the result of a delivery.
func (r *Recorder) Settled(delivery store.Delivery, s store.Settlement) {
	if w := r.writerOf(delivery); w != nil && s.State != store.Pending {
		w.Receipt(cassette.Receipt{
			ID: strconv.FormatInt(delivery.ID, 10), MessageID: s.Receipt, State: string(s.State), Error: s.Reason,
		})
	}
}

// writerOf returns the writer of the turn that a delivery belongs to; nil: it is not recorded.
func (r *Recorder) writerOf(delivery store.Delivery) *cassette.Writer {
	r.mu.Lock()
	t := r.turns[delivery.Inbound]
	r.mu.Unlock()
	if t == nil {
		return nil
	}
	return t.writer.Load()
}
