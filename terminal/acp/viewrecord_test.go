package acp

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"nanobot/terminal"
	"nanobot/terminal/acp/acptest"
)

// doneText is the last message of a turn without an answer.
const doneText = "Done."

// recorder records the frames of a turn, and the content of their files when they are emitted.
type recorder struct {
	mu     sync.Mutex
	frames []terminal.Frame
	files  map[string]string // by name
	paths  []string
	fail   error
	shown  chan terminal.Frame // if not nil
}

func (r *recorder) emit(f terminal.Frame) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, path := range f.Media {
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		r.files[filepath.Base(path)] = string(data)
		r.paths = append(r.paths, path)
	}
	r.frames = append(r.frames, f)
	if r.shown != nil {
		r.shown <- f
	}
	return r.fail
}

func (r *recorder) texts(kind terminal.Kind) (texts []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, f := range r.frames {
		if f.Kind == kind {
			texts = append(texts, f.Text)
		}
	}
	return texts
}

// messages returns the message frames.
func (r *recorder) messages() (frames []terminal.Frame) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, f := range r.frames {
		if f.Kind == terminal.Message {
			frames = append(frames, f)
		}
	}
	return frames
}

// fold returns the one summary of the turn, which its last board has.
func (r *recorder) fold(t *testing.T) terminal.Fold {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	var fold *terminal.Fold
	for _, f := range r.frames {
		if f.Kind != terminal.Progress {
			continue
		}
		if fold != nil {
			t.Errorf("another board after the summary: %q", f.Text)
		}
		fold = f.Fold
	}
	if fold == nil {
		t.Fatal("there is no summary")
	}
	return *fold
}

func (r *recorder) last(kind terminal.Kind) string {
	texts := r.texts(kind)
	if len(texts) == 0 {
		return ""
	}
	return texts[len(texts)-1]
}

// newTurn returns a turn in a new folder, and the recorder of its frames.
func newTurn(t *testing.T) (terminal.Turn, *recorder) {
	t.Helper()
	dir := t.TempDir()
	user := filepath.Join(dir, "users", "1")
	if err := os.MkdirAll(user, 0o700); err != nil {
		t.Fatal(err)
	}
	r := &recorder{files: map[string]string{}}
	return terminal.Turn{
		Envelope: terminal.Envelope{UserDataDir: user}, Emit: r.emit,
		ExecEnv: func() terminal.ExecEnv {
			return terminal.ExecEnv{Dir: dir, Roots: []string{dir, user}, Env: os.Environ(), Shell: "/bin/sh"}
		},
	}, r
}

func sendUpdate(v *view, format string, args ...any) { v.update(fmt.Appendf(nil, format, args...)) }

func sendChunk(v *view, text, message string) {
	raw, _ := json.Marshal(map[string]any{
		"sessionUpdate": "agent_message_chunk", "messageId": message, "content": map[string]string{"type": "text", "text": text},
	})
	v.update(raw)
}

// splitEvery splits a text after every n characters.
func splitEvery(s string, n int) (pieces []string) {
	for i, r := range []rune(s) {
		if i%n == 0 {
			pieces = append(pieces, "")
		}
		pieces[len(pieces)-1] += string(r)
	}
	return pieces
}

func closeView(t *testing.T, v *view) {
	t.Helper()
	if err := v.flushAndClose(false); err != nil {
		t.Fatal(err)
	}
}

// checkSchema validates a value against the protocol's schema and returns its JSON.
func checkSchema(t *testing.T, shape string, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	if err := acptest.Check(shape, raw); err != nil {
		t.Error(err)
	}
	return string(raw)
}
