// Package posts is the protocol of nanobot send and nanobot ask on the daemon's socket: one request
// with files, and one reply, or two if the client waits for the delivery. It knows neither who may
// post nor what becomes of a message.
package posts

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"nanobot/internal/peersocket"
)

// Request is a message that a process posts.
type Request struct {
	Ask  bool   `json:"ask,omitempty"`  // it is for an agent; otherwise it is sent
	Chat string `json:"chat,omitempty"` // channel:id; "": the chat that the process acts for
	Text string `json:"text,omitempty"`
	// Files are the paths of an agent's files, or the names of the operator's files, which are
	// passed open.
	Files   []string `json:"files,omitempty"`
	Key     string   `json:"key,omitempty"`
	Wait    bool     `json:"wait,omitempty"`
	Agent   string   `json:"agent,omitempty"`   // of Ask
	Silent  bool     `json:"silent,omitempty"`  // of a message that is sent
	Buttons []string `json:"buttons,omitempty"` // of a message that is sent
}

// Reply says that the message is on disk or, the second time, that it was delivered.
type Reply struct {
	Error string `json:"error,omitempty"` // why it is not; "": it is
	Usage bool   `json:"usage,omitempty"` // the request itself is wrong
}

const (
	// MaxText is the longest text, in bytes.
	MaxText = 1 << 20
	// MaxFiles is how many files a message may have.
	MaxFiles = 20
	// maxRequest has room for a text of control characters, each of which is six bytes of JSON.
	maxRequest = 6*MaxText + 1<<20
	// requestTimeout is how long a process may take to send its request.
	requestTimeout = 10 * time.Second
)

// ErrNoRequest says that the client did not send a request.
var ErrNoRequest = errors.New("the process sent no request")

// Send sends a request and the operator's files.
func (r Request) Send(conn *net.UnixConn, files []*os.File) error {
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return peersocket.WriteWithFiles(conn, append(line, '\n'), files)
}

// Receive reads a request. The caller closes the files, which have the base names of the request.
func Receive(conn *net.UnixConn) (r Request, files []*os.File, err error) {
	if err := conn.SetReadDeadline(time.Now().Add(requestTimeout)); err != nil {
		return r, nil, err
	}
	line, passed, err := peersocket.ReadLine(conn, maxRequest, MaxFiles)
	if err == nil {
		err = json.Unmarshal(line, &r)
	}
	if err == nil && len(passed) > len(r.Files) {
		err = errors.New("a file has no name")
	}
	if err != nil {
		passed.Close()
		return r, nil, fmt.Errorf("%w: %w", ErrNoRequest, err)
	}
	files = passed.Files(func(i int) string { return baseName(r.Files[i]) })
	return r, files, conn.SetReadDeadline(time.Time{})
}

// baseName returns the last part of a path, which is the name of a file and of no folder.
func baseName(path string) string {
	name := filepath.Base(strings.ToValidUTF8(path, "_"))
	if strings.Trim(name, "./") == "" {
		return "file"
	}
	return name
}

// Send sends a reply.
func (r Reply) Send(conn *net.UnixConn) error {
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	_, err = conn.Write(append(line, '\n'))
	return err
}

// ReceiveReply reads a reply. The error is io.EOF if the daemon has ended.
func ReceiveReply(in *bufio.Reader) (r Reply, err error) {
	line, err := in.ReadSlice('\n')
	if err != nil {
		return r, err
	}
	return r, json.Unmarshal(line, &r)
}
