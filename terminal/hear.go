package terminal

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"go.uber.org/zap"

	"nanobot/config"
	"nanobot/internal/words"
	"nanobot/terminal/process"
)

// Heard is what a command of terminal.hear has made of a file that the person sent.
type Heard struct {
	File string `json:"file"`
	Text string `json:"text"`
	// Name is how people know the file, and Problem, in their language, why there is no text.
	Name    string `json:"-"`
	Problem string `json:"-"`
}

const (
	// maxHeard is how much output of a command becomes text, in bytes.
	maxHeard = 64 << 10
	// maxHeardMemory limits the texts that a chat's memory has for its files together, in bytes.
	maxHeardMemory = 256 << 10
	// progressDelay is how long a command runs before people see that it does.
	progressDelay = 2 * time.Second
	// maxReason limits the last line of stderr in a message, and maxName the name of a file, in
	// characters.
	maxReason, maxName = 200, 60
)

var (
	errBinary  = words.NewError(words.HeardBinary)
	errNothing = words.NewError(words.HeardNothing)
	errFailed  = words.NewError(words.HeardFailed)
	errSlow    = words.NewError(words.HeardSlow)
)

// hearCommand returns the command for files of a type; "": there is none. The most exact pattern
// counts.
func (r *Runner) hearCommand(path, name string) string {
	if len(r.o.Config.Hear) == 0 || r.o.TypeOf == nil {
		return ""
	}
	kind := r.o.TypeOf(path, name)
	major, _, _ := strings.Cut(kind, "/")
	for _, pattern := range []string{kind, major + "/*", "*/*"} {
		for own, command := range r.o.Config.Hear {
			if strings.EqualFold(own, pattern) {
				return command
			}
		}
	}
	return ""
}

// Hears reports whether a command turns one of these files into text before a turn.
func (r *Runner) Hears(media, names []string) bool {
	for i, path := range media {
		if r.hearCommand(path, nameAt(names, i)) != "" {
			return true
		}
	}
	return false
}

func nameAt(names []string, i int) string {
	if i < len(names) {
		return names[i]
	}
	return ""
}

// hear turns the person's files into text, adds the text to the message, and shows it as a quote.
// The turn does not have a slot meanwhile and counts as not started, so that a crash repeats it.
func (t *turn) hear(ctx context.Context) error {
	t.recallHeard(ctx)
	var todo []*hearing
	for i, path := range t.req.Media {
		name := nameAt(t.req.MediaNames, i)
		if command := t.hearCommand(path, name); command != "" {
			todo = append(todo, &hearing{
				turn: t, command: command,
				Heard: Heard{File: path, Name: OneLine(cmp.Or(name, filepath.Base(path)), maxName)},
			})
		}
	}
	if len(todo) == 0 || t.req.Task != "" {
		return nil
	}
	var back func(context.Context) error
	for _, h := range todo {
		h.digest = digestOf(h.File, h.command)
		if h.Text = t.heard.textOf(h.digest); h.Text == "" {
			if back == nil {
				back = t.stepAside(ctx)
			}
			if err := h.run(ctx); err != nil {
				return errors.Join(err, back(ctx))
			}
		}
		t.heard.add(ctx, h)
	}
	texts := []string{t.req.Text}
	f := Frame{Kind: Message, Own: true, Silent: true}
	for _, h := range todo {
		if h.Problem == "" {
			texts = append(texts, h.Text)
			t.req.Heard = append(t.req.Heard, h.Heard)
		}
		f.Heard = append(f.Heard, h.Heard)
	}
	t.req.Text = strings.Join(slices.DeleteFunc(texts, func(s string) bool { return s == "" }), "\n\n")
	err := t.Chat.Emit(f) // before the wait for a slot
	if back != nil {
		err = errors.Join(err, back(ctx))
	}
	return err
}

// stepAside gives the turn's slot back and stops its clock until back is called.
func (t *turn) stepAside(ctx context.Context) (back func(context.Context) error) {
	restart := t.pause()
	again := t.StepAside(ctx)
	return func(ctx context.Context) error {
		defer restart()
		if again == nil {
			return context.Cause(ctx)
		}
		return again(ctx)
	}
}

// hearing is one file that a command turns into text.
type hearing struct {
	*turn
	Heard
	command string
	digest  string // of the file and the command; "": the file cannot be read
}

// run runs the command. Its failures are Problem; the error is that the turn cannot go on.
func (h *hearing) run(ctx context.Context) error {
	defer h.showLater(h.req.Words.Text(words.Hearing, h.Name))()
	out, exit, err := h.runBeside(ctx, h.command, h.File, nil)
	var long *LongLineError
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case exit.Shortage() != nil:
		return exit.Shortage()
	case errors.As(err, &long): // it was killed for this
		h.Text, err = heardText(strings.ToValidUTF8(string(out[:maxHeard]), ""))
	case err == nil && exit.OK():
		h.Text, err = heardText(string(out))
	case err == nil:
		err = h.failure(exit)
	case IsShortage(err):
		return err
	}
	if err != nil {
		h.Problem = h.req.Words.Text(words.NotHeard, h.Name, h.reason(err))
		h.log.Warn("file not turned into text", zap.String("file", h.File), zap.Error(err))
	}
	return nil
}

// showLater shows progress after progressDelay, unless ended is called before.
func (t *turn) showLater(text string) (ended func()) {
	shown := make(chan struct{})
	timer := time.AfterFunc(progressDelay, func() {
		defer close(shown)
		_ = t.Chat.Emit(Frame{Kind: Progress, Board: true, Text: text}) // the next frame meets the same error
	})
	return func() {
		if !timer.Stop() {
			<-shown
		}
	}
}

