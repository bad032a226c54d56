// Package messageapi accepts the messages that operators post over HTTP to the chats of every
// channel. It does not check access, which is up to the server.
package messageapi

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/channels/downloads"
	"nanobot/gateway"
	"nanobot/gateway/outbox"
	"nanobot/gateway/store"
)

const (
	// maxText, maxKey and maxFiles bound a posted message, maxUpload its files together.
	maxText, maxKey, maxFiles = 1 << 20, 200, 20
	maxUpload                 = 50 << 20
	// uploadTimeout is how long a form may take.
	uploadTimeout = 10 * time.Minute
	// maxWaiting is how many messages of operators may wait.
	maxWaiting = 1000
)

// New returns the handler of the requests POST /api/chats/ID/messages, whose messages are for an
// agent, and POST /api/chats/ID/sends. An ID without a channel is one of the given channel.
func New(g *gateway.Gateway, channel string, log *zap.Logger) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status, response := http.StatusAccepted, any(nil)
		accepted, err := post(w, r, g, channel)
		if err != nil {
			status, response = postStatus(err), map[string]string{"error": err.Error()}
		} else {
			response = postResponse{accepted.Inbound, accepted.Duplicate}
		}
		switch {
		case status == http.StatusTooManyRequests:
			w.Header().Set("Retry-After", "5")
		case status == http.StatusServiceUnavailable:
			log.Warn("message not accepted", zap.String("path", r.URL.Path), zap.Error(err))
		case accepted.Duplicate:
			status = http.StatusOK
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(response) // the client may have disconnected
	})
}

// IsKey reports whether the chat of a request is named by its key, such as telegram:114.
func IsKey(r *http.Request) bool { return strings.Contains(r.PathValue("id"), ":") }

// postResponse says that a message is on disk.
type postResponse struct {
	ID        int64 `json:"id"` // of its turn; 0: the message is known, but was pruned
	Duplicate bool  `json:"duplicate,omitempty"`
}

// postError is a mistake of the client with its status.
type postError struct {
	status int
	error
}

// postStatus returns the status of the response to a message that was not accepted.
func postStatus(err error) int {
	var p postError
	var tooBig *http.MaxBytesError
	var file *outbox.FileError
	switch {
	case errors.As(err, &p):
		return p.status
	case errors.As(err, &tooBig), errors.Is(err, store.ErrTooLarge), downloads.IsRefusal(err):
		return http.StatusRequestEntityTooLarge
	case errors.Is(err, channels.ErrChatDeleted):
		return http.StatusGone
	case errors.Is(err, gateway.ErrBadChat), errors.Is(err, gateway.ErrBadButton), errors.Is(err, gateway.ErrEmpty):
		return http.StatusBadRequest
	case errors.Is(err, gateway.ErrNoChannel):
		return http.StatusNotFound
	case errors.Is(err, gateway.ErrNoAgent), errors.As(err, &file):
		return http.StatusUnprocessableEntity
	case errors.Is(err, gateway.ErrQueueFull):
		return http.StatusTooManyRequests
	}
	return http.StatusServiceUnavailable
}

// postedMessage is the body of a request, as JSON or as a form with files.
type postedMessage struct {
	Text    string   `json:"text"`
	Key     string   `json:"key"`
	Agent   string   `json:"agent"`
	Silent  bool     `json:"silent"`
	Buttons []string `json:"buttons"`

	folder string // of the uploaded files; "": there are none
	files  []channels.File
}

// post reads a message and has it accepted.
func post(w http.ResponseWriter, r *http.Request, g *gateway.Gateway, channel string) (gateway.Accepted, error) {
	id := r.PathValue("id")
	if !IsKey(r) {
		id = channel + ":" + id
	}
	chat, ok := channels.ParseChat(id)
	if !ok {
		return gateway.Accepted{}, gateway.ErrBadChat
	}
	var p postedMessage
	defer p.removeFiles()
	if err := p.read(w, r); err != nil {
		return gateway.Accepted{}, err
	}
	p.Key = cmp.Or(p.Key, r.Header.Get("Idempotency-Key"))
	accept, isAsk := g.Send, strings.HasSuffix(r.URL.Path, "/messages")
	if isAsk {
		accept = g.Ask
	}
	if err := p.validate(isAsk); err != nil {
		return gateway.Accepted{}, err
	}
	return accept(r.Context(), gateway.AutomaticMessage{
		Origin: channels.ByAsk, Chat: chat, Text: strings.ToValidUTF8(p.Text, "\uFFFD"), Key: p.Key, Limit: maxWaiting,
		Agent: p.Agent, Silent: p.Silent, Buttons: p.Buttons, Files: p.files,
	})
}

