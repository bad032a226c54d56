package outbox

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"strconv"
	"strings"

	"nanobot/channels"
	"nanobot/gateway/store"
	"nanobot/internal/words"
)

// ReportSequence is the base of the sequence numbers of the gateway's own messages about a turn.
// Each attempt has its own number, so that a message is not sent twice.
const ReportSequence = 1 << 30

// DoneSequence is the sequence number of the message that tells the end of a turn.
const DoneSequence = ReportSequence + 1<<20

// FoldSequence is the sequence number of the message that a turn has instead of a folded board.
const FoldSequence = DoneSequence + 1

// WaitSequence is the sequence number of the message that nobody can run a turn.
const WaitSequence = FoldSequence + 1

// HeardSequence and SpeechSequence are the sequence numbers of the messages with what was
// understood of a person's files, and with the answer as speech.
const (
	HeardSequence  = WaitSequence + 1
	SpeechSequence = WaitSequence + 2
)

// QuotaSequence is the sequence number of the message about the quotas of a turn.
const QuotaSequence = SpeechSequence + 1

// ErrNotStored says that the store could not store a message now. Post may be called again with the
// same message.
var ErrNotStored = errors.New("store message")

// Message is a message for the outbox. It records the progress of Post, so that a retry does not
// repeat finished steps.
type Message struct {
	channels.Message
	Inbound  int64 // the inbound message that it answers, or 0
	About    int64 // the inbound message that it is about without answering it, or 0
	Sequence int   // among the messages of a turn; 0: not part of the agent's answer
	// Replace are the transient messages that show the beginning of the message. The first parts
	// replace them. ShownText is the text that they show, at least in part.
	Replace   []Shown
	ShownText string
	// Once says that the message is not sent again if an earlier attempt of the turn has posted one
	// with the same Sequence, whatever its content.
	Once bool
	// MediaRequired says that Post fails instead of naming a file that cannot be copied.
	MediaRequired bool
	// GivesWay sends answers first; see channels.Outgoing. The silent messages of a turn always do.
	GivesWay bool
	// CopyContext returns the context for copying a file of the given size, and Copied is called
	// after the copy; both may be nil.
	CopyContext func(size int64) context.Context
	Copied      func(size int64)

	copied     []channels.File // files in the spool; the files in Media are not copied yet
	words      words.Words
	parts      []channels.Outgoing
	unstreamed []channels.Outgoing // see store.Outbound
}

// Reply returns a message that answers an inbound message.
func Reply(inbound store.Inbound, m channels.Message) *Message {
	m.Chat, m.ReplyTo, m.Language = inbound.In.Chat, inbound.In.ID, inbound.In.User.Language
	return &Message{Message: m, Inbound: inbound.ID}
}

// Calls returns the number of network calls of the posted message.
func (m *Message) Calls() int { return len(m.parts) }

// Post splits a message into network calls, copies its files, and stores it. When Post returns nil,
// the message will be sent, even after a crash or if the agent removes its files.
func (box *Outbox) Post(ctx context.Context, m *Message) error {
	ch, ok := box.o.Channels[m.Chat.Channel]
	if !ok {
		return fmt.Errorf("no channel %s", m.Chat.Channel)
	}
	if err := box.planMessage(ctx, ch, m); err != nil || len(m.parts) == 0 {
		return err
	}
	outbound := store.Outbound{
		Parts: m.parts, Unstreamed: m.unstreamed, Inbound: m.Inbound, Sequence: m.Sequence,
		About: m.About,
	}
	if m.Sequence > 0 && m.Sequence < ReportSequence && m.Kind != channels.Progress {
		outbound.Entry = m.entry()
	}
	if m.Once {
		outbound.Unstreamed = []channels.Outgoing{{Chat: m.Chat}} // by which the content is compared
	}
	if err := box.enqueue(ctx, outbound); err != nil {
		if errors.Is(err, store.ErrFenced) {
			return err
		}
		return fmt.Errorf("%w: %w", ErrNotStored, err)
	}
	return nil
}

// Prepare splits a message into network calls and copies its files, but does not store it. The
// caller stores the calls and the entry of the transcript, and then calls Wake.
func (box *Outbox) Prepare(ctx context.Context, m *Message) ([]channels.Outgoing, *store.Entry, error) {
	ch, ok := box.o.Channels[m.Chat.Channel]
	if !ok {
		return nil, nil, fmt.Errorf("no channel %s", m.Chat.Channel)
	}
	err := box.planMessage(ctx, ch, m)
	return m.parts, m.entry(), err
}

// planMessage splits a message into network calls and copies its files, unless that is done.
func (box *Outbox) planMessage(ctx context.Context, ch channels.Channel, m *Message) error {
	if m.parts != nil {
		return nil
	}
	if err := box.copyFiles(ctx, ch, m); err != nil {
		return err
	}
	m.Media = m.copied
	m.words = box.o.Words.For(m.Language)
	if err := m.plan(ch); err != nil {
		return fmt.Errorf("plan message: %w", err)
	}
	return nil
}

