package acptest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"nanobot/internal/musttest"
	"nanobot/terminal"
	"nanobot/terminal/protocoltest"
)

// Recorder records the frames of a turn, and the content of their files when they are emitted.
type Recorder struct {
	protocoltest.Chat
	mu     sync.Mutex
	Frames []terminal.Frame
	Files  map[string]string // by name
	Paths  []string
	Fail   error               // is returned by Emit
	Shown  chan terminal.Frame // if not nil, gets every frame
}

// Emit records a frame.
func (r *Recorder) Emit(f terminal.Frame) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, path := range f.Media {
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		r.Files[filepath.Base(path)] = string(data)
		r.Paths = append(r.Paths, path)
	}
	r.Frames = append(r.Frames, f)
	if r.Shown != nil {
		r.Shown <- f
	}
	return r.Fail
}

// Texts returns the texts of the frames of a kind.
func (r *Recorder) Texts(kind terminal.Kind) (texts []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, f := range r.Frames {
		if f.Kind == kind {
			texts = append(texts, f.Text)
		}
	}
	return texts
}

// Messages returns the message frames.
func (r *Recorder) Messages() (frames []terminal.Frame) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, f := range r.Frames {
		if f.Kind == terminal.Message {
			frames = append(frames, f)
		}
	}
	return frames
}

// Fold returns the one summary of the turn, which its last board has.
func (r *Recorder) Fold(t *testing.T) terminal.Fold {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	var fold *terminal.Fold
	for _, f := range r.Frames {
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

// Last returns the text of the last frame of a kind, or "".
func (r *Recorder) Last(kind terminal.Kind) string {
	texts := r.Texts(kind)
	if len(texts) == 0 {
		return ""
	}
	return texts[len(texts)-1]
}

// NewTurn returns a turn in a new folder, and the Recorder of its frames.
func NewTurn(t *testing.T) (terminal.Turn, *Recorder) {
	t.Helper()
	dir := t.TempDir()
	user := filepath.Join(dir, "users", "1")
	musttest.Do(t, os.MkdirAll(user, 0o700))
	r := &Recorder{Files: map[string]string{}}
	return terminal.Turn{
		Envelope: terminal.Envelope{UserDataDir: user}, Chat: r,
		Host: Host{Env: terminal.ExecEnv{Dir: dir, Roots: []string{dir, user}, Env: os.Environ(), Shell: "/bin/sh"}},
	}, r
}

// Host is a terminal.Host with an execution environment. It finds no links and starts nothing.
type Host struct {
	terminal.Host
	Env terminal.ExecEnv
}

// ExecEnv returns Env.
func (h Host) ExecEnv() terminal.ExecEnv { return h.Env }

// FindLinks returns nil.
func (Host) FindLinks(string) []terminal.Link { return nil }

// CheckSchema validates a value against the protocol's schema and returns its JSON.
func CheckSchema(t *testing.T, shape string, v any) string {
	t.Helper()
	raw := musttest.Get(json.Marshal(v))(t)
	if err := Check(shape, raw); err != nil {
		t.Error(err)
	}
	return string(raw)
}
