package dev

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"go.uber.org/zap"

	"nanobot/channels/web/page"
	"nanobot/config"
	"nanobot/internal/lazyregexp"
	"nanobot/internal/words"
	"nanobot/terminal/cassette"
)

const (
	// maxShown is how many bytes of a cassette the page shows. The rest is in the file.
	maxShown = 256 << 10
	// maxRequest is the longest request.
	maxRequest = 4 << 10
)

// Page serves the last recorded turn, the script that shows it, and saves it as a test.
type Page struct {
	// Folder has the cassettes of the daemon, and Tests is for those that are saved.
	Folder, Tests string
	// Replay is the command that replays a cassette, without its path.
	Replay string
	Words  *words.Catalogue
	Log    *zap.Logger

	mu    sync.Mutex
	note  *words.Error
	noted string // the last turn when note was set; later ones have nothing to do with it
	runs  int    // of messages that were run again
}

// RunAgain removes the record of a message that is about to run again: one cassette has all runs of
// a message.
func (p *Page) RunAgain(inbound int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.runs++
	recorded, _ := fs.Glob(os.DirFS(p.Folder), strconv.FormatInt(inbound, 10)+"-*"+cassette.Suffix) // the pattern is right
	for _, name := range recorded {
		path := filepath.Join(p.Folder, name)
		_ = os.RemoveAll(cassette.FilesDir(path))
		_ = os.Remove(path) // otherwise the page shows both runs
	}
}

// SetNote has the page show what has become of the last change.
func (p *Page) SetNote(note *words.Error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.note = note
	p.noted, _ = p.lastTurn() // read says why it cannot be found
}

// Handlers returns the handlers by their patterns. They do not check access, which is up to the
// server.
func (p *Page) Handlers() map[string]http.Handler {
	handle := func(f func(*http.Request) (any, error)) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { p.serveJSON(w, r, f) })
	}
	file := func(name, kind string) http.Handler { // whatever the machine says of such files
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", kind+"; charset=utf-8")
			http.ServeFileFS(w, r, page.DevFiles, name)
		})
	}
	return map[string]http.Handler{
		"GET /api/dev": handle(p.read), "POST /api/dev": handle(p.save),
		"GET /dev/dev.js": file("dev/dev.js", "text/javascript"), "GET /dev/dev.css": file("dev/dev.css", "text/css"),
	}
}

// refusal is an error for the person.
type refusal struct {
	status int
	code   string // for the script; "": none
	text   *words.Error
}

func (r refusal) Error() string { return r.text.Error() }

func refuse(status int, code string, key words.Key, values ...any) error {
	return refusal{status, code, words.NewError(key, values...)}
}

