package recording

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"slices"

	"nanobot/channels"
	"nanobot/terminal"
	"nanobot/terminal/cassette"
)

// Person is a person whose cassettes are to be found.
type Person struct {
	Channel, User string
	Chats         []channels.Chat // of the person alone
	// Groups are the other chats in which the person has written. Somebody else's turn there has
	// the person's words in its history.
	Groups []channels.Chat
	// Answers are the IDs of the answers to the person, which others may quote.
	Answers map[channels.Chat][]string
}

// Found is a cassette with something of a person.
type Found struct {
	Path string
	// Lines are what the person wrote, and the answers to it.
	Lines []json.RawMessage
	// Files are the names of the files of Lines, in cassette.FilesDir.
	Files []string
}

// Remove removes the cassette and its files.
func (f Found) Remove() error { return removeCassette(f.Path) }

// Find returns the cassettes with something of a person. One that was cut off in its message, so
// that nobody can tell whose it is, counts as one and has no lines.
func (f Folder) Find(p Person) (all []Found, err error) {
	names, err := f.list()
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		path := filepath.Join(string(f), name+cassette.Suffix)
		found, is, err := p.find(path)
		if errors.Is(err, fs.ErrNotExist) { // it was pruned meanwhile
			continue
		}
		if err != nil {
			return nil, err
		}
		if is {
			all = append(all, found)
		}
	}
	return all, nil
}

// find reads a cassette and reports whether it has something of the person.
func (p Person) find(path string) (found Found, is bool, err error) {
	file, err := open(path)
	if err != nil {
		return found, false, err
	}
	defer file.Close()
	found.Path = path
	lines := bufio.NewReader(file)
	known, own := false, false // whose turn it is, and that it is the person's
	var chat channels.Chat
	for {
		text, err := lines.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return found, false, err
		}
		var line cassette.Line
		if json.Unmarshal(text, &line) == nil {
			if line.Envelope != nil {
				known = true
				if chat = chatOf(*line.Envelope); chat.Channel != p.Channel { // an ID there is somebody else's
					return found, false, nil
				}
				owns, involved := p.owns(*line.Envelope)
				own, is = own || owns, is || involved
			}
			mine, involved := p.wrote(chat, line)
			is = is || involved
			if mine || own && !p.isOthers(line) {
				line, text = p.hideOthers(line, text)
				found.Lines = append(found.Lines, text)
				for _, f := range line.Files {
					if f.SHA256 != "" && !slices.Contains(found.Files, f.SHA256) {
						found.Files = append(found.Files, f.SHA256)
					}
				}
			}
		}
		if err != nil {
			return found, is || !known, nil
		}
	}
}

// chatOf returns the chat of an envelope.
func chatOf(e terminal.Envelope) channels.Chat {
	channel := e.Channel
	if e.Account != "" {
		channel += "." + e.Account
	}
	return channels.Chat{Channel: channel, ID: e.ChatID}
}

// owns reports whether a turn is the person's, and whether its message has something of the person.
func (p Person) owns(e terminal.Envelope) (own, involved bool) {
	chat := chatOf(e)
	own = slices.Contains(p.Chats, chat) || e.PersonID() == p.User
	involved = own || p.isQuoted(chat, e.ReplyTo) || e.Forwarded != nil && p.is(e.Forwarded.From) ||
		len(e.History) > 0 && slices.Contains(p.Groups, chat)
	return own, involved
}

// isQuoted reports whether a quote is of the person, or of an answer to them.
func (p Person) isQuoted(chat channels.Chat, q *terminal.Quote) bool {
	return q != nil && (p.is(q.User) || slices.Contains(p.Answers[chat], q.ID))
}

func (p Person) is(u *terminal.User) bool { return u != nil && u.ID == p.User }

// wrote reports whether the person wrote a line during the turn, and whether it has something of
// the person.
func (p Person) wrote(chat channels.Chat, l cassette.Line) (wrote, involved bool) {
	switch {
	case l.Inject != nil:
		return p.is(l.Inject.User), p.is(l.Inject.User) || p.isQuoted(chat, l.Inject.ReplyTo)
	case l.Answer != nil:
		return l.Answer.By == p.User, l.Answer.By == p.User
	}
	return false, false
}

// isOthers reports whether somebody else wrote a line.
func (p Person) isOthers(l cassette.Line) bool {
	return l.Inject != nil && l.Inject.User != nil && !p.is(l.Inject.User) ||
		l.Answer != nil && l.Answer.By != "" && l.Answer.By != p.User
}

// hideOthers returns a line without what others wrote in a group.
func (p Person) hideOthers(l cassette.Line, text []byte) (cassette.Line, json.RawMessage) {
	var quotes []**terminal.Quote
	switch {
	case l.Envelope != nil && !slices.Contains(p.Chats, chatOf(*l.Envelope)):
		l.Envelope.History = nil
		quotes = append(quotes, &l.Envelope.ReplyTo)
	case l.Inject != nil:
		quotes = append(quotes, &l.Inject.ReplyTo)
	default:
		return l, text
	}
	for _, q := range quotes {
		if *q != nil && !p.is((*q).User) {
			media := (*q).Media
			l.Files = slices.DeleteFunc(l.Files, func(f cassette.File) bool { return slices.Contains(media, f.Path) })
			*q = &terminal.Quote{ID: (*q).ID}
		}
	}
	text, err := json.Marshal(l)
	if err != nil { // cannot happen: it was decoded
		text = []byte("null")
	}
	return l, text
}
