package discord

import (
	"slices"
	"strings"
	"time"
)

const (
	// margin is how much older than the newest message the mark is: Discord may tell of a message
	// later than of one that was said after it in another channel.
	margin = 5 * time.Minute
	// longestAbsence is how far back is looked for what was said while we were away.
	longestAbsence = 7 * 24 * time.Hour
	// firstLook is how far back is looked when nothing is known, in which case only what was said
	// to us since we last spoke counts.
	firstLook = time.Hour
	// mostChats is how many direct conversations and threads are remembered. Discord does not tell
	// which direct conversations a bot has, nor of threads that went quiet.
	mostChats = 500
)

// memory is what must be known to miss nothing: up to where everything was stored, which is in the
// cursor of each message, and where to look for what came after. Ids are in the order of time, so
// one mark is enough for all chats.
type memory struct {
	mark   flake          // what is not newer was stored, in all chats; 0: there is no cursor
	came   flake          // when we came, if there was no cursor: of what was said before we do not know what was answered
	newest flake          // message that was heard of
	chats  []chat         // the last to speak first
	seen   map[flake]bool // what is newer than the mark and was taken in
	swept  int            // how many were left in seen when it was last gone through

	loaded        bool // the stored list of chats was read
	listed, saved int  // versions of that list: the one in use, and the one that is stored
}

// chat is a conversation of which Discord does not tell by itself.
type chat struct {
	id     flake
	thread bool
}

// newMemory reads a cursor: the mark; when we came, with a c; then, in cursors of earlier versions,
// the chats. What cannot be read is like none.
func newMemory(cursor string) memory {
	m := memory{seen: map[flake]bool{}}
	first, rest, _ := strings.Cut(strings.TrimSpace(cursor), " ")
	m.mark = parseFlake(first)
	if came, ok := strings.CutPrefix(rest, "c"); ok {
		first, rest, _ = strings.Cut(came, " ")
		m.came = parseFlake(first)
	}
	m.add(rest)
	return m
}

// cursor writes down what is known when everything up to mark was stored.
func (m *memory) cursor(mark flake) string {
	cursor := mark.String()
	if m.came > mark { // the search through what was said before is not over
		cursor += " c" + m.came.String()
	}
	return cursor
}

// list writes down the chats, threads with a t.
func (m *memory) list() string {
	var b strings.Builder
	for i, c := range m.chats {
		if i > 0 {
			b.WriteByte(' ')
		}
		if c.thread {
			b.WriteByte('t')
		}
		b.WriteString(c.id.String())
	}
	return b.String()
}

// add reads such a list and puts its chats behind those that are known.
func (m *memory) add(list string) {
	for word := range strings.FieldsSeq(list) {
		number, thread := strings.CutPrefix(word, "t")
		c := chat{parseFlake(number), thread}
		if c.id != 0 && len(m.chats) < mostChats && !slices.Contains(m.chats, c) {
			m.chats = append(m.chats, c)
		}
	}
}

// begin sets the mark when a Run begins. One that lies in the future is none.
func (m *memory) begin(now time.Time) {
	if m.mark == 0 || m.mark > flakeAt(now.Add(24*time.Hour)) {
		m.mark, m.came = flakeAt(now).back(firstLook), flakeAt(now)
	}
	m.mark = max(m.mark, flakeAt(now).back(longestAbsence))
	m.newest = max(m.newest, m.mark)
}

// see notes that something is taken in, and reports whether it is new.
func (m *memory) see(id flake) bool {
	if m.seen[id] {
		return false
	}
	m.seen[id] = true
	if len(m.seen) > 2*m.swept+100 {
		for old := range m.seen {
			if old <= m.mark {
				delete(m.seen, old)
			}
		}
		m.swept = len(m.seen)
	}
	return true
}

// talked notes that a chat is in use.
func (m *memory) talked(c chat) {
	i := slices.Index(m.chats, c)
	switch {
	case i >= 0:
		m.chats = slices.Delete(m.chats, i, i+1)
	case len(m.chats) == mostChats:
		m.chats = m.chats[:mostChats-1]
	}
	m.chats = slices.Insert(m.chats, 0, c)
	if i < 0 {
		m.listed++
	}
}

// gone forgets a chat that does not exist any more. That is stored with the next chat that is new:
// one that is asked for again is refused again.
func (m *memory) gone(id flake) {
	m.chats = slices.DeleteFunc(m.chats, func(c chat) bool { return c.id == id })
}
