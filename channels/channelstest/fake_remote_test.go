package channelstest

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"nanobot/channels"
	"nanobot/channels/channelstest/fakenet"
)

// remoteState is what a network has for the fields of Remote.
type remoteState struct {
	dir             string // of downloaded files
	userName        string
	failedSends     int // the next sends that fail
	failedDownloads int
	downloads       int
	clockOffset     time.Duration
	connected       bool
	stranger        bool // the user is not admitted
}

func (n *network) remote() *Remote {
	count := func(to *int) func(...fakenet.Fault) {
		return func(faults ...fakenet.Fault) { *to += len(faults) }
	}
	return &Remote{
		New: func(s RemoteSettings) channels.Channel {
			n.stranger = s.Admitted != nil && !s.Admitted("7")
			return fakeChannel{n, &channelState{memory: n.memory, token: s.Token, stranger: n.stranger}}
		},
		WrongToken: "wr0ng",
		RenameUser: func(name string) { n.userName = name },
		UserSendsFile: func(text, name, content string) {
			n.addUserMessage(userMessage{text: text, toBot: true, file: name, content: content})
		},
		UserReplies:       func(to, text string) { n.addUserMessage(userMessage{text: text, toBot: true, replyTo: to}) },
		FailSend:          count(&n.failedSends),
		FailDownload:      count(&n.failedDownloads),
		Downloads:         func() int { return n.downloads },
		AdvanceClock:      func(d time.Duration) { n.clockOffset += d },
		AwaitDisconnected: func(time.Duration) bool { return !n.connected },
	}
}

// addFiles adds the files and the quote of a message.
func (f fakeChannel) addFiles(in *channels.Incoming, s userMessage) {
	if s.file != "" && !f.stranger {
		in.Media = []string{f.net.download(s)}
	}
	if s.replyTo != "" {
		at, _ := strconv.Atoi(s.replyTo)
		to, _, _ := f.net.userMessageAt(max(0, at-1))
		in.ReplyTo = &channels.Quote{ID: s.replyTo, Text: to.text, Media: []string{f.net.download(to)}}
	}
}

// download downloads a file, after as many attempts as it takes.
func (n *network) download(s userMessage) (path string) {
	n.failedDownloads = 0
	n.downloads++
	path = filepath.Join(n.dir, s.file)
	if err := os.WriteFile(path, []byte(s.content), 0o600); err != nil {
		panic(err)
	}
	return path
}

// compareClocks returns a finding if the clocks differ.
func (n *network) compareClocks() []channels.Finding {
	says := map[bool]string{true: "behind", false: "ahead of"}[n.clockOffset > 0]
	if n.clockOffset == 0 {
		return nil
	}
	return []channels.Finding{{Check: "fake.clock", Status: channels.Doubtful, Detail: fmt.Sprintf("%s by %s", says, n.clockOffset), Fix: "set it"}}
}

// failsSend reports whether the next send fails. From now on the bot has a connection.
func (n *network) failsSend() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.connected = true
	if n.failedSends == 0 {
		return false
	}
	n.failedSends--
	return true
}
