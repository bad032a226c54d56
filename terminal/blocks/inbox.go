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
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"nanobot/terminal"
)

const (
	// stableFor is how long a file in the inbox must not have changed to be a response.
	stableFor = time.Second
	// partSuffix ends the names of messages that are not yet joined to a response.
	partSuffix = ".part"
	// joinedSuffix ends the names of responses that were joined from messages.
	joinedSuffix = "-joined.txt"
	// rememberRead is how long a message that was read is known: networks deliver one again for
	// some days at most.
	rememberRead = 30 * 24 * time.Hour
)

// messageHash identifies a message in the names of files.
func messageHash(id string) string {
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:8])
}

// wasRead reports whether a message is in a response, or is a part of one.
func (f *folder) wasRead(hash string) (bool, error) {
	if _, err := f.read.Lstat(hash); !errors.Is(err, fs.ErrNotExist) {
		return err == nil, err
	}
	names, err := fs.Glob(f.inbox.FS(), "*-"+hash+partSuffix)
	return len(names) > 0, err
}

// pruneRead forgets the messages that were read long ago.
func (f *folder) pruneRead() {
	entries, _ := fs.ReadDir(f.read.FS(), ".")
	for _, e := range entries {
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > rememberRead {
			_ = f.read.Remove(e.Name()) // else it is tried again with the next session
		}
	}
}

// readAttachment reads a file that came with a message.
func readAttachment(path string, most int) ([]byte, error) {
	dir, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	defer func() { _ = dir.Close() }()
	content, err := readFile(dir, filepath.Base(path), most)
	switch {
	case errors.Is(err, fs.ErrInvalid):
		err = errors.New("it is not a regular file")
	case errors.Is(err, errTooLarge):
		err = fmt.Errorf("it has more than %d bytes; send it in several parts", most)
	}
	return content, err
}

// part is a message that is not yet joined to a response.
type part struct{ name, hash string }

// parts returns the parts of the response to the newest outbox, in the order of their coming.
func (p *personTransport) parts() (all []part) {
	names, _ := fs.Glob(p.x.files.inbox.FS(), roundFile(p.x.s.ID, p.x.s.Sequence)+"-*"+partSuffix)
	slices.Sort(names)
	for _, name := range names {
		hash := strings.TrimSuffix(name[strings.LastIndexByte(name, '-')+1:], partSuffix)
		all = append(all, part{name, hash})
	}
	return all
}

// writePart stores a message as the last part so far.
func (p *personTransport) writePart(m terminal.PersonMessage, text string) error {
	number, id := len(p.parts())+1, m.ID
	if id == "" { // it is offered once
		id = time.Now().String()
	}
	name := fmt.Sprintf("%s-%06d-%s%s", roundFile(p.x.s.ID, p.x.s.Sequence), number, messageHash(id), partSuffix)
	return writeFile(p.x.files.inbox, name, []byte(text), true)
}

// joinParts makes a response of the parts, once no further one has come for a while. Until then it
// returns how much of that time is left, or 0 if there are none.
func (p *personTransport) joinParts() (r response, left time.Duration, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	parts := p.parts()
	if len(parts) == 0 {
		return response{}, 0, nil
	}
	if p.last.IsZero() { // they came before a crash
		p.last = time.Now()
	}
	if left := joinWithin - time.Since(p.last); left > 0 {
		return response{}, left, nil
	}
	r.name = strings.TrimSuffix(roundFile(p.x.s.ID, p.x.s.Sequence), ".txt") + joinedSuffix
	if _, err := p.x.files.inbox.Lstat(r.name); errors.Is(err, fs.ErrNotExist) { // else they were joined before a crash
		if err := p.writeResponse(r.name, parts); err != nil {
			return response{}, 0, err
		}
	}
	for _, part := range parts {
		if err := writeFile(p.x.files.read, part.hash, nil, true); err != nil {
			return response{}, 0, err
		}
	}
	p.reading, p.last = false, time.Time{}
	for _, part := range parts {
		_ = p.x.files.inbox.Remove(part.name) // one that stays is part of the same response
	}
	return r, 0, nil
}

func (p *personTransport) writeResponse(name string, parts []part) error {
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

// renameToResponse gives a file that somebody has saved the name of the session's response, so that
// no other session executes it.
func (p *personTransport) renameToResponse(name string) response {
	r := response{name: roundFile(p.x.s.ID, p.x.s.Sequence), savedAs: name}
	if name == "" {
		return response{}
	}
	// A file that has this name already waits for a later round.
	if _, err := p.x.files.inbox.Lstat(r.name); err == nil || p.x.files.inbox.Rename(name, r.name) != nil {
		r.name = name
	}
	return r
}

// savedAnswer returns a file that somebody has saved as an answer, or "". One that cannot be read
// is told to the person, and left where it is.
func (p *personTransport) savedAnswer(saved savedFiles) (string, error) {
	name, err := saved.oldestStable(p.x.files.inbox, p.x.s.ID)
	if name == "" || err != nil {
		return "", err
	}
	f, err := p.x.files.inbox.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		saved[name] = savedFile{unreadable: true}
		return "", p.x.say(terminal.Frame{Text: fmt.Sprintf("⚠ %s in the inbox was not read: %s.", visiblePath(name), reason(err))})
	}
	return name, f.Close()
}

// savedFiles are the files that somebody saves in the inbox by hand.
type savedFiles map[string]savedFile

// savedFile is a file as it was seen, and since when it has not changed.
type savedFile struct {
	size  int64
	mod   time.Time
	since time.Time
	// unreadable says that the person was told so.
	unreadable bool
}

// storedResponse matches the names of responses that the gateway stores.
var storedResponse = regexp.MustCompile(`^([0-9a-f]{8})_seq[0-9]{4,}(-joined)?\.txt$`)

// oldestStable returns the oldest file, once it is not being written any more, else "". Responses
// of other sessions wait until these are resumed.
func (s savedFiles) oldestStable(inbox *os.Root, session string) (string, error) {
	entries, err := fs.ReadDir(inbox.FS(), ".")
	if err != nil {
		return "", fmt.Errorf("search the inbox: %w", err)
	}
	var names []string
	for _, e := range entries {
		if m := storedResponse.FindStringSubmatch(e.Name()); m != nil && m[1] != session {
			continue
		}
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() || !strings.HasSuffix(e.Name(), ".txt") {
			continue // it may just be gone
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
	oldest := slices.MinFunc(names, func(a, b string) int { return cmp.Or(s[a].mod.Compare(s[b].mod), strings.Compare(a, b)) })
	if time.Since(s[oldest].since) < stableFor {
		return "", nil
	}
	return oldest, nil
}
