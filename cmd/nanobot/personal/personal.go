// Package personal exports and removes what is stored of a person. Every place where something is
// stored is one entry of subject.places, which both use.
package personal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"nanobot/channels"
	"nanobot/channels/downloads"
	"nanobot/channels/web"
	"nanobot/channels/web/history"
	"nanobot/cmd/nanobot/recording"
	"nanobot/config"
	"nanobot/gateway/audit"
	"nanobot/gateway/runbook"
	"nanobot/gateway/store"
	"nanobot/internal/httpd"
	"nanobot/terminal"
)

// Options are the state, and where something of people is stored besides.
type Options struct {
	Config     *config.Config
	Store      store.Store
	History    *history.History // of the chat page; nil: there is none
	Audit      audit.Options
	Recordings recording.Folders
	Person     store.Person
	Files      *os.Root // the folder into which Export copies files; nil: none
	Out        io.Writer
	// StopTimeout is how long Forget waits for the end of turns.
	StopTimeout time.Duration
	// DaemonRuns reports whether a daemon uses the state.
	DaemonRuns func(ctx context.Context) bool
}

// subject is a person, with what names the things that are stored of them.
type subject struct {
	Options
	data     store.PersonData
	stored   map[string][]json.RawMessage // of the store
	messages []received
	answers  map[string][]string // IDs of the answers in the web chats of others, by chat
}

// received is a row of messages.
type received struct{ Incoming channels.Incoming }

// place is where something of a person is stored.
type place struct {
	// read returns what is stored there, by names.
	read func(ctx context.Context) (map[string][]json.RawMessage, error)
	// remove removes what read returns, and returns how much that was.
	remove func(ctx context.Context) (map[string]int, error)
}

// places are all places. What names the things in others comes last.
func (s *subject) places() []place {
	return []place{
		{s.readSignIns, s.endSignIns},
		{s.readPage, s.forgetPage},
		{s.readRuns, s.forgetRuns},
		{s.readAudit, s.forgetAudit},
		{s.readCassettes, s.forgetCassettes},
		{s.readFiles, s.removeFiles},
		{
			func(context.Context) (map[string][]json.RawMessage, error) { return s.stored, nil },
			func(ctx context.Context) (map[string]int, error) { return s.Store.ForgetPerson(ctx, s.data) },
		},
	}
}

// newSubject finds the private chats of a person, and what the store has of them. before are chats
// that were found earlier.
func newSubject(ctx context.Context, o Options, before ...string) (*subject, error) {
	s := &subject{Options: o, data: store.PersonData{Person: o.Person}, answers: map[string][]string{}}
	chats, err := o.Store.PrivateChats(ctx, o.Person)
	if err != nil {
		return nil, err
	}
	if o.Person.Channel != web.Name { // the IDs of private chats may be those of the people
		chats = append(chats, channels.Chat{Channel: o.Person.Channel, ID: o.Person.User})
	}
	if s.History != nil {
		p, err := s.History.ReadPerson(ctx, o.Person.User, nil)
		if err != nil {
			return nil, err
		}
		for _, c := range p.Chats {
			chats = append(chats, channels.Chat{Channel: web.Name, ID: c.ID})
		}
	}
	for _, key := range before {
		chat, _ := channels.ParseChat(key)
		chats = append(chats, chat)
	}
	keys := map[string]channels.Chat{}
	for _, chat := range chats {
		others, err := s.ownedByOther(ctx, chat)
		if err != nil {
			return nil, err
		}
		if !others {
			keys[chat.String()] = chat
		}
	}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		s.data.Chats = append(s.data.Chats, keys[key])
	}
	if s.stored, err = o.Store.ReadPerson(ctx, s.data); err != nil {
		return nil, err
	}
	return s, s.readRows()
}

// hideOthers removes what the person's messages in groups quote of other people.
func (s *subject) hideOthers(row json.RawMessage, in channels.Incoming) (json.RawMessage, error) {
	if in.ReplyTo == nil || slices.Contains(s.data.Chats, in.Chat) {
		return row, nil
	}
	var columns map[string]any
	if err := json.Unmarshal(row, &columns); err != nil {
		return nil, err
	}
	in.ReplyTo = &channels.Quote{ID: in.ReplyTo.ID}
	columns["incoming"] = in
	return json.Marshal(columns)
}

// ownedByOther reports whether a chat of the page is somebody else's, in which an operator has
// written.
func (s *subject) ownedByOther(ctx context.Context, chat channels.Chat) (bool, error) {
	if s.History == nil || chat.Channel != web.Name {
		return false, nil
	}
	owner, found, err := s.History.ChatOwner(ctx, chat.ID)
	if errors.Is(err, history.ErrDeleted) {
		err = nil
	}
	return found && owner != s.Person.User, err
}

// readRows reads the messages and answers that the store has of the person.
func (s *subject) readRows() error {
	for i, row := range s.stored["messages"] {
		var m received
		err := json.Unmarshal(row, &m)
		if err == nil {
			s.stored["messages"][i], err = s.hideOthers(row, m.Incoming)
		}
		if err != nil {
			return fmt.Errorf("read message: %w", err)
		}
		s.messages = append(s.messages, m)
	}
	for _, row := range s.stored["answers"] {
		var a struct{ Chat, Receipt string }
		if err := json.Unmarshal(row, &a); err != nil {
			return fmt.Errorf("read answer: %w", err)
		}
		chat, _ := channels.ParseChat(a.Chat)
		if chat.Channel == web.Name && a.Receipt != "" && !slices.Contains(s.data.Chats, chat) {
			s.answers[chat.ID] = append(s.answers[chat.ID], a.Receipt)
		}
	}
	return nil
}

