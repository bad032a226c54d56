package terminal

import (
	"context"
	"strings"
)

// MessageReader is a protocol whose turns can read messages that people send while the turn runs.
type MessageReader interface {
	// ReadMessage offers a message that arrived during a turn of its chat. It reports whether the
	// turn reads the message; then the protocol has stored the message and its files, and the
	// gateway does nothing else with it. Otherwise the message waits in the queue of the chat, and
	// is offered again when the turn calls Chat.AwaitPerson. It must return within a second.
	//
	// After a crash or an error, a message that was read (identified by Chat and ID) may be offered
	// again, even after the end of that turn: each message is offered once more before it gets a
	// turn. ReadMessage then reports true and does nothing. It must remember the IDs for as long as
	// networks redeliver messages, which can be days.
	//
	// A message with nothing but its Chat asks whether the turn would read a message now.
	ReadMessage(ctx context.Context, m PersonMessage) (read bool, err error)
}

// PersonMessage is a message from a person.
type PersonMessage struct {
	Chat  string   // an Envelope.SessionKey
	ID    string   // of the network; "": it has none, and is offered once
	User  string   // ID of the person
	Text  string   // may be empty
	Media []string // absolute paths of the files that came with it
	// UserDataDir is the folder of the chat. The runner sets it.
	UserDataDir string
}

// reader returns the agent's protocol, if it is a MessageReader.
func (r *Runner) reader() MessageReader {
	m, _ := r.o.Protocol.(MessageReader)
	return m
}

// ReadsMessages reports whether the turns of the agent's protocol may read messages.
func (r *Runner) ReadsMessages() bool { return r.reader() != nil }

// ReadMessage offers a message to the agent's protocol.
func (r *Runner) ReadMessage(ctx context.Context, m PersonMessage) (bool, error) {
	reader := r.reader()
	if reader == nil {
		return false, nil
	}
	_, id, _ := strings.Cut(m.Chat, ":")
	var err error
	if m.UserDataDir, err = UserDir(r.o.Workspace, id); err != nil {
		return false, err
	}
	return reader.ReadMessage(ctx, m)
}

// AwaitPerson stops the clock of the turn during the wait.
func (t *turn) AwaitPerson(ctx context.Context) (resume func(context.Context) error) {
	restart := t.pause()
	again := t.Chat.AwaitPerson(ctx)
	if again == nil { // nobody can answer, so the time counts
		restart()
		return context.Cause
	}
	return func(ctx context.Context) error {
		defer restart()
		return again(ctx)
	}
}