// runBeside runs a command for a file of the chat outside of the agents' slots, in the workspace,
// with the agent's environment and sandbox. Its output is at most one byte longer than maxHeard.
func (t *turn) runBeside(ctx context.Context, command, file string, input []byte) ([]byte, AgentExit, error) {
	select {
	case t.beside <- struct{}{}:
		defer func() { <-t.beside }()
	case <-ctx.Done():
		return nil, AgentExit{}, context.Cause(ctx)
	}
	timeout := time.Duration(t.o.Config.HearTimeout) * time.Second
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, ErrTimeout)
	defer cancel()
	env := slices.Concat(t.agentEnv(), t.chatEnv(), t.dirs.Environ(), process.RunEnv(t.req.RunName),
		[]string{config.FileVariable + "=" + file})
	o := process.Options{
		Args: []string{t.o.Config.Shell, "-c", strings.ReplaceAll(command, config.FilePlaceholder, `"$`+config.FileVariable+`"`)},
		Dir:  t.o.Workspace, Env: env, Input: input, NoInput: input == nil, WholeSession: true,
	}
	child, err := launch(ctx, t.sandboxed(o), nil)
	if err != nil {
		return nil, AgentExit{}, err
	}
	child.reportUsage = t.used.add
	out, exit, err := child.ReadResponse(maxHeard)
	return out, exit, err
}

// failure returns why a command has failed: the last line of its stderr, if there is one.
func (t *turn) failure(exit AgentExit) error {
	if exit.Forced && errors.Is(exit.Cause, ErrTimeout) {
		return errSlow
	}
	said := strings.TrimSpace(Clean(exit.Stderr.String()))
	last := Shorten(said[strings.LastIndexByte(said, '\n')+1:], maxReason)
	return errors.New(cmp.Or(last, exit.Description(t.req.Words)))
}

// reason returns an error as the person reads it. What a program or the machine says may be shown
// to few people.
func (t *turn) reason(err error) string {
	if _, ours := errors.AsType[*words.Error](err); !ours && (!t.reveal || t.o.Config.Stderr == stderrNever) {
		err = errFailed
	}
	return t.req.Words.Reason(err)
}

// heardText checks and cleans the output of a command.
func heardText(out string) (string, error) {
	if strings.ContainsRune(out, 0) {
		return "", errBinary
	}
	if text := strings.TrimSpace(Clean(out)); text != "" {
		return text, nil
	}
	return "", errNothing
}

// digestOf returns the digest of a file and the command for it, or "" if the file cannot be read:
// an agent may have put a pipe or a link in its place.
func digestOf(file, command string) string {
	f, err := os.OpenFile(file, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return ""
	}
	defer f.Close()
	sum := sha256.New()
	fmt.Fprintf(sum, "%s\x00", command)
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	if _, err := io.Copy(sum, f); err != nil {
		return ""
	}
	return hex.EncodeToString(sum.Sum(nil)[:16])
}

// heardMemory is what a chat remembers of its files, the newest last.
type heardMemory struct {
	t     *turn
	Files []rememberedFile `json:"files"`
}

type rememberedFile struct {
	Digest string `json:"digest"`
	File   string `json:"file"`
	Text   string `json:"text"`
}

// recallHeard reads the memory of the chat, and adds the texts of files to the history, whose
// messages have only the files.
func (t *turn) recallHeard(ctx context.Context) {
	t.heard = heardMemory{t: t}
	withFiles := slices.ContainsFunc(t.req.History, func(e HistoryEntry) bool { return len(e.Media) > 0 })
	if len(t.o.Config.Hear) == 0 || len(t.req.Media) == 0 && !withFiles {
		return
	}
	text, err := t.Memory().Load(ctx, HeardMemory)
	if err == nil && text != "" {
		err = json.Unmarshal([]byte(text), &t.heard)
	}
	if err != nil {
		t.log.Warn("texts of earlier files not read", zap.Error(err))
	}
	for i, e := range t.req.History {
		for _, file := range e.Media {
			if text := t.heard.find(func(f rememberedFile) bool { return f.File == file }).Text; text != "" {
				e.Text = strings.TrimLeft(e.Text+"\n\n"+text, "\n")
			}
		}
		t.req.History[i].Text = e.Text
	}
}

// find returns the newest matching file, or none.
func (m *heardMemory) find(matches func(rememberedFile) bool) rememberedFile {
	for _, f := range slices.Backward(m.Files) {
		if matches(f) {
			return f
		}
	}
	return rememberedFile{}
}

// textOf returns the text of a file with this digest, or "".
func (m *heardMemory) textOf(digest string) string {
	return m.find(func(f rememberedFile) bool { return digest != "" && f.Digest == digest }).Text
}

// add remembers the text of a file, and forgets the oldest ones beyond maxHeardMemory. A text that
// cannot be stored is only made again after a crash.
func (m *heardMemory) add(ctx context.Context, h *hearing) {
	f := rememberedFile{Digest: h.digest, File: h.File, Text: h.Text}
	if h.Problem != "" || h.digest == "" || slices.Contains(m.Files, f) {
		return
	}
	m.Files = append(m.Files, f)
	size := 0
	for i, f := range slices.Backward(m.Files) {
		if size += len(f.Text) + len(f.File); size > maxHeardMemory {
			m.Files = m.Files[i+1:]
			break
		}
	}
	encoded, err := json.Marshal(m)
	if err == nil {
		err = m.t.Memory().Save(ctx, HeardMemory, string(encoded))
	}
	if err != nil {
		m.t.log.Warn("text of a file not stored", zap.Error(err))
	}
}
