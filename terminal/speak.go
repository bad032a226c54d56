package terminal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"go.uber.org/zap"

	"nanobot/config"
	"nanobot/internal/words"
	"nanobot/terminal/media"
)

// speech is an answer that is to be spoken. It is stored before the command of terminal.speak
// starts, so that after a crash only the command runs again and not the agent.
type speech struct {
	Run     string  `json:"run"`
	Attempt int     `json:"attempt"`
	Text    string  `json:"text"` // "": it was spoken
	Outcome Outcome `json:"outcome"`
}

// speaks reports whether the answer of the turn is spoken.
func (t *turn) speaks() bool {
	s := t.o.Config.Speak
	if s.Command == "" || t.req.Task != "" {
		return false
	}
	for i, path := range t.req.Media {
		if t.o.TypeOf != nil && strings.HasPrefix(t.o.TypeOf(path, nameAt(t.req.MediaNames, i)), "audio/") {
			return true
		}
	}
	return s.When == config.SpeakAlways
}

// recordSaid records what a message adds to the spoken answer.
func (t *turn) recordSaid(f Frame) {
	if f.Kind != Message || f.Own || t.o.SpokenText == nil || t.o.Config.Speak.Command == "" {
		return
	}
	if text := strings.TrimSpace(t.o.SpokenText(f.Text, f.Format)); text != "" {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.said = append(t.said, text)
	}
}

// unspoken returns what an earlier run of the gateway has left to be spoken of this turn.
func (t *turn) unspoken(ctx context.Context) (left speech, ok bool) {
	if !t.speaks() {
		return left, false
	}
	text, err := t.Memory().Load(ctx, SpeechMemory)
	if err == nil && text != "" {
		err = json.Unmarshal([]byte(text), &left)
	}
	if err != nil {
		t.log.Warn("unspoken answer not read", zap.Error(err))
	}
	return left, err == nil && left.Run == t.req.RunID && left.Attempt == t.req.Attempt
}

// speakAnswer stores that the agent has answered, and speaks the answer.
func (t *turn) speakAnswer(ctx context.Context, out Outcome) (Outcome, error) {
	t.mu.Lock()
	s := speech{Run: t.req.RunID, Attempt: t.req.Attempt, Text: strings.Join(t.said, "\n\n"), Outcome: out}
	t.mu.Unlock()
	// without the record, a crash would run the agent again
	if out.Status != Done || s.Text == "" || !t.speaks() || !t.record(ctx, s) {
		return out, nil
	}
	return t.speak(ctx, s)
}

// record stores what is to be spoken, and reports whether that was possible.
func (t *turn) record(ctx context.Context, s speech) bool {
	encoded, err := json.Marshal(s)
	if err == nil {
		err = t.Memory().Save(context.WithoutCancel(ctx), SpeechMemory, string(encoded))
	}
	if err != nil {
		t.log.Warn("spoken answer not recorded", zap.Error(err))
	}
	return err == nil
}

// speak sends the answer as speech. The turn needs no slot any more, and counts as not started: one
// that a shutdown cuts off only speaks at the next start.
func (t *turn) speak(ctx context.Context, s speech) (Outcome, error) {
	if s.Text == "" {
		return s.Outcome, nil
	}
	defer t.pause()()
	t.StepAside(ctx)
	err := t.sendSpeech(ctx, s.Text)
	if err != nil && ctx.Err() != nil { // a person who has stopped it needs no report
		s.Outcome.Status = Stopped
		return s.Outcome, nil
	}
	if err != nil {
		t.log.Warn("answer is not spoken", zap.Error(err))
		err = t.Chat.Emit(Frame{
			Kind: Message, Own: true, Silent: true, Speech: true, Format: FormatText,
			Text: t.req.Words.Text(words.NotSpoken, t.reason(err)),
		})
	}
	if s.Text = ""; err == nil {
		t.record(ctx, s)
	}
	return s.Outcome, err
}

// NameOf returns the name under which people get a file of the frame.
func (f Frame) NameOf(file File) string {
	if f.Speech {
		return "answer.ogg"
	}
	return filepath.Base(file.Path)
}

// sendSpeech has the command make a file of the text, and sends it.
func (t *turn) sendSpeech(ctx context.Context, text string) error {
	root, err := UserRoot(t.o.Workspace, t.req.Channel, t.req.ChatID)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	// No symbolic link that an agent has put there is followed, and a crash leaves no second file.
	name := ".speech-" + t.req.RunID + ".ogg"
	path := filepath.Join(root.Name(), name)
	_ = root.Remove(name)
	defer func() { _ = root.Remove(name) }()
	ended := t.showLater(t.req.Words.Text(words.Speaking))
	_, exit, err := t.runBeside(ctx, "exec >/dev/null; "+t.o.Config.Speak.Command, path, []byte(text))
	ended()
	if err != nil {
		return fmt.Errorf("run the command: %w", err)
	}
	if !exit.OK() {
		return t.failure(exit)
	}
	rules := t.media
	rules.Roots = []string{t.o.Workspace}
	file, err := rules.Check(path)
	if errors.Is(err, media.ErrMissing) {
		err = words.NewError(words.SpokenNothing)
	}
	if err != nil {
		return err
	}
	defer CloseMedia([]File{file})
	return t.Chat.Emit(Frame{
		Kind: Message, Own: true, Silent: true, Speech: true, Media: []string{path}, MediaRequired: true,
		Checked: []File{file}, ProtocolDir: filepath.Dir(path),
	})
}
