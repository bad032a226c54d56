package cassette

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"nanobot/internal/diskspace"
	"nanobot/internal/nofollow"
	"nanobot/terminal"
)

// MaxFile is the size of the largest file that is copied. Larger ones would delay the turn.
const MaxFile = 64 << 20

// WriterOptions configures a Writer.
type WriterOptions struct {
	// Out gets each line by one Write.
	Out io.Writer
	// Header is the first line; nil: Out continues a cassette.
	Header *Header
	// Redactor removes secrets.
	Redactor *Redactor
	// FilesDir is the folder that files are copied to, which is made if there are any; "": files
	// are not copied.
	FilesDir string
	// Began is when the turn began; zero: now.
	Began time.Time
	// OnError, if not nil, is called once, when the first error ends the recording.
	OnError func(error)
}

// Writer writes the lines of a turn. Its methods never fail: the first error ends the recording. It
// is safe for concurrent use.
type Writer struct {
	o       WriterOptions
	mu      sync.Mutex
	err     error
	root    string // a folder around the files of the turn's chat
	secrets []bool // for each question, whether its answer is secret
	seen    int    // length of the message that the agent is writing, when it was written last
	partial string // what was written of it, without secrets
}

var _ terminal.Recording = (*Writer)(nil)

// NewWriter returns a Writer that has written the header.
func NewWriter(o WriterOptions) *Writer {
	if o.Began.IsZero() {
		o.Began = time.Now()
	}
	if o.Redactor == nil {
		o.Redactor = NewRedactor(nil)
	}
	w := &Writer{o: o}
	if o.Header != nil {
		h := *o.Header
		h.Type, h.Version = TypeCassette, Version
		w.mu.Lock()
		defer w.mu.Unlock()
		w.encode(h)
	}
	return w
}

// Err returns the error that has ended the recording.
func (w *Writer) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// Envelope writes the message that the agent gets. Its files are copied.
func (w *Writer) Envelope(e terminal.Envelope) {
	w.mu.Lock()
	w.root = e.Workspace
	if e.UserDataDir != "" && !nofollow.Within(e.Workspace, e.UserDataDir) { // the chat has a worktree
		w.root = filepath.Dir(e.UserDataDir)
	}
	w.mu.Unlock()
	w.write(Line{Type: TypeEnvelope, Envelope: &e, Files: w.copyPaths(e.Media, e.ReplyTo)})
}

// Frame writes a frame that the chat gets. The files that are sent are copied.
func (w *Writer) Frame(f terminal.Frame) {
	switch f.Kind {
	case terminal.Partial:
		if f.Text = w.addition(f.Text); f.Text == "" {
			return
		}
	case terminal.Message, terminal.Error:
		w.mu.Lock()
		w.seen, w.partial = 0, ""
		w.mu.Unlock()
	case terminal.Progress, terminal.Log:
	}
	out := &Frame{
		Type: f.Kind, Text: f.Text, Buttons: f.Choices, Silent: f.Silent, Code: f.Code, Level: f.Level,
		Format: f.Format, Board: f.Board, Own: f.Own, Appended: f.Appended, Screen: screenText(f.Screen),
	}
	l := Line{Type: TypeFrame, Frame: out}
	for _, checked := range f.Checked {
		l.Files = append(l.Files, w.copyFile(checked.Path, checked.Open))
		out.Media = append(out.Media, checked.Path)
	}
	w.write(l)
}

// addition returns what is new in the beginning of a message; "": nothing is to be written. All of
// it is redacted again, so it must have grown by half: then a message is redacted three times.
func (w *Writer) addition(text string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(text) > w.seen && len(text)-w.seen < w.seen/2 {
		return ""
	}
	w.seen = len(text)
	more, ok := strings.CutPrefix(w.o.Redactor.Partial(text), w.partial)
	if !ok { // the agent has changed what it has written before
		return ""
	}
	w.partial += more
	return more
}

// Ask writes a question and returns its number.
func (w *Writer) Ask(q terminal.Question) (number int) {
	w.mu.Lock()
	w.secrets = append(w.secrets, q.Secret)
	number = len(w.secrets)
	w.mu.Unlock()
	w.write(Line{Type: TypeAsk, Ask: &Ask{
		Number: number, ID: w.o.Redactor.Text(q.ID), Text: q.Text, Options: q.Options, Approval: q.Approval, Secret: q.Secret,
	}})
	return number
}

// Answer writes the result of Chat.Ask. A secret answer is redacted from now on.
func (w *Writer) Answer(number int, a terminal.Answer, err error) {
	w.mu.Lock()
	secret := number > 0 && number <= len(w.secrets) && w.secrets[number-1]
	w.mu.Unlock()
	if secret && a.Text != "" {
		w.o.Redactor.Add(a.Text)
		a.Text = Redacted
	}
	w.write(Line{Type: TypeAnswer, Answer: &Answer{
		Number: number, Text: a.Text, Option: a.Option, By: a.By, Error: errorText(err),
	}})
}

