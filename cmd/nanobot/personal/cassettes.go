package personal

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"

	"nanobot/channels"
	"nanobot/cmd/nanobot/recording"
	"nanobot/terminal/cassette"
)

// cassettes returns the recorded turns that have something of the person.
func (s *subject) cassettes() ([]recording.Found, error) {
	var groups []channels.Chat
	for _, m := range s.messages {
		if chat := m.Incoming.Chat; !slices.Contains(s.data.Chats, chat) && !slices.Contains(groups, chat) {
			groups = append(groups, chat)
		}
	}
	answers := map[channels.Chat][]string{}
	for _, row := range s.stored["answers"] {
		var a struct{ Chat, Receipt string }
		_ = json.Unmarshal(row, &a) // readRows has reported an error
		if chat, ok := channels.ParseChat(a.Chat); ok && a.Receipt != "" {
			answers[chat] = append(answers[chat], a.Receipt)
		}
	}
	found, err := s.Recordings.Find(recording.Person{
		Channel: s.Person.Channel, User: s.Person.User, Chats: s.data.Chats, Groups: groups, Answers: answers,
	})
	if err != nil {
		return nil, fmt.Errorf("find recorded turns: %w", err)
	}
	return found, nil
}

func (s *subject) readCassettes(context.Context) (map[string][]json.RawMessage, error) {
	found, err := s.cassettes()
	if err != nil {
		return nil, err
	}
	type exported struct {
		Path  string            `json:"path"`
		Lines []json.RawMessage `json:"lines"`
	}
	var all []exported
	for _, f := range found {
		if len(f.Lines) > 0 {
			all = append(all, exported{f.Path, f.Lines})
		}
	}
	return encodeAll("cassettes", all)
}

func (s *subject) forgetCassettes(context.Context) (map[string]int, error) {
	found, err := s.cassettes()
	for i, f := range found {
		if err := f.Remove(); err != nil {
			return map[string]int{"cassettes": i}, fmt.Errorf("remove recorded turn: %w", err)
		}
	}
	return map[string]int{"cassettes": len(found)}, err
}

// recordedFiles returns the person's files of recorded turns.
func (s *subject) recordedFiles() (all []file, err error) {
	found, err := s.cassettes()
	for _, f := range found {
		dir := cassette.FilesDir(f.Path)
		for _, name := range f.Files {
			all = append(all, file{Path: filepath.Join(dir, name), root: dir})
		}
	}
	return all, err
}