// name returns the person as commands name them.
func (s *subject) name() string { return s.Person.Channel + ":" + s.Person.User }

func (s *subject) chatKeys() (keys []string) {
	for _, chat := range s.data.Chats {
		keys = append(keys, chat.String())
	}
	return keys
}

// grants returns the sign-ins of the person at the chat page.
func (s *subject) grants(ctx context.Context) ([]httpd.Grant, error) {
	if s.Person.Channel != web.Name {
		return nil, nil
	}
	all, err := httpd.Grants{Records: s.Store}.List(ctx)
	return slices.DeleteFunc(all, func(g httpd.Grant) bool { return g.User != s.Person.User }), err
}

func (s *subject) readSignIns(ctx context.Context) (map[string][]json.RawMessage, error) {
	all, err := s.grants(ctx)
	if err != nil {
		return nil, err
	}
	for i := range all {
		all[i].ID = "" // the beginning of a hash
	}
	return encodeAll("sign_ins", all)
}

func (s *subject) endSignIns(ctx context.Context) (map[string]int, error) {
	all, err := s.grants(ctx)
	for _, g := range all {
		if err == nil {
			_, err = httpd.Grants{Records: s.Store}.Revoke(ctx, g.ID)
		}
	}
	return map[string]int{"sign_ins": len(all)}, err
}

func (s *subject) readPage(ctx context.Context) (map[string][]json.RawMessage, error) {
	if s.History == nil {
		return nil, nil
	}
	p, err := s.History.ReadPerson(ctx, s.Person.User, s.answers)
	if err != nil || len(p.Events)+len(p.Chats)+len(p.Subscriptions) == 0 && p.Name == "" {
		return nil, err
	}
	return encodeAll("page", []history.Personal{p})
}

func (s *subject) forgetPage(ctx context.Context) (map[string]int, error) {
	if s.History == nil {
		return nil, nil
	}
	n, err := s.History.Forget(ctx, s.Person.User, s.answers)
	return map[string]int{"page": n}, err
}

func (s *subject) involvement() (runbook.Runs, runbook.Involvement) {
	return runbook.Runs{Records: s.Store}, runbook.Involvement{Person: s.name(), Chats: s.chatKeys()}
}

func (s *subject) readRuns(ctx context.Context) (map[string][]json.RawMessage, error) {
	runs, involvement := s.involvement()
	parts, err := runs.PartsOf(ctx, involvement)
	if err != nil {
		return nil, err
	}
	return encodeAll("runs", parts)
}

func (s *subject) forgetRuns(ctx context.Context) (map[string]int, error) {
	runs, involvement := s.involvement()
	n, err := runs.Forget(ctx, involvement)
	return map[string]int{"runs": n}, err
}

// isAudited reports whether a record of the audit log is about the person.
func (s *subject) isAudited(r audit.Record) bool {
	return r.Channel == s.Person.Channel && r.User.ID == s.Person.User || r.By == s.name() ||
		slices.Contains(s.data.Chats, channels.Chat{Channel: r.Channel, ID: r.Chat})
}

func (s *subject) readAudit(context.Context) (map[string][]json.RawMessage, error) {
	lines, err := audit.Lines(s.Audit, s.isAudited)
	return map[string][]json.RawMessage{"audit": lines}, err
}

func (s *subject) forgetAudit(context.Context) (map[string]int, error) {
	n, err := audit.RemoveLines(s.Audit, s.isAudited)
	return map[string]int{"audit": n}, err
}

// forgetReceived removes the records of files.
func (s *subject) forgetReceived(ctx context.Context, files []file) error {
	for _, chat := range s.data.Chats {
		if err := downloads.ForgetRecords(ctx, s.Store, chat, nil); err != nil {
			return err
		}
	}
	for _, f := range files {
		if f.group == (channels.Chat{}) {
			continue
		}
		if err := downloads.ForgetRecords(ctx, s.Store, f.group, []string{filepath.Base(f.Path)}); err != nil {
			return err
		}
	}
	return nil
}

func (s *subject) removeFiles(ctx context.Context) (map[string]int, error) {
	files, err := s.files(ctx)
	if err != nil {
		return nil, err
	}
	for _, chat := range s.data.Chats {
		if _, err := terminal.RemoveChatFolders(s.Config.Workspace, chat.Channel, chat.ID); err != nil {
			return nil, err
		}
	}
	for _, f := range files {
		if f.group != (channels.Chat{}) {
			err = errors.Join(err, f.remove())
		}
	}
	return map[string]int{"files": len(files)}, errors.Join(err, s.forgetReceived(ctx, files))
}

// encodeAll returns values as JSON, by a name.
func encodeAll[T any](name string, values []T) (map[string][]json.RawMessage, error) {
	all := make([]json.RawMessage, 0, len(values))
	for _, v := range values {
		text, err := json.Marshal(v)
		if err != nil {
			return nil, err
		}
		all = append(all, text)
	}
	return map[string][]json.RawMessage{name: all}, nil
}