func (p *Page) serveJSON(w http.ResponseWriter, r *http.Request, f func(*http.Request) (any, error)) {
	r.Body = http.MaxBytesReader(w, r.Body, maxRequest)
	response, err := f(r)
	status := http.StatusOK
	if err != nil {
		refused := refusal{http.StatusServiceUnavailable, "", words.NewError(words.PageFailed)}
		if !errors.As(err, &refused) {
			p.Log.Error("request failed", zap.String("path", r.URL.Path), zap.Error(err))
		}
		body := map[string]string{"error": p.wordsFor(r).Reason(refused.text)}
		if refused.code != "" {
			body["code"] = refused.code
		}
		status, response = refused.status, body
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(response) // the client may have disconnected
}

func (p *Page) wordsFor(r *http.Request) words.Words {
	first, _, _ := strings.Cut(r.Header.Get("Accept-Language"), ",")
	return p.Words.For(first)
}

// part is the next part of the last turn.
type part struct {
	Turn  string            `json:"turn"`  // name of its cassette, and how often it ran again; "": there is none
	After int64             `json:"after"` // where the next part begins
	Lines []json.RawMessage `json:"lines"`
	Left  int64             `json:"left,omitempty"` // bytes that are only in the file
	Note  string            `json:"note,omitempty"`
}

// read returns what is new in the last turn since an earlier response.
func (p *Page) read(r *http.Request) (any, error) {
	response := part{Lines: []json.RawMessage{}}
	name, err := p.lastTurn()
	p.mu.Lock()
	if p.note != nil && p.noted == name {
		response.Note = p.wordsFor(r).Reason(p.note)
	}
	runs := strconv.Itoa(p.runs)
	p.mu.Unlock()
	if err != nil || name == "" {
		return response, err
	}
	response.Turn = name + "." + runs
	if r.FormValue("turn") == response.Turn {
		response.After, _ = strconv.ParseInt(r.FormValue("after"), 10, 64)
	}
	f, err := os.Open(p.path(name))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	response.After = min(max(response.After, 0), maxShown, info.Size())
	b := make([]byte, min(maxShown, info.Size())-response.After)
	if _, err := f.ReadAt(b, response.After); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	b = b[:bytes.LastIndexByte(b, '\n')+1] // the next line is being written
	for line := range bytes.Lines(b) {
		if json.Valid(line) {
			response.Lines = append(response.Lines, line)
		}
	}
	if response.After += int64(len(b)); info.Size() > maxShown {
		response.Left = info.Size() - response.After
	}
	return response, nil
}

// lastTurn returns the name of the newest cassette, or "".
func (p *Page) lastTurn() (string, error) {
	entries, err := os.ReadDir(p.Folder)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	var newest os.FileInfo
	for _, entry := range entries {
		info, err := entry.Info()
		if err == nil && info.Mode().IsRegular() && strings.HasSuffix(info.Name(), cassette.Suffix) &&
			(newest == nil || info.ModTime().After(newest.ModTime())) {
			newest = info
		}
	}
	if newest == nil {
		return "", err
	}
	return cassette.Name(newest.Name()), err
}

func (p *Page) path(turn string) string { return filepath.Join(p.Folder, turn+cassette.Suffix) }

// testName matches the names that a test can have.
var testName = lazyregexp.New(`^[\pL\pN][\pL\pN._-]{0,59}$`)

// save copies a turn that has ended into the folder of the tests.
func (p *Page) save(r *http.Request) (any, error) {
	var request struct{ Turn, Name string }
	if json.NewDecoder(r.Body).Decode(&request) != nil || !testName().MatchString(request.Name) {
		return nil, refuse(http.StatusBadRequest, "name", words.DevBadName)
	}
	name, runs, _ := strings.Cut(request.Turn, ".")
	p.mu.Lock()
	gone := filepath.Base(name) != name || runs != strconv.Itoa(p.runs)
	p.mu.Unlock()
	if gone {
		return nil, refuse(http.StatusNotFound, "", words.DevGone)
	}
	from, err := os.Open(p.path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, refuse(http.StatusNotFound, "", words.DevGone)
	}
	if err != nil {
		return nil, err
	}
	defer from.Close()
	agent, ended := readEnd(from)
	if !ended {
		return nil, refuse(http.StatusConflict, "", words.DevRunning)
	}
	path := filepath.Join(p.Tests, request.Name+cassette.Suffix)
	if err := os.MkdirAll(p.Tests, 0o755); err != nil {
		return nil, err
	}
	to, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil, refuse(http.StatusConflict, "name", words.DevExists, request.Name)
	}
	if err != nil {
		return nil, err
	}
	if err := errors.Join(copyCassette(from, to), to.Close()); err != nil {
		_ = os.Remove(path)
		return nil, err
	}
	command := p.Replay
	if agent != config.DefaultAgent {
		command += " --agent " + agent
	}
	return map[string]string{"command": command + " " + path}, nil
}

// readEnd returns the agent of a cassette, and whether the last attempt at its turn has ended.
func readEnd(f *os.File) (agent string, ended bool) {
	for lines := json.NewDecoder(f); ; {
		var line struct {
			Type  cassette.Type
			Agent string
		}
		if lines.Decode(&line) != nil {
			return agent, ended
		}
		agent = cmp.Or(agent, line.Agent)
		ended = line.Type == cassette.TypeExit || ended && line.Type != cassette.TypeEnvelope
	}
}

// copyCassette copies a cassette and its files.
func copyCassette(from, to *os.File) error {
	if _, err := from.Seek(0, io.SeekStart); err != nil {
		return err
	}
	if _, err := io.Copy(to, from); err != nil {
		return err
	}
	files, copies := cassette.FilesDir(from.Name()), cassette.FilesDir(to.Name())
	if _, err := os.Stat(files); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := os.MkdirAll(copies, 0o700); err != nil { // CopyFS makes files that others can read
		return err
	}
	return os.CopyFS(copies, os.DirFS(files))
}