// Inject writes a message to the running turn. Its files are copied.
func (w *Writer) Inject(in terminal.Injection) {
	w.write(Line{Type: TypeInject, Files: w.copyPaths(in.Media, in.ReplyTo), Inject: &Inject{
		Text: in.Text, Media: in.Media, User: in.User, ReplyTo: in.ReplyTo, Forwarded: in.Forwarded,
	}})
}

// Send writes a network call. Its files are those of earlier frames and are not copied again.
func (w *Writer) Send(s Send, files ...File) { w.write(Line{Type: TypeSend, Send: &s, Files: files}) }

// Receipt writes the result of a Send.
func (w *Writer) Receipt(r Receipt) { w.write(Line{Type: TypeReceipt, Receipt: &r}) }

// Exit writes the end of the turn: the result of Runner.Turn.
func (w *Writer) Exit(out terminal.Outcome, err error) {
	w.write(Line{Type: TypeExit, Exit: &Exit{
		Status: out.Status, Code: out.ExitCode, Signal: out.Signal, Stderr: out.Stderr, Error: errorText(err),
	}})
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func (w *Writer) write(l Line) {
	w.mu.Lock()
	defer w.mu.Unlock()
	l.At = time.Since(w.o.Began).Milliseconds()
	l, err := w.o.Redactor.line(l)
	w.failed(err)
	w.encode(l)
}

// encode writes one line. The caller holds mu.
func (w *Writer) encode(v any) {
	if w.err != nil {
		return
	}
	line, err := terminal.EncodeLine(v)
	if err == nil {
		_, err = w.o.Out.Write(line)
	}
	w.failed(err)
}

// failed ends the recording after an error. The caller holds mu.
func (w *Writer) failed(err error) {
	if err == nil || w.err != nil {
		return
	}
	w.err = fmt.Errorf("record turn: %w", err)
	if w.o.OnError != nil {
		w.o.OnError(w.err)
	}
}

// screenText returns the text of a screen, without blank ends of lines.
func screenText(s *terminal.Screen) string {
	if s == nil {
		return ""
	}
	var text strings.Builder
	for _, row := range s.Lines {
		var line strings.Builder
		for _, run := range row {
			line.WriteString(run.Text)
		}
		text.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	return strings.TrimRight(text.String(), "\n")
}

// copyPaths copies the files of a message. A file that is gone has no hash.
func (w *Writer) copyPaths(paths []string, quote *terminal.Quote) (files []File) {
	if quote != nil {
		paths = slices.Concat(paths, quote.Media)
	}
	for _, path := range paths {
		open, err := w.openReceived(path)
		if err != nil {
			files = append(files, File{Path: path})
			continue
		}
		files = append(files, w.copyFile(path, open))
		_ = open.Close()
	}
	return files
}

// openReceived opens a file that a person has sent. Agents can write below the workspace, so a link
// there may lead to a file that they cannot read themselves.
func (w *Writer) openReceived(path string) (*os.File, error) {
	w.mu.Lock()
	root := w.root
	w.mu.Unlock()
	within, err := filepath.Rel(root, path)
	if root == "" || err != nil || !filepath.IsLocal(within) {
		return openRegular(path, syscall.O_NOFOLLOW)
	}
	if root, err = filepath.EvalSymlinks(root); err != nil {
		return nil, err
	}
	return nofollow.Open(filepath.Join(root, within)) // copyFile checks that it is a regular file
}

// copyFile copies an open file without moving its offset.
func (w *Writer) copyFile(path string, open *os.File) File {
	file := File{Path: path}
	info, err := open.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return file
	}
	file.Size = info.Size()
	if w.o.FilesDir == "" || w.Err() != nil || file.Size > MaxFile {
		return file
	}
	if file.SHA256, err = copyInto(w.o.FilesDir, io.NewSectionReader(open, 0, file.Size)); err != nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.failed(err)
	}
	return file
}

// copyInto copies a file into a folder, under the hash of its content, which it returns.
func copyInto(dir string, from io.Reader) (hash string, err error) {
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	temp, err := os.CreateTemp(dir, ".part-") // with mode 0600
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	_, err = io.Copy(io.MultiWriter(diskspace.Writer(temp), sum), from)
	if err = errors.Join(err, temp.Close()); err == nil {
		hash = hex.EncodeToString(sum.Sum(nil))
		err = os.Rename(temp.Name(), filepath.Join(dir, hash))
	}
	if err != nil {
		_ = os.Remove(temp.Name())
		return "", err
	}
	return hash, nil
}
