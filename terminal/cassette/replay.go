package cassette

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"nanobot/internal/words"
	"nanobot/terminal"
)

// ReplayOptions configures a Replay.
type ReplayOptions struct {
	// Workspace is an empty folder, which is the agent's workspace.
	Workspace string
	// Redactor removes the secrets of what the agent sends, as from the cassette.
	Redactor *Redactor
	// WordsFor returns the words for a language; "": unknown.
	WordsFor func(language string) words.Words
}

// Replay is the chat of a turn that repeats the last attempt of a cassette: it answers questions as
// they were answered, and records what the agent sends.
type Replay struct {
	terminal.NoChat
	recorded   []Line
	request    terminal.Request
	paths      *strings.Replacer // of paths of this turn by those of the cassette
	writer     *Writer
	injections chan terminal.Injection

	mu    sync.Mutex // also held while a line is written
	out   bytes.Buffer
	used  map[int]bool // the recorded questions that were asked
	sent  int          // messages and errors
	waits []waitingInjection
}

var _ terminal.Chat = (*Replay)(nil)

// waitingInjection is a message of a person that follows a number of messages of the agent.
type waitingInjection struct {
	after int
	terminal.Injection
}

// NewReplay prepares a turn that repeats a cassette. Its files are copied to the workspace.
func NewReplay(c *Cassette, o ReplayOptions) (*Replay, error) {
	lines, err := c.Attempt()
	if err != nil {
		return nil, err
	}
	r := &Replay{recorded: lines, used: map[int]bool{}}
	e := *lines[0].Envelope
	e.Channel, e.ChatID = cmp.Or(e.Channel, "replay"), cmp.Or(e.ChatID, "replay")
	if e.Account != "" {
		e.Channel += "." + e.Account
	}
	dir, err := terminal.UserDir(o.Workspace, e.Channel, e.ChatID)
	if err != nil {
		return nil, err
	}
	var pairs []string
	if e.Media, err = c.copyMedia(e.Media, lines[0].Files, dir, &pairs); err != nil {
		return nil, err
	}
	if e.ReplyTo != nil {
		quote := *e.ReplyTo
		if quote.Media, err = c.copyMedia(quote.Media, lines[0].Files, dir, &pairs); err != nil {
			return nil, err
		}
		e.ReplyTo = &quote
	}
	if err := r.addInjections(c, dir, &pairs); err != nil {
		return nil, err
	}
	if e.UserDataDir != "" {
		pairs = append(pairs, dir, e.UserDataDir)
	}
	if e.Workspace != "" {
		pairs = append(pairs, o.Workspace, e.Workspace)
	}
	r.paths = strings.NewReplacer(pairs...)
	language := ""
	if e.User != nil {
		language = e.User.Language
	}
	r.request = terminal.Request{Envelope: e, Words: o.WordsFor(language)}
	r.writer = NewWriter(WriterOptions{
		Out: &r.out, Header: &c.Header, Redactor: o.Redactor, FilesDir: filepath.Join(o.Workspace, "sent"),
	})
	return r, nil
}

// copyMedia copies files of a person, and adds their paths and those of the cassette to pairs.
func (c *Cassette) copyMedia(media []string, files []File, dir string, pairs *[]string) (paths []string, err error) {
	for _, path := range media {
		file := File{Path: path}
		if i := slices.IndexFunc(files, func(f File) bool { return f.Path == path }); i >= 0 {
			file = files[i]
		}
		copied, err := c.CopyFile(file, dir)
		if err != nil {
			return nil, err
		}
		paths, *pairs = append(paths, copied), append(*pairs, copied, path)
	}
	return paths, nil
}

func (r *Replay) addInjections(c *Cassette, dir string, pairs *[]string) error {
	sent := 0
	for _, l := range r.recorded {
		switch {
		case l.isSent():
			sent++
		case l.Type == TypeInject:
			media, err := c.copyMedia(l.Inject.Media, l.Files, dir, pairs)
			if err != nil {
				return err
			}
			r.waits = append(r.waits, waitingInjection{sent, terminal.Injection{
				Text: l.Inject.Text, Media: media, User: l.Inject.User, ReplyTo: l.Inject.ReplyTo,
				Forwarded: l.Inject.Forwarded,
			}})
		}
	}
	if r.waits != nil {
		r.injections = make(chan terminal.Injection, len(r.waits))
		r.sendInjections()
	}
	return nil
}

// sendInjections sends the injections whose time has come.
func (r *Replay) sendInjections() {
	for len(r.waits) > 0 && r.waits[0].after <= r.sent {
		r.injections <- r.waits[0].Injection // has room
		r.waits = r.waits[1:]
	}
}

// Request returns the request of the turn.
func (r *Replay) Request() terminal.Request { return r.request }

// Injections has what the person sent while the agent ran, after as many messages as then.
func (r *Replay) Injections() <-chan terminal.Injection { return r.injections }

// Emit records a frame.
func (r *Replay) Emit(f terminal.Frame) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	f.Text, f.Appended = r.paths.Replace(f.Text), r.paths.Replace(f.Appended)
	r.writer.Frame(f)
	if f.Kind == terminal.Message || f.Kind == terminal.Error {
		r.sent++
		r.sendInjections()
	}
	return nil
}