// entry returns the message's entry of the transcript.
func (m *Message) entry() *store.Entry {
	e := &store.Entry{Role: "agent", Text: m.Text, Inbound: m.Inbound}
	if m.Screen != nil {
		e.Text = strings.TrimLeft(m.Text+"\n"+m.Screen.Text(), "\n")
	}
	for _, f := range m.copied {
		e.Media = append(e.Media, f.Name)
	}
	return e
}

// enqueue stores a message and has it sent.
func (box *Outbox) enqueue(ctx context.Context, outbound store.Outbound) error {
	chat := outbound.Parts[0].Chat
	// A claimed delivery is not pending in the store, so the chat must be busy before it is served.
	box.addEnqueuing(chat, 1)
	defer box.addEnqueuing(chat, -1)
	outbound.Claim = !box.isServed(chat)
	for _, part := range outbound.Parts {
		if part.Replace != "" && !part.Unchanged { // an unchanged part has no Stop button
			box.replacements.expect(messageID{chat, part.Replace})
		}
	}
	first, claimed, err := box.o.Store.Enqueue(ctx, outbound)
	if err != nil {
		return err
	}
	switch {
	case !claimed:
		box.serve(chat, nil)
	case !box.serve(chat, &first): // Run has ended: nothing was sent, so the next start can send it without doubt
		box.storeResult(ctx, first, store.Settlement{State: store.Pending})
	}
	runtime.Gosched() // lets the sending goroutine run before the agent continues
	return nil
}

// addEnqueuing counts the messages of a chat that are being stored.
func (box *Outbox) addEnqueuing(chat channels.Chat, by int) {
	box.mu.Lock()
	defer box.mu.Unlock()
	if box.enqueuing[chat] += by; box.enqueuing[chat] == 0 {
		delete(box.enqueuing, chat)
	}
	box.changed.Broadcast()
}

// FileError says that a file of a message with MediaRequired cannot be copied.
type FileError struct {
	text string
	err  error
}

func (e *FileError) Error() string { return e.text }

// Unwrap returns the error of the store.
func (e *FileError) Unwrap() error { return e.err }

// copyFiles copies a message's files into the spool. If a file cannot be copied, the text names it
// and the reason.
func (box *Outbox) copyFiles(ctx context.Context, ch channels.Channel, m *Message) error {
	if len(m.Media) == 0 {
		return nil
	}
	var limit int64
	var phrase string
	if l, ok := ch.(channels.FileLimiter); ok {
		limit, phrase = l.FileLimit(m.Chat, m.Language)
	}
	w := box.o.Words.For(m.Language)
	for len(m.Media) > 0 {
		f := m.Media[0]
		open := f.Open
		copying := ctx
		if m.CopyContext != nil {
			copying = m.CopyContext(f.Size)
		}
		path, err := box.o.Store.SaveCopy(copying, open, limit)
		why := ""
		switch {
		case err == nil:
			f.Path, f.Open = path, nil
			m.copied = append(m.copied, f)
			if m.Copied != nil {
				m.Copied(f.Size)
			}
		case errors.Is(err, store.ErrTooLarge):
			why = phrase
		case errors.Is(err, store.ErrNoRoom):
			why = w.Text(words.FileNoRoom)
		case ctx.Err() == nil && copying.Err() != nil:
			why = w.Text(words.FileCopyCut)
		case errors.Is(err, fs.ErrNotExist):
			why = w.Text(words.FileRemoved)
		case errors.Is(err, store.ErrUnavailable), ctx.Err() != nil:
			return fmt.Errorf("%w: %w", ErrNotStored, err)
		case errors.Is(err, store.ErrChanged):
			why = w.Text(words.FileChanged)
		default:
			why = w.Text(words.FileGone)
		}
		switch {
		case why != "" && m.MediaRequired:
			return &FileError{notSentText(w, f, err, why), err}
		case why != "":
			m.Text = strings.TrimLeft(m.Text+"\n"+notSentText(w, f, err, why), "\n")
		}
		// The file must be closed now: while it is open, its space on the disk is not freed, even
		// if it is removed to make room for this message.
		_ = open.Close()
		m.Media = m.Media[1:]
	}
	return nil
}

// notSentText is the notice about a file that is not sent, with its size if that was the problem.
func notSentText(w words.Words, f channels.File, err error, why string) string {
	if errors.Is(err, store.ErrTooLarge) || errors.Is(err, store.ErrNoRoom) {
		return w.Text(words.FileNotSentSize, strconv.Quote(f.Name), channels.HumanSize(f.Size), why)
	}
	return w.Text(words.FileNotSent, strconv.Quote(f.Name), why)
}
