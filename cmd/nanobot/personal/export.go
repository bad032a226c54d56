package personal

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"time"

	"nanobot/cmd/nanobot/format"
)

// read returns what is stored of the person, by name, and whether there is anything.
func (s *subject) read(ctx context.Context) (all map[string][]json.RawMessage, found bool, err error) {
	all = map[string][]json.RawMessage{}
	for _, p := range s.places() {
		some, err := p.read(ctx)
		if err != nil {
			return nil, false, err
		}
		maps.Copy(all, some)
	}
	for name, rows := range all {
		found = found || len(rows) > 0 && name != "files" // a folder may be that of the same ID on another network
		if rows == nil {
			all[name] = []json.RawMessage{} // [] and not null
		}
	}
	return all, found, nil
}

// Export prints what is stored of a person as one JSON document.
func Export(ctx context.Context, o Options) error {
	s, err := newSubject(ctx, o)
	if err != nil {
		return err
	}
	all, found, err := s.read(ctx)
	if err != nil {
		return err
	}
	if !found {
		return s.nothing()
	}
	document := map[string]any{
		"person": s.name(), "exported": time.Now().UTC(), "chats": append([]string{}, s.chatKeys()...),
	}
	for name, rows := range all {
		document[name] = rows
	}
	return format.WriteJSON(o.Out, document)
}

func (s *subject) nothing() error { return fmt.Errorf("nothing is stored of %s", s.name()) }
