// Package cassette is the format of recorded turns: a cassette is a file with one JSON object on
// each line. The package writes, redacts, reads and compares cassettes, and plays one as an agent.
// It starts no agents and knows nothing of chat networks.
package cassette

import (
	"path/filepath"
	"strings"

	"nanobot/terminal"
)

// Version is the version of the format.
const Version = 1

// Suffix is the end of a cassette's file name.
const Suffix = ".nbt.jsonl"

// FilesDir returns the folder with the files of a cassette.
func FilesDir(path string) string { return strings.TrimSuffix(path, Suffix) + ".files" }

// Name returns the name of a cassette without its folder and Suffix.
func Name(path string) string { return strings.TrimSuffix(filepath.Base(path), Suffix) }

// Type is the type of a line.
type Type string

// The types of the lines. The first line of a cassette is a TypeCassette.
const (
	TypeCassette Type = "cassette"
	TypeEnvelope Type = "envelope"
	TypeFrame    Type = "frame"
	TypeAsk      Type = "ask"
	TypeAnswer   Type = "answer"
	TypeInject   Type = "inject"
	TypeSend     Type = "send"
	TypeReceipt  Type = "receipt"
	TypeExit     Type = "exit"
)

// Header is the first line of a cassette. The writer sets Type and Version.
type Header struct {
	Type     Type   `json:"type"`
	Version  int    `json:"version"`
	Agent    string `json:"agent"`
	Protocol string `json:"protocol"`
	Config   Config `json:"config"`
	Nanobot  string `json:"nanobot"` // the version of nanobot
}

// Config has the settings of the agent on which its messages depend.
type Config struct {
	Interactive bool   `json:"interactive"`
	PassMedia   bool   `json:"pass_media"`
	Format      string `json:"format,omitempty"`
	Stderr      string `json:"stderr,omitempty"`
}

// Line is any other line: At, in milliseconds since the turn began, Type, and the field for Type.
type Line struct {
	At       int64              `json:"at"`
	Type     Type               `json:"type"`
	Envelope *terminal.Envelope `json:"envelope,omitempty"`
	Frame    *Frame             `json:"frame,omitempty"`
	Ask      *Ask               `json:"ask,omitempty"`
	Answer   *Answer            `json:"answer,omitempty"`
	Inject   *Inject            `json:"inject,omitempty"`
	Send     *Send              `json:"send,omitempty"`
	Receipt  *Receipt           `json:"receipt,omitempty"`
	Exit     *Exit              `json:"exit,omitempty"`
	// Files are those of an envelope, a frame, an inject or a send.
	Files []File `json:"files,omitempty"`
}

// File is a file of a line. Its copy is FilesDir/SHA256.
type File struct {
	Path   string `json:"path"`             // when it was recorded
	SHA256 string `json:"sha256,omitempty"` // "": the file was not copied
	Size   int64  `json:"size"`
}

// Frame is what the agent has printed, as the chat got it. Its fields are those of a rich frame,
// and those after them, which only nanobot sets.
type Frame struct {
	Type    terminal.Kind   `json:"type"`
	Text    string          `json:"text,omitempty"`
	Media   []string        `json:"media,omitempty"` // the paths of Line.Files
	Buttons []string        `json:"buttons,omitempty"`
	Silent  bool            `json:"silent,omitempty"`
	Code    string          `json:"code,omitempty"`
	Level   string          `json:"level,omitempty"`
	Format  terminal.Format `json:"format,omitempty"` // "": Markdown
	// Board says that a progress is the complete state of the turn, and Own that nanobot says the
	// text and not the agent.
	Board bool `json:"board,omitempty"`
	Own   bool `json:"own,omitempty"`
	// Appended is the end of Text that nanobot has made of stderr and the exit code.
	Appended string `json:"appended,omitempty"`
	Screen   string `json:"screen,omitempty"` // the text of a terminal screen
}

// Ask is a question. Number counts the questions of the turn from 1.
type Ask struct {
	Number   int      `json:"number"`
	ID       string   `json:"id,omitempty"`
	Text     string   `json:"text"`
	Options  []string `json:"options,omitempty"`
	Approval bool     `json:"approval,omitempty"`
	Secret   bool     `json:"secret,omitempty"`
}

// Answer is the answer to the question of a Number, or the reason why there is none.
type Answer struct {
	Number int    `json:"number"`
	Text   string `json:"text"`
	Option int    `json:"option,omitempty"` // from 1; 0: none of the options
	By     string `json:"by,omitempty"`     // the person's ID
	Error  string `json:"error,omitempty"`
}

// Inject is a message that a person sent to the running turn.
type Inject struct {
	Text      string              `json:"text"`
	Media     []string            `json:"media,omitempty"` // the paths of Line.Files
	User      *terminal.User      `json:"user,omitempty"`
	ReplyTo   *terminal.Quote     `json:"reply_to,omitempty"`
	Forwarded *terminal.Forwarded `json:"forwarded,omitempty"`
}

// Send is one network call that sends a message. ID connects it with its Receipt.
type Send struct {
	ID      string   `json:"id"`
	Kind    string   `json:"kind,omitempty"`
	Text    string   `json:"text,omitempty"`
	Format  string   `json:"format,omitempty"`
	Buttons []string `json:"buttons,omitempty"`
}

// Receipt is the result of a Send.
type Receipt struct {
	ID        string `json:"id"`
	MessageID string `json:"message_id,omitempty"` // of the network
	State     string `json:"state,omitempty"`      // sent, failed or unknown
	Error     string `json:"error,omitempty"`
}

// Exit is the end of the turn.
type Exit struct {
	Status terminal.Status `json:"status"`
	Code   int             `json:"code"`
	Signal string          `json:"signal,omitempty"`
	Stderr string          `json:"stderr,omitempty"` // its end
	Error  string          `json:"error,omitempty"`  // of the gateway, which could not do its part
}
