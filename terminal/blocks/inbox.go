package blocks

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"nanobot/internal/lazyregexp"
	"nanobot/internal/words"
	"nanobot/terminal"
)

const (
	// stableFor is how long a file in the inbox must be unchanged to count as complete.
	stableFor = time.Second
	// partSuffix is the suffix of messages that are not yet joined to a response.
	partSuffix = ".part"
	// joinedSuffix is the suffix of responses that were joined from messages.
	joinedSuffix = "-joined.txt"
	// readRetention is how long the IDs of messages that were read are kept. Networks redeliver a
	// message for some days at most.
	readRetention = 30 * 24 * time.Hour
)

// messageHash returns a message's ID in a form that is safe in file names.
func messageHash(id string) string {
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:8])
}

// wasRead reports whether a message is already part of a response.
func (f *folder) wasRead(hash string) (bool, error) {
	if _, err := f.read.Lstat(hash); !errors.Is(err, fs.ErrNotExist) {
		return err == nil, err
	}
	names, err := fs.Glob(f.inbox.FS(), "*-"+hash+partSuffix)
	return len(names) > 0, err
}

// pruneRead removes the IDs that are older than readRetention.
func (f *folder) pruneRead() {
	entries, _ := fs.ReadDir(f.read.FS(), ".")
	for _, e := range entries {
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > readRetention {
			_ = f.read.Remove(e.Name()) // otherwise the next session tries again
		}
	}
}

// readAttachment reads a file that a person has sent.
func readAttachment(path string, limit int) ([]byte, error) {
	dir, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	defer func() { _ = dir.Close() }()
	content, err := readFile(dir, filepath.Base(path), limit)
	switch {
	case errors.Is(err, fs.ErrInvalid):
		err = words.NewError(words.BlocksNotRegular)
	case errors.Is(err, errTooLarge):
		err = words.NewError(words.BlocksFileTooLarge, limit)
	}
	return content, err
}

// responsePart is a message that is not yet joined to a response.
type responsePart struct{ name, hash string }

// parts returns the messages that answer the newest outbox, in the order of arrival.
func (p *personTransport) parts() (all []responsePart) {
	names, _ := fs.Glob(p.x.files.inbox.FS(), roundFile(p.x.s.ID, p.x.s.Sequence)+"-*"+partSuffix)
	slices.Sort(names)
	for _, name := range names {
		hash := strings.TrimSuffix(name[strings.LastIndexByte(name, '-')+1:], partSuffix)
		all = append(all, responsePart{name, hash})
	}
	return all
}

// writePart stores a message as the last part so far.
func (p *personTransport) writePart(m terminal.PersonMessage, text string) error {
	number, id := len(p.parts())+1, m.ID
	if id == "" { // without an ID it is delivered only once
		id = time.Now().String()
	}
	name := fmt.Sprintf("%s-%06d-%s%s", roundFile(p.x.s.ID, p.x.s.Sequence), number, messageHash(id), partSuffix)
	return writeFile(p.x.files.inbox, name, []byte(text), true)
}

// joinParts joins the parts to a response once no further part has arrived for joinWindow. Until
// then it returns the remaining time, or 0 if there are no parts.
func (p *personTransport) joinParts() (r response, left time.Duration, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	parts := p.parts()
	if len(parts) == 0 {
		return response{}, 0, nil
	}
	if p.lastPart.IsZero() { // the parts were read before a crash
		p.lastPart = time.Now()
	}
	if left := joinWindow - time.Since(p.lastPart); left > 0 {
		return response{}, left, nil
	}
	r.name = p.joinedName()
	if err := p.writeResponse(r.name, parts); err != nil {
		return response{}, 0, err
	}
	if err := p.markRead(parts); err != nil {
		return response{}, 0, err
	}
	p.reading, p.lastPart = false, time.Time{}
	return r, 0, nil
}

func (p *personTransport) joinedName() string {
	return strings.TrimSuffix(roundFile(p.x.s.ID, p.x.s.Sequence), ".txt") + joinedSuffix
}

