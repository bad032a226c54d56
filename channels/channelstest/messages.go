package channelstest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"nanobot/channels"
)

// newAnswer returns an answer for the subject's chat.
func (s Subject) newAnswer(text string, files ...channels.File) channels.Message {
	return channels.Message{Chat: s.Chat, Kind: channels.Answer, Text: text, Media: files}
}

// planAndSend plans a message, sends the plan, and returns the calls that the network has accepted.
func (s Subject) planAndSend(ctx context.Context, m channels.Message) ([]SentCall, error) {
	plan, err := s.Channel.Plan(m)
	if err != nil {
		return nil, fmt.Errorf("plan %s: %w", describe(m), err)
	}
	return s.sendPlan(ctx, plan)
}

func (s Subject) sendPlan(ctx context.Context, plan []channels.Outgoing) ([]SentCall, error) {
	before := len(s.Sent())
	for i, o := range plan {
		if _, err := s.Channel.Send(ctx, o); err != nil {
			return nil, fmt.Errorf("send part %d of %d: %w", i+1, len(plan), err)
		}
	}
	return s.Sent()[before:], nil
}

func textsOf(sent []SentCall) []string {
	var out []string
	for _, c := range sent {
		out = append(out, c.Text)
	}
	return out
}

func filesOf(sent []SentCall) []SentFile {
	var out []SentFile
	for _, c := range sent {
		out = append(out, c.Files...)
	}
	return out
}

// describe describes a message for an error without quoting a long text.
func describe(m channels.Message) string {
	return fmt.Sprintf("%s of %d bytes (%.20q…) and %d files", m.Kind, len(m.Text), m.Text, len(m.Media))
}

// writeFile writes a test file whose content depends on its name and folder. The name on disk
// differs from the file's name, as it does in the spool.
func (fx fixture) writeFile(folder, name string) (channels.File, error) {
	dir := filepath.Join(fx.dir, folder)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return channels.File{}, err
	}
	path := filepath.Join(dir, "spooled "+name)
	content := fmt.Sprintf("what is in %s of %s", name, folder)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		return channels.File{}, err
	}
	return channels.File{Path: path, Name: name, Kind: channels.KindOf(name), Size: int64(len(content))}, nil
}

func (fx fixture) writeFiles(folder string, names ...string) ([]channels.File, error) {
	var out []channels.File
	for _, n := range names {
		f, err := fx.writeFile(folder, n)
		if err != nil {
			return nil, fmt.Errorf("write test file: %w", err)
		}
		out = append(out, f)
	}
	return out, nil
}

// expectedFile returns the file that the network must receive.
func (s Subject) expectedFile(f channels.File) (SentFile, error) {
	if s.ShowsPaths && f.Path != "" {
		return SentFile{Name: filepath.Base(f.Path)}, nil
	}
	if s.ShowsPaths {
		return SentFile{Name: f.Name}, nil
	}
	if f.Path == "" {
		return SentFile{Name: f.Name, Content: f.Content}, nil
	}
	content, err := os.ReadFile(f.Path)
	return SentFile{Name: f.Name, Content: string(content)}, err
}

// sampleMessages returns a message of every sort, for the checks of Plan.
func (fx fixture) sampleMessages() ([]channels.Message, error) {
	media, err := fx.writeFiles("media", "photo.png", "clip.mp4", "song.mp3", "notes.pdf")
	if err != nil {
		return nil, err
	}
	return []channels.Message{
		fx.newAnswer("hello"),
		fx.newAnswer(numberedText(1500)),
		fx.newAnswer(codeBlock(400)),
		fx.newAnswer("", media...),
		fx.newAnswer("look at these", media...),
		{Chat: fx.Chat, Kind: channels.Progress, Text: "thinking"},
		withScreen(fx.newAnswer("the end of it", media[0]), fullScreen()),
		withScreen(channels.Message{Chat: fx.Chat, Kind: channels.Progress, Text: "typing"}, fullScreen()),
		{Chat: fx.Chat, Kind: channels.Failure, Text: "Error (E1): no", Code: "E1"},
	}, nil
}
