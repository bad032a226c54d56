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
	secrets []bool // for each question, whether its answer is secret
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
	files := w.copyPaths(slices.Concat(e.Media, quotedMedia(e.ReplyTo)))
	e = w.o.Redactor.envelope(e)
	w.write(Line{Type: TypeEnvelope, Envelope: &e, Files: files})
}

// Frame writes a frame that the chat gets. The files that are sent are copied.
func (w *Writer) Frame(f terminal.Frame) {
	out := &Frame{
		Type: f.Kind, Text: f.Text, Buttons: f.Choices, Silent: f.Silent, Code: f.Code, Level: f.Level,
		Format: f.Format, Board: f.Board, Own: f.Own, Appended: f.Appended,
	}
	if f.Screen != nil {
		out.Screen = screenText(f.Screen)
	}
	var files []File
	for _, checked := range f.Checked {
		file := w.copyFile(checked.Path, checked.Open)
		files, out.Media = append(files, file), append(out.Media, file.Path)
	}
	w.o.Redactor.frame(out)
	w.write(Line{Type: TypeFrame, Frame: out, Files: files})
}

// Ask writes a question and returns its number.
func (w *Writer) Ask(q terminal.Question) (number int) {
	w.mu.Lock()
	w.secrets = append(w.secrets, q.Secret)
	number = len(w.secrets)
	w.mu.Unlock()
	w.write(Line{Type: TypeAsk, Ask: &Ask{
		Number: number, ID: q.ID, Text: w.o.Redactor.Text(q.Text), Options: w.o.Redactor.texts(q.Options),
		Approval: q.Approval, Secret: q.Secret,
	}})
	return number
}

// Answer writes the result of Chat.Ask. A secret answer is redacted from now on.
func (w *Writer) Answer(number int, a terminal.Answer, err error) {
	w.mu.Lock()
	secret := number > 0 && number <= len(w.secrets) && w.secrets[number-1]
	w.mu.Unlock()
	if secret {
		w.o.Redactor.Add(a.Text)
	}
	out := &Answer{Number: number, Text: w.o.Redactor.Text(a.Text), Option: a.Option, By: a.By}
	if secret && a.Text != "" {
		out.Text = Redacted
	}
	if err != nil {
		out.Error = w.o.Redactor.Text(err.Error())
	}
	w.write(Line{Type: TypeAnswer, Answer: out})
}

// Inject writes a message to the running turn. Its files are copied.
func (w *Writer) Inject(in terminal.Injection) {
	files := w.copyPaths(slices.Concat(in.Media, quotedMedia(in.ReplyTo)))
	e := w.o.Redactor.envelope(terminal.Envelope{
		Text: in.Text, Media: in.Media, User: in.User, ReplyTo: in.ReplyTo, Forwarded: in.Forwarded,
	})
	w.write(Line{Type: TypeInject, Files: files, Inject: &Inject{
		Text: e.Text, Media: e.Media, User: e.User, ReplyTo: e.ReplyTo, Forwarded: e.Forwarded,
	}})
}

// Send writes a network call. Its files are those of earlier frames and are not copied again.
func (w *Writer) Send(s Send, files ...File) {
	s.Text, s.Buttons = w.o.Redactor.Text(s.Text), w.o.Redactor.texts(s.Buttons)
	for i := range files {
		files[i].Path = w.o.Redactor.Text(files[i].Path)
	}
	w.write(Line{Type: TypeSend, Send: &s, Files: files})
}

// Receipt writes the result of a Send.
func (w *Writer) Receipt(r Receipt) {
	r.Error = w.o.Redactor.Text(r.Error)
	w.write(Line{Type: TypeReceipt, Receipt: &r})
}

// Exit writes the end of the turn: the result of Runner.Turn.
func (w *Writer) Exit(out terminal.Outcome, err error) {
	e := &Exit{Status: out.Status, Code: out.ExitCode, Signal: out.Signal, Stderr: w.o.Redactor.Text(out.Stderr)}
	if err != nil {
		e.Error = w.o.Redactor.Text(err.Error())
	}
	w.write(Line{Type: TypeExit, Exit: e})
}

func (w *Writer) write(l Line) {
	w.mu.Lock()
	defer w.mu.Unlock()
	l.At = time.Since(w.o.Began).Milliseconds()
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

func quotedMedia(q *terminal.Quote) []string {
	if q == nil {
		return nil
	}
	return q.Media
}

// copyPaths copies the files of a message. A file that is gone has no hash.
func (w *Writer) copyPaths(paths []string) (files []File) {
	for _, path := range paths {
		open, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0) // a FIFO would block
		if err != nil {
			files = append(files, File{Path: w.o.Redactor.Text(path)})
			continue
		}
		files = append(files, w.copyFile(path, open))
		_ = open.Close()
	}
	return files
}

// copyFile copies an open file without moving its offset.
func (w *Writer) copyFile(path string, open *os.File) File {
	file := File{Path: w.o.Redactor.Text(path)}
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
	_, err = io.Copy(io.MultiWriter(temp, sum), from)
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
