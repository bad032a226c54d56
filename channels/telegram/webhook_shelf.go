package telegram

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.uber.org/zap"
)

// shelf keeps on disk what came and cannot be handed on at once.
//
// Telegram delivers a chat's updates one by one: the second part of an album comes when the first
// was answered. So the answer cannot wait for the album, and what was answered must not be lost: it
// lies here until it is received. And a poll hands out a hundred updates from the first that is not
// confirmed: one that waits must not hide what follows. A slip is one entry, a file NUMBER.open (an
// album that may get more parts) or NUMBER.sealed. Of an album that was received NUMBER.done is
// left for as long as Telegram may deliver a part again, because the store knows only its first
// part.
type shelf struct {
	dir  string
	log  *zap.Logger
	done map[int64]time.Time // the updates of albums that were received, and when
}

// slip is what the shelf has of an entry.
type slip struct {
	name    string // the number of its first update
	updates []int64
	raw     []json.RawMessage // the updates as Telegram sent them
	sealed  bool
}

const (
	openSlip   = ".open"
	sealedSlip = ".sealed"
	doneSlip   = ".done"
	unfinished = ".slip-"
	// redelivery is how long Telegram may deliver an update again; it gives up after a day.
	redelivery = 25 * time.Hour
)

func newShelf(dir string, log *zap.Logger) *shelf {
	return &shelf{dir: dir, log: log, done: map[int64]time.Time{}}
}

// load returns what an earlier run has left, oldest first.
func (s *shelf) load() ([]*slip, error) {
	files, err := os.ReadDir(s.dir)
	if s.dir == "" || errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the shelf: %w", err)
	}
	var slips []*slip
	for _, f := range files {
		ext := filepath.Ext(f.Name())
		if strings.HasPrefix(f.Name(), unfinished) {
			_ = os.Remove(filepath.Join(s.dir, f.Name()))
		}
		if ext != openSlip && ext != sealedSlip && ext != doneSlip {
			continue
		}
		one, at, err := s.read(f.Name())
		switch {
		case err != nil:
			// One that is broken must not keep the others from being received.
			s.log.Error("update on the shelf cannot be read and stays there", zap.String("file", f.Name()), zap.Error(err))
		case ext == doneSlip:
			s.remember(one, at)
		default:
			one.sealed = ext == sealedSlip
			slips = append(slips, one)
		}
	}
	s.clear()
	slices.SortFunc(slips, func(a, b *slip) int { return cmp.Compare(a.updates[0], b.updates[0]) })
	return slips, nil
}

// read returns a slip and when it was written.
func (s *shelf) read(name string) (*slip, time.Time, error) {
	path := filepath.Join(s.dir, name)
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, time.Time{}, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, time.Time{}, err
	}
	one := &slip{name: strings.TrimSuffix(name, filepath.Ext(name))}
	if err := json.Unmarshal(b, &one.raw); err != nil {
		return nil, time.Time{}, err
	}
	if len(one.raw) == 0 {
		return nil, time.Time{}, errors.New("there is no update in it")
	}
	for _, raw := range one.raw {
		var u update
		if err := json.Unmarshal(raw, &u); err != nil {
			return nil, time.Time{}, err
		}
		one.updates = append(one.updates, u.ID)
	}
	return one, info.ModTime(), nil
}

// put adds an update to a slip, or to a new one, and returns it once it is on disk.
func (s *shelf) put(old *slip, id int64, raw []byte, open bool) (*slip, error) {
	next := &slip{name: strconv.FormatInt(id, 10), sealed: !open}
	if old != nil {
		next.name, next.updates, next.raw = old.name, slices.Clone(old.updates), slices.Clone(old.raw)
	}
	next.updates, next.raw = append(next.updates, id), append(next.raw, bytes.Clone(raw))
	b, err := json.Marshal(next.raw)
	if err == nil {
		err = s.write(next.file(), b)
	}
	if err != nil {
		return nil, fmt.Errorf("keep update %d: %w", id, err)
	}
	return next, nil
}

// write makes a file appear whole or not at all.
func (s *shelf) write(name string, content []byte) error {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(s.dir, unfinished+"*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) //nolint:errcheck // it has another name by then, or nobody needs it
	_, err = f.Write(content)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return s.rename(filepath.Base(f.Name()), name)
}

func (s *shelf) rename(from, to string) error {
	if err := os.Rename(filepath.Join(s.dir, from), filepath.Join(s.dir, to)); err != nil {
		return err
	}
	return s.sync()
}

func (s *shelf) sync() error { return syncDir(s.dir) }

// syncDir makes new names in a folder last.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

func (p *slip) file() string {
	if p.sealed {
		return p.name + sealedSlip
	}
	return p.name + openSlip
}

// seal notes that an album gets no more parts.
func (s *shelf) seal(p *slip) error {
	if p == nil || p.sealed {
		return nil
	}
	err := os.Rename(filepath.Join(s.dir, p.file()), filepath.Join(s.dir, p.name+sealedSlip))
	if err == nil {
		p.sealed = true
		err = s.sync()
	}
	if err != nil {
		return fmt.Errorf("close an album: %w", err)
	}
	return nil
}

// drop takes away what was received. If that fails it is received again after a restart, which the
// store notices.
func (s *shelf) drop(p *slip, album bool) {
	if p == nil {
		return
	}
	var err error
	if album {
		s.remember(p, time.Now())
		err = s.rename(p.file(), p.name+doneSlip)
		s.clear()
	} else {
		err = os.Remove(filepath.Join(s.dir, p.file()))
	}
	if err != nil {
		s.log.Warn("update received and still on the shelf", zap.Error(err))
	}
}

func (s *shelf) remember(p *slip, at time.Time) {
	for _, id := range p.updates {
		s.done[id] = at
	}
}

// clear removes what is left of albums that Telegram has forgotten.
func (s *shelf) clear() {
	for id, at := range s.done {
		if time.Since(at) < redelivery {
			continue
		}
		delete(s.done, id)
		err := os.Remove(filepath.Join(s.dir, strconv.FormatInt(id, 10)+doneSlip)) // there is one by the first part
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			s.log.Warn("old album not removed from the shelf", zap.Error(err))
		}
	}
}

// sound returns the outcome of a delivery, which is not confirmed if the folder that it lies in was
// removed or replaced.
func (c *Channel) sound(err error) error {
	if err == nil && c.o.Sound != nil {
		err = c.o.Sound()
	}
	return err
}

// has tells whether an update is on the shelf, or was and is received.
func (in *intake) has(id int64) bool {
	if _, ok := in.shelf.done[id]; ok {
		return true
	}
	return slices.ContainsFunc(in.queue, func(e *entry) bool { return e.slip != nil && slices.Contains(e.slip.updates, id) })
}