// Ask returns the recorded answer to the same question, or else to the next one.
func (r *Replay) Ask(_ context.Context, q terminal.Question) (terminal.Answer, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	q.Text = r.paths.Replace(q.Text)
	number := r.writer.Ask(q)
	text, best := r.writer.o.Redactor.Text(q.Text), 0
	for _, l := range r.recorded {
		if l.Type == TypeAsk && !r.used[l.Ask.Number] && (best == 0 || l.Ask.Text == text) {
			if best = l.Ask.Number; l.Ask.Text == text {
				break
			}
		}
	}
	r.used[best] = true
	err := terminal.ErrNobodyToAsk
	for _, l := range r.recorded {
		if l.Type != TypeAnswer || l.Answer.Number != best {
			continue
		}
		answer := terminal.Answer{Text: l.Answer.Text, Option: l.Answer.Option, By: l.Answer.By}
		if err = nil; l.Answer.Error != "" {
			answer, err = terminal.Answer{}, errors.New(l.Answer.Error)
		}
		r.writer.Answer(number, answer, err)
		return answer, err
	}
	return terminal.Answer{}, err
}

// Mode says what is compared.
type Mode string

// The modes.
const (
	// Exact compares texts, formats, buttons, progress, files by hash, and the exit code.
	Exact Mode = "exact"
	// Text compares texts without regard to white space, and the status.
	Text Mode = "text"
	// Shape compares the kinds and the number of messages and files, and the status.
	Shape Mode = "shape"
)

// Compare ends the turn with the result of Runner.Turn, and returns what the agent was recorded to
// send and what it has sent, as text. ended is false if the cassette has no end of the turn: then
// only as much as it has is compared.
func (r *Replay) Compare(mode Mode, out terminal.Outcome, err error) (before, after string, ended bool, _ error) {
	r.writer.Exit(out, err)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.writer.Err(); err != nil {
		return "", "", false, err
	}
	replayed, err := Parse("", &r.out)
	if err != nil {
		return "", "", false, fmt.Errorf("read what was recorded: %w", err)
	}
	want, got := mode.items(r.recorded), mode.items(replayed.Lines)
	ended = len(want.exit) > 0
	if !ended {
		got.exit = nil
		got.sent = got.sent[:min(len(want.sent), len(got.sent))]
		got.asked = got.asked[:min(len(want.asked), len(got.asked))]
	}
	return want.String(), got.String(), ended, nil
}

// isSent reports whether a line is a message or an error.
func (l *Line) isSent() bool {
	return l.Type == TypeFrame && (l.Frame.Type == terminal.Message || l.Frame.Type == terminal.Error)
}

// items are what a mode compares of a turn, each with its line end. An agent may go on while it
// asks, so the order of questions among messages is by chance, and so is that of questions which
// are open at the same time.
type items struct{ sent, asked, exit []string }

func (i items) String() string { return strings.Join(slices.Concat(i.sent, i.asked, i.exit), "") }

func (m Mode) items(lines []Line) (all items) {
	for _, l := range lines {
		switch {
		case l.isSent(), m == Exact && l.Type == TypeFrame && l.Frame.Type == terminal.Progress && !l.Frame.Board:
			all.sent = append(all.sent, m.message(string(l.Frame.Type), l.Frame.Text, l))
		case l.Type == TypeAsk:
			all.asked = append(all.asked, m.message("question", l.Ask.Text, l))
		case l.Type == TypeExit && m == Exact:
			exit := fmt.Sprintf("exit: %s %d %s", l.Exit.Status, l.Exit.Code, l.Exit.Signal)
			all.exit = []string{strings.TrimSpace(exit) + "\n"}
		case l.Type == TypeExit:
			all.exit = []string{fmt.Sprintf("exit: %s\n", l.Exit.Status)}
		}
	}
	slices.Sort(all.asked)
	return all
}

// message returns what is compared of a message.
func (m Mode) message(kind, text string, l Line) string {
	switch m {
	case Text:
		if text = strings.Join(strings.Fields(text), " "); text == "" {
			return ""
		}
		return kind + ": " + text + "\n"
	case Shape:
		return fmt.Sprintf("%s: %d files\n", kind, len(l.Files))
	case Exact:
	}
	var b strings.Builder
	b.WriteString(kind)
	if l.Frame != nil {
		if l.isSent() {
			fmt.Fprintf(&b, " %s", cmp.Or(l.Frame.Format, "markdown"))
		}
		if l.Frame.Silent {
			b.WriteString(" silent")
		}
		if l.Frame.Code != "" {
			fmt.Fprintf(&b, " (%s)", l.Frame.Code)
		}
	}
	b.WriteString(":\n")
	for line := range strings.SplitSeq(text, "\n") {
		b.WriteString("  " + line + "\n")
	}
	var options []string
	if l.Frame != nil {
		options = l.Frame.Buttons
		if l.Frame.Screen != "" {
			b.WriteString("  screen:\n  " + strings.ReplaceAll(l.Frame.Screen, "\n", "\n  ") + "\n")
		}
	} else {
		options = l.Ask.Options
	}
	for _, option := range options {
		fmt.Fprintf(&b, "  button: %q\n", option)
	}
	for _, f := range l.Files {
		fmt.Fprintf(&b, "  file: %d bytes, sha256 %s\n", f.Size, f.SHA256)
	}
	return b.String()
}
