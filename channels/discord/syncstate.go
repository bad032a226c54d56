package discord

import (
	"slices"
	"strings"
	"time"
)

const (
	// reorderMargin is how far the watermark stays behind the newest message: events of different
	// channels may arrive out of order.
	reorderMargin = 5 * time.Minute
	// maxLookback bounds how old missed messages may be that are fetched.
	maxLookback = 7 * 24 * time.Hour
	// firstRunLookback is the lookback without a cursor. Then only messages to the bot since its
	// own last message count.
	firstRunLookback = time.Hour
	// maxChats bounds the remembered direct message channels and threads. Discord lists neither a
	// bot's direct messages nor archived threads.
	maxChats = 500
)

// syncState is the position up to which all messages were stored, and the chats in which to look
// for newer ones. IDs sort by time, so one watermark is enough for all chats.
type syncState struct {
	watermark snowflake // all messages up to this ID are stored; 0: there is no cursor
	// the time of a first run without a cursor: which older messages were answered is not known
	firstRun      snowflake
	newestMessage snowflake          // the highest message ID seen
	chats         []chat             // most recently used first
	accepted      map[snowflake]bool // IDs above the watermark that were accepted
	sweptSize     int                // size of accepted after its last cleanup

	chatsLoaded                bool // the stored list of chats was read
	chatsVersion, savedVersion int  // versions of the list: in memory, and stored
}

// chat is a direct message channel or thread, which Discord does not list by itself.
type chat struct {
	id     snowflake
	thread bool
}

// newSyncState parses a cursor: the watermark; then, after a c, the first run; then, in cursors of
// earlier versions, the chats. An invalid cursor counts as none.
func newSyncState(cursor string) syncState {
	m := syncState{accepted: map[snowflake]bool{}}
	first, rest, _ := strings.Cut(strings.TrimSpace(cursor), " ")
	m.watermark = parseSnowflake(first)
	if came, ok := strings.CutPrefix(rest, "c"); ok {
		first, rest, _ = strings.Cut(came, " ")
		m.firstRun = parseSnowflake(first)
	}
	m.addChats(rest)
	return m
}

// formatCursor returns the cursor for a watermark.
func (m *syncState) formatCursor(mark snowflake) string {
	cursor := mark.String()
	if m.firstRun > mark { // the search of older messages is not finished
		cursor += " c" + m.firstRun.String()
	}
	return cursor
}

// formatChats returns the list of chats as it is stored, threads with the prefix t.
func (m *syncState) formatChats() string {
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

// addChats parses a stored list and appends the chats that are new.
func (m *syncState) addChats(list string) {
	for word := range strings.FieldsSeq(list) {
		number, thread := strings.CutPrefix(word, "t")
		c := chat{parseSnowflake(number), thread}
		if c.id != 0 && len(m.chats) < maxChats && !slices.Contains(m.chats, c) {
			m.chats = append(m.chats, c)
		}
	}
}

// initWatermark sets the watermark at the start of a Run. A watermark in the future counts as none.
func (m *syncState) initWatermark(now time.Time) {
	if m.watermark == 0 || m.watermark > snowflakeAt(now.Add(24*time.Hour)) {
		m.watermark, m.firstRun = snowflakeAt(now).minus(firstRunLookback), snowflakeAt(now)
	}
	m.watermark = max(m.watermark, snowflakeAt(now).minus(maxLookback))
	m.newestMessage = max(m.newestMessage, m.watermark)
}

// markAccepted records an accepted ID, and reports whether it is new.
func (m *syncState) markAccepted(id snowflake) bool {
	if m.accepted[id] {
		return false
	}
	m.accepted[id] = true
	if len(m.accepted) > 2*m.sweptSize+100 {
		for old := range m.accepted {
			if old <= m.watermark {
				delete(m.accepted, old)
			}
		}
		m.sweptSize = len(m.accepted)
	}
	return true
}

// touchChat moves a chat to the front of the list.
func (m *syncState) touchChat(c chat) {
	i := slices.Index(m.chats, c)
	switch {
	case i >= 0:
		m.chats = slices.Delete(m.chats, i, i+1)
	case len(m.chats) == maxChats:
		m.chats = m.chats[:maxChats-1]
	}
	m.chats = slices.Insert(m.chats, 0, c)
	if i < 0 {
		m.chatsVersion++
	}
}

// forgetChat removes a chat that no longer exists. The removal is stored with the next new chat:
// requesting a removed chat again only repeats the refusal.
func (m *syncState) forgetChat(id snowflake) {
	m.chats = slices.DeleteFunc(m.chats, func(c chat) bool { return c.id == id })
}