func (p *postedMessage) validate(isAsk bool) error {
	switch {
	case len(p.Text) > maxText:
		return postError{http.StatusRequestEntityTooLarge, fmt.Errorf("text: must be at most %d bytes", maxText)}
	case len(p.Key) > maxKey || !utf8.ValidString(p.Key):
		return badPost("key: must be at most %d bytes of text", maxKey)
	case isAsk && (p.Silent || len(p.Buttons) > 0):
		return badPost("silent and buttons are for a message that is sent: post it to /sends")
	case !isAsk && p.Agent != "":
		return badPost("agent: is for a message to an agent: post it to /messages")
	}
	return nil
}

func badPost(format string, args ...any) error {
	return postError{http.StatusBadRequest, fmt.Errorf(format, args...)}
}

// removeFiles closes and removes the uploaded files.
func (p *postedMessage) removeFiles() {
	for _, f := range p.files {
		_ = f.Open.Close() // it was only read, or is closed already
	}
	if p.folder != "" {
		_ = os.RemoveAll(p.folder)
	}
}

// read reads the body of a request. Unknown fields are mistakes, since a misspelt key would have
// the message sent twice.
func (p *postedMessage) read(w http.ResponseWriter, r *http.Request) error {
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch kind {
	case "application/json":
		body := json.NewDecoder(http.MaxBytesReader(w, r.Body, 6*maxText+64<<10)) // a byte of text takes up to six
		body.DisallowUnknownFields()
		return clientError(body.Decode(p))
	case "multipart/form-data":
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(uploadTimeout)) // otherwise the usual one applies
		r.Body = http.MaxBytesReader(w, r.Body, maxUpload+maxText+64<<10)
		return p.readForm(r)
	}
	return postError{
		http.StatusUnsupportedMediaType,
		errors.New("send JSON (application/json) or a form (multipart/form-data)"),
	}
}

// clientError marks an error of reading a request as the client's.
func clientError(err error) error {
	var tooBig *http.MaxBytesError
	if err == nil || errors.As(err, &tooBig) {
		return err
	}
	return badPost("the request cannot be read: %w", err)
}

func (p *postedMessage) readForm(r *http.Request) error {
	form, err := r.MultipartReader()
	if err != nil {
		return clientError(err)
	}
	for {
		part, err := form.NextPart()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return clientError(err)
		}
		if part.FormName() == "file" {
			err = p.saveFile(part)
		} else {
			err = p.readField(part)
		}
		if err != nil {
			return err
		}
	}
}

func (p *postedMessage) readField(part *multipart.Part) error {
	b, err := io.ReadAll(io.LimitReader(part, maxText+1))
	if err != nil {
		return clientError(err)
	}
	value := string(b)
	switch name := part.FormName(); name {
	case "text":
		p.Text = value
	case "key":
		p.Key = value
	case "agent":
		p.Agent = value
	case "buttons": // once for each button
		p.Buttons = append(p.Buttons, value)
	case "silent":
		if p.Silent, err = strconv.ParseBool(value); err != nil {
			return badPost("silent: must be true or false")
		}
	default:
		return badPost("%q is not a field of a message", name)
	}
	return nil
}

// saveFile saves an uploaded file in a folder of its own, since it keeps its name.
func (p *postedMessage) saveFile(part *multipart.Part) (err error) {
	if len(p.files) == maxFiles {
		return badPost("file: at most %d files", maxFiles)
	}
	if p.folder == "" {
		if p.folder, err = os.MkdirTemp("", "nanobot-upload-"); err != nil {
			return err
		}
	}
	folder := filepath.Join(p.folder, strconv.Itoa(len(p.files)))
	if err := os.Mkdir(folder, 0o700); err != nil {
		return err
	}
	name := downloads.Name(part.FileName(), "file")
	f, err := os.OpenFile(filepath.Join(folder, name), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	n, err := io.Copy(f, part)
	p.files = append(p.files, channels.File{
		Path: f.Name(), Name: name, Kind: channels.KindOf(name), Size: n, Open: f,
	})
	var path *os.PathError
	if errors.As(err, &path) { // of the disk
		return err
	}
	return clientError(err)
}
