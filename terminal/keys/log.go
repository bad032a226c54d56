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
	// dialogueHead and dialogueTail are how many bytes of a dialogue's beginning and end are kept.
	dialogueHead, dialogueTail = 64 << 10, 448 << 10
	// mostEnded is how many chats without a terminal have a log.
	mostEnded = 16
)

// chatLog is what /log sends: the dialogue between the agent, the terminal and the person, and a
// recording of the terminal.
type chatLog struct {
	mu        sync.Mutex
	dialogue  *process.Bounded
	recording *recording // of the newest terminal; nil: there was none
	terminals int        // that have not ended; the mutex of chatLogs guards it
}

func newChatLog() *chatLog {
	return &chatLog{dialogue: process.NewBounded(dialogueHead, dialogueTail)}
}

// startRecording begins the recording of a new terminal, in place of that of the one before.
func (l *chatLog) startRecording(size process.Size) *recording {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.recording = newRecording(size)
	return l.recording
}

// add adds a paragraph to the dialogue.
func (l *chatLog) add(heading, text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	fmt.Fprintf(l.dialogue, "== %s  %s\n", time.Now().UTC().Format(time.DateTime), heading)
	if text = strings.TrimRight(text, "\n"); text != "" {
		fmt.Fprintf(l.dialogue, "%s\n", text)
	}
	fmt.Fprintln(l.dialogue)
}

// files returns the content of the dialogue and of the recording.
func (l *chatLog) files() (dialogue string, cast []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.recording != nil {
		cast = l.recording.asciicast()
	}
	return l.dialogue.String(), cast
}

// chatLogs are the logs of the chats. Those of chats without a terminal are bounded in number.
type chatLogs struct {
	mu    sync.Mutex
	logs  map[string]*chatLog
	ended []string // chats without a terminal, the oldest first
}

// use returns the log of a chat whose terminal is opened.
func (c *chatLogs) use(chat string) *chatLog {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unlist(chat)
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

// end says that the terminal of a log has ended. Nothing happens if the chat has another log.
func (c *chatLogs) end(chat string, l *chatLog) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.logs[chat] != l {
		return
	}
	if l.terminals--; l.terminals > 0 {
		return
	}
	c.ended = append(c.ended, chat)
	for len(c.ended) > mostEnded {
		delete(c.logs, c.ended[0])
		c.ended = c.ended[1:]
	}
}

// forget removes the log of a chat that starts afresh.
func (c *chatLogs) forget(chat string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unlist(chat)
	delete(c.logs, chat)
}

func (c *chatLogs) unlist(chat string) {
	c.ended = slices.DeleteFunc(c.ended, func(name string) bool { return name == chat })
}