// joinedResponse returns the response that was joined before a crash, if there is one. It is called
// before further messages are read, so that those which are left are parts of it.
func (p *personTransport) joinedResponse() (response, error) {
	name := p.joinedName()
	if info, err := p.x.files.inbox.Lstat(name); err != nil || !info.Mode().IsRegular() {
		return response{}, nil //nolint:nilerr // there is none
	}
	return response{name: name}, p.markRead(p.parts())
}

// markRead records the messages of a joined response and removes them from the inbox.
func (p *personTransport) markRead(parts []responsePart) error {
	for _, part := range parts {
		if err := writeFile(p.x.files.read, part.hash, nil, true); err != nil {
			return err
		}
	}
	for _, part := range parts {
		_ = p.x.files.inbox.Remove(part.name) // joinedResponse tries again
	}
	return nil
}

func (p *personTransport) writeResponse(name string, parts []responsePart) error {
	var texts []string
	for _, part := range parts {
		content, err := readFile(p.x.files.inbox, part.name, 2*p.x.t.MaxLine)
		if err != nil {
			return fmt.Errorf("read answer: %w", err)
		}
		texts = append(texts, string(content))
	}
	return writeFile(p.x.files.inbox, name, []byte(strings.Join(texts, "\n")), true)
}

// renameToResponse renames a saved file to the name of the session's response, so that no other
// session executes it.
func (p *personTransport) renameToResponse(name string) response {
	r := response{name: roundFile(p.x.s.ID, p.x.s.Sequence), savedAs: name}
	if name == "" {
		return response{}
	}
	// A file that already has this name waits for a later round.
	if _, err := p.x.files.inbox.Lstat(r.name); err == nil || p.x.files.inbox.Rename(name, r.name) != nil {
		r.name = name
	}
	return r
}

// savedAnswer returns a file that somebody has saved in the inbox as a response, or "". A file that
// cannot be read is reported to the person and not moved.
func (p *personTransport) savedAnswer(saved savedFiles) (string, error) {
	name, err := saved.findOldestStable(p.x.files.inbox, p.x.s.ID)
	if name == "" || err != nil {
		return "", err
	}
	f, err := p.x.files.inbox.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		saved[name] = savedFile{unreadable: true}
		return "", p.x.sendMessage(terminal.Frame{Text: p.x.text(words.BlocksInboxNotRead, visiblePath(name),
			errorReason(p.x.t.Words, err))})
	}
	return name, f.Close()
}

// savedFiles are the files that somebody has saved in the inbox by hand.
type savedFiles map[string]savedFile

// savedFile is the last observed state of a file, and since when it is unchanged.
type savedFile struct {
	size  int64
	mod   time.Time
	since time.Time
	// unreadable means that the person was told that the file cannot be read.
	unreadable bool
}

// storedResponse matches the names of responses that the gateway has stored.
var storedResponse = lazyregexp.New(`^([0-9a-f]{8})_seq[0-9]{4,}(-joined)?\.txt$`)

// findOldestStable returns the oldest file once it is stable, or "". Responses of other sessions
// are skipped; they wait until those sessions are resumed.
func (s savedFiles) findOldestStable(inbox *os.Root, session string) (string, error) {
	entries, err := fs.ReadDir(inbox.FS(), ".")
	if err != nil {
		return "", fmt.Errorf("search the inbox: %w", err)
	}
	var names []string
	for _, e := range entries {
		if m := storedResponse().FindStringSubmatch(e.Name()); m != nil && m[1] != session {
			continue
		}
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() || !strings.HasSuffix(e.Name(), ".txt") {
			continue // not a response, or just removed
		}
		seen, ok := s[e.Name()]
		if seen.unreadable {
			continue
		}
		if !ok || seen.size != info.Size() || !seen.mod.Equal(info.ModTime()) {
			s[e.Name()] = savedFile{size: info.Size(), mod: info.ModTime(), since: time.Now()}
		}
		names = append(names, e.Name())
	}
	if len(names) == 0 {
		return "", nil
	}
	oldest := slices.MinFunc(names, func(a,
		b string,
	) int {
		return cmp.Or(s[a].mod.Compare(s[b].mod), strings.Compare(a, b))
	})
	if time.Since(s[oldest].since) < stableFor {
		return "", nil
	}
	return oldest, nil
}
