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
	Text    string  `json:"text"` // "": nothing is to be said
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
	return left, err == nil && left.Run == t.req.RunID && left.Attempt == t.req.Attempt && left.Text != ""
}

// speakAnswer stores that the agent has answered, and speaks the answer.
func (t *turn) speakAnswer(ctx context.Context, out Outcome) error {
	t.mu.Lock()
	s := speech{Run: t.req.RunID, Attempt: t.req.Attempt, Text: strings.Join(t.said, "\n\n"), Outcome: out}
	t.mu.Unlock()
	if out.Status != Done || s.Text == "" || ctx.Err() != nil || !t.speaks() {
		return nil
	}
	encoded, err := json.Marshal(s)
	if err == nil {
		err = t.Memory().Save(ctx, SpeechMemory, string(encoded))
	}
	if err != nil { // a crash would run the agent again
		t.log.Warn("answer is not spoken", zap.Error(err))
		return nil
	}
	return t.speak(ctx, s)
}

// speak has the command make a file of the text and sends it. The turn needs no slot any more, and
// counts as not started.
func (t *turn) speak(ctx context.Context, s speech) error {
	defer t.pause()()
	t.Chat.StepAside(ctx)
	root, err := UserRoot(t.o.Workspace, t.req.Channel, t.req.ChatID)
	if err != nil {
		return err
	}
	defer root.Close()
	// No symbolic link that an agent has put there is followed, and a crash leaves no second file.
	name := ".speech-" + t.req.RunID + ".ogg"
	_ = root.Remove(name)
	defer func() { _ = root.Remove(name) }()
	err = t.sendSpeech(ctx, filepath.Join(root.Name(), name), s.Text)
	if err == nil || ctx.Err() != nil { // a person who has stopped it needs no report
		return nil
	}
	t.log.Warn("answer is not spoken", zap.Error(err))
	return t.Chat.Emit(Frame{
		Kind: Message, Own: true, Silent: true, Speech: true,
		Text: t.req.Words.Text(words.NotSpoken, t.req.Words.Reason(err)),
	})
}

// NameOf returns the name under which people get a file of the frame.
func (f Frame) NameOf(file File) string {
	if f.Speech {
		return "answer.ogg"
	}
	return filepath.Base(file.Path)
}

func (t *turn) sendSpeech(ctx context.Context, path, text string) error {
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
