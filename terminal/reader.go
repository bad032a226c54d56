package terminal

import (
	"context"
	"strings"
)

// MessageReader is a protocol whose turns read the messages that people send while they run.
type MessageReader interface {
	// ReadMessage offers a message that came while a turn of its chat runs. It reports whether the
	// turn reads it: then the message and its files are on disk with the protocol, and nothing else
	// is done with it. Otherwise it waits in the queue of the chat, and is offered again when the
	// turn calls Turn.AwaitPerson. It must return within a second.
	//
	// After a crash or an error a message that was read (known by Chat and ID) may be offered
	// again, also after the end of the turn that read it: each message is offered once more before
	// it gets a turn. ReadMessage then reports true and does nothing. It must remember the IDs for
	// as long as networks deliver a message again, which is a matter of days.
	//
	// A message with nothing but its Chat only asks whether the turn would read one now.
	ReadMessage(ctx context.Context, m PersonMessage) (read bool, err error)
}

// PersonMessage is a message that a person sent.
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

// awaitPerson returns Turn.AwaitPerson: it stops the clock of the turn, and says so to the request.
func (r Request) awaitPerson(pause func() (resume func())) func(context.Context) func(context.Context) error {
	return func(ctx context.Context) func(context.Context) error {
		if r.AwaitPerson == nil { // nobody can say anything, so the time counts
			return context.Cause
		}
		restart := pause()
		resume := r.AwaitPerson(ctx)
		return func(ctx context.Context) error {
			defer restart()
			return resume(ctx)
		}
	}
}
