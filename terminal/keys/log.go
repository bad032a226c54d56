package keys

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"nanobot/terminal/process"
	"nanobot/terminal/screen"
)

const (
	// dialogueHead and dialogueTail bound the dialogue of a chat that is kept for /log.
	dialogueHead, dialogueTail = 64 << 10, 448 << 10
	// mostEnded is how many chats without a terminal have a log.
	mostEnded = 16
)

// chatLog is what /log sends: the dialogue between the agent, the terminal and the person, and a
// recording of the terminal.
type chatLog struct {
	mu        sync.Mutex
	dialogue  *process.Bounded
	recording recording
}

func newChatLog() *chatLog {
	return &chatLog{dialogue: process.NewBounded(dialogueHead, dialogueTail)}
}

// begin starts the recording of a new terminal.
func (l *chatLog) begin(now *screen.Snapshot) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.recording = newRecording(now)
}

// record adds output of the terminal, of which the screen does not know yet.
func (l *chatLog) record(output []byte, before *screen.Screen) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.recording.add(output, before)
}

// note adds a paragraph to the dialogue.
func (l *chatLog) note(heading, text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	fmt.Fprintf(l.dialogue, "== %s  %s\n", time.Now().UTC().Format(time.DateTime), heading)
	if text = strings.TrimRight(text, "\n"); text != "" {
		fmt.Fprintf(l.dialogue, "%s\n", text)
	}
	fmt.Fprintln(l.dialogue)
}

// files returns the dialogue and the recording as files; none when nothing has happened.
func (l *chatLog) files() (dialogue string, cast []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.dialogue.String(), l.recording.asciicast()
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
	if c.logs[chat] == nil {
		c.logs[chat] = newChatLog()
	}
	return c.logs[chat]
}

// find returns the log of a chat, or nil.
func (c *chatLogs) find(chat string) *chatLog {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.logs[chat]
}

// end says that a chat has no terminal any more.
func (c *chatLogs) end(chat string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.logs[chat] == nil {
		return
	}
	c.unlist(chat)
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
	for i, name := range c.ended {
		if name == chat {
			c.ended = append(c.ended[:i:i], c.ended[i+1:]...)
			return
		}
	}
}
