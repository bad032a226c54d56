package keys

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"nanobot/terminal/process"
)

const (
	// dialogueHead and dialogueTail are how many bytes of the start and the end of a dialogue are
	// stored.
	dialogueHead, dialogueTail = 64 << 10, 448 << 10
	// maxEndedLogs limits the logs of chats whose terminal has ended.
	maxEndedLogs = 16
)

// chatLog is the content of /log: the dialogue between the agent, the terminal and the person, and
// a recording of the terminal.
type chatLog struct {
	mu        sync.Mutex
	dialogue  *process.Bounded
	recording *recording // of the newest terminal; nil if there was none
	terminals int        // number of running terminals; protected by the mutex of chatLogs
}

func newChatLog() *chatLog {
	return &chatLog{dialogue: process.NewBounded(dialogueHead, dialogueTail)}
}

// startRecording starts the recording of a new terminal, which replaces the previous recording.
func (l *chatLog) startRecording(size process.Size) *recording {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.recording = newRecording(size)
	return l.recording
}

// addEntry adds an entry to the dialogue.
func (l *chatLog) addEntry(heading, text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	fmt.Fprintf(l.dialogue, "== %s  %s\n", time.Now().UTC().Format(time.DateTime), heading)
	if text = strings.TrimRight(text, "\n"); text != "" {
		fmt.Fprintf(l.dialogue, "%s\n", text)
	}
	fmt.Fprintln(l.dialogue)
}

// exportFiles returns the dialogue and the recording, as an asciicast.
func (l *chatLog) exportFiles() (dialogue string, cast []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.recording != nil {
		cast = l.recording.asciicast()
	}
	return l.dialogue.String(), cast
}

// chatLogs are the logs of the chats. The number of logs without a terminal is limited.
type chatLogs struct {
	mu    sync.Mutex
	logs  map[string]*chatLog
	ended []string // chats without a terminal, oldest first
}

// openLog returns the log of a chat that opens a terminal.
func (c *chatLogs) openLog(chat string) *chatLog {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.removeEnded(chat)
	if c.logs == nil {
		c.logs = map[string]*chatLog{}
	}
	l := c.logs[chat]
	if l == nil {
		l = newChatLog()
		c.logs[chat] = l
	}
	l.terminals++
	return l
}

// find returns the log of a chat, or nil.
func (c *chatLogs) find(chat string) *chatLog {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.logs[chat]
}

// closeLog records that a terminal of the log has ended. It does nothing if the chat has another
// log by now.
func (c *chatLogs) closeLog(chat string, l *chatLog) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.logs[chat] != l {
		return
	}
	if l.terminals--; l.terminals > 0 {
		return
	}
	c.ended = append(c.ended, chat)
	for len(c.ended) > maxEndedLogs {
		delete(c.logs, c.ended[0])
		c.ended = c.ended[1:]
	}
}

// remove removes the log of a chat.
func (c *chatLogs) remove(chat string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.removeEnded(chat)
	delete(c.logs, chat)
}

func (c *chatLogs) removeEnded(chat string) {
	c.ended = slices.DeleteFunc(c.ended, func(name string) bool { return name == chat })
}
