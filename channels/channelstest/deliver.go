package channelstest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"nanobot/channels"
)

// say is an answer of text and files to the subject's chat.
func (s Subject) say(text string, files ...channels.File) channels.Message {
	return channels.Message{Chat: s.Chat, Kind: channels.Answer, Text: text, Media: files}
}

// deliver plans a message, sends the plan and returns what the network saw of the sending.
func (s Subject) deliver(ctx context.Context, m channels.Message) ([]SentCall, error) {
	plan, err := s.Channel.Plan(m)
	if err != nil {
		return nil, fmt.Errorf("plan %s: %w", brief(m), err)
	}
	return s.send(ctx, plan)
}

func (s Subject) send(ctx context.Context, plan []channels.Outgoing) ([]SentCall, error) {
	before := len(s.Sent())
	for i, o := range plan {
		if _, err := s.Channel.Send(ctx, o); err != nil {
			return nil, fmt.Errorf("send part %d of %d: %w", i+1, len(plan), err)
		}
	}
	return s.Sent()[before:], nil
}

func texts(sent []SentCall) []string {
	var out []string
	for _, c := range sent {
		out = append(out, c.Text)
	}
	return out
}

func files(sent []SentCall) []SentFile {
	var out []SentFile
	for _, c := range sent {
		out = append(out, c.Files...)
	}
	return out
}

// brief names a message in an error without printing a megabyte.
func brief(m channels.Message) string {
	return fmt.Sprintf("%s of %d bytes (%.20q…) and %d files", m.Kind, len(m.Text), m.Text, len(m.Media))
}

// file writes a file of some content of its own. It is called name, but lies on disk under another
// one, as files do that wait in a spool.
func (b bench) file(folder, name string) (channels.File, error) {
	dir := filepath.Join(b.dir, folder)
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

func (b bench) files(folder string, names ...string) ([]channels.File, error) {
	var out []channels.File
	for _, n := range names {
		f, err := b.file(folder, n)
		if err != nil {
			return nil, fmt.Errorf("write test file: %w", err)
		}
		out = append(out, f)
	}
	return out, nil
}

// expected is what the network must see of a file.
func (s Subject) expected(f channels.File) (SentFile, error) {
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

// messages are one of each sort, for the checks that look at plans rather than at what arrives.
func (b bench) messages() ([]channels.Message, error) {
	media, err := b.files("media", "photo.png", "clip.mp4", "song.mp3", "notes.pdf")
	if err != nil {
		return nil, err
	}
	return []channels.Message{
		b.say("hello"),
		b.say(numbered(1500)),
		b.say(code(400)),
		b.say("", media...),
		b.say("look at these", media...),
		{Chat: b.Chat, Kind: channels.Progress, Text: "thinking"},
		withScreen(b.say("the end of it", media[0]), fullScreen()),
		withScreen(channels.Message{Chat: b.Chat, Kind: channels.Progress, Text: "typing"}, fullScreen()),
		{Chat: b.Chat, Kind: channels.Failure, Text: "Error (E1): no", Code: "E1"},
	}, nil
}
