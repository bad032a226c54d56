package web

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"nanobot/channels"
	"nanobot/channels/downloads"
	"nanobot/channels/web/history"
	"nanobot/internal/words"
)

const (
	// maxText is how many bytes of text one message may have.
	maxText = 1 << 20
	// maxFiles is how many files.
	maxFiles = 50
	// maxClientID is the longest client_id, in bytes.
	maxClientID = 100
	// maxWaiting is how many messages of a chat may wait for the gateway.
	maxWaiting = 100
	// maxJSON is the longest message as JSON: a byte of text takes up to six bytes.
	maxJSON = 6*maxText + 64<<10

	formType, jsonType = "multipart/form-data", "application/json"
)

// maxConcurrentPosts is how many messages of a content type one user may send at the same time.
var maxConcurrentPosts = map[string]int{formType: 4, jsonType: 64}

// textTooLong is the response to a text that is too long.
var textTooLong = shownError(http.StatusRequestEntityTooLarge, words.PageTextTooLong, channels.HumanSize(maxText))

// postedMessage is the body of a request that sends a message.
type postedMessage struct {
	Text        string `json:"text"`
	ClientID    string `json:"client_id"`
	FittingSize string `json:"room"` // the columns and rows of a terminal that fit the page, such as 80x24

	media    []history.Media
	problems []string          // why files were refused, in the sender's language
	folder   *downloads.Folder // of the chat; nil until the first file
}

// postResponse says that a message is stored and will reach the agent.
type postResponse struct {
	ID  string `json:"id"`
	Seq int64  `json:"seq"`
}

// postMessage stores a message from a user. The response is sent once the message is on disk. A
// client that gets no response repeats the request with the same client_id.
func (c *Channel) postMessage(w http.ResponseWriter, r *http.Request) error {
	h, chat, err := c.requestedChat(r)
	if err != nil {
		return err
	}
	actor := c.requester(r)
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	most, ok := maxConcurrentPosts[kind]
	if !ok {
		return requestError{status: http.StatusUnsupportedMediaType, text: "Send a form (" + formType + ") or JSON (" +
			jsonType + ")."}
	}
	name := kind + " " + actor.User
	if !c.inFlight.tryAdd(name, most) {
		return shownError(http.StatusTooManyRequests, words.PageTooManySending)
	}
	defer c.inFlight.remove(name)
	p, err := c.readMessage(w, r, chat, kind)
	defer p.closeFolder()
	if err == nil {
		err = p.validate()
	}
	if err != nil {
		return p.discard(r.Context(), h, chat, err)
	}
	d := history.NewEvent{
		Chat: chat, Actor: actor, Type: history.Message, ID: newID(), ForGateway: true, MaxWaiting: maxWaiting,
		MaxChats: maxOwnedChats,
		Body: history.Body{
			From: fromUser, User: actor.User, Language: requestLanguage(r), Kind: string(channels.Answer),
			Text: p.Text, Media: p.media, ClientID: p.ClientID, FittingSize: p.FittingSize,
		},
	}
	if p.ClientID != "" {
		d.Key = userKey(chat, actor, p.ClientID)
	}
	e, added, err := h.Append(r.Context(), d)
	if !added {
		err = p.discard(r.Context(), h, chat, err)
	}
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusAccepted, postResponse{e.ID, e.Seq})
	return nil
}

// userKey returns the idempotency key of a request of a user.
func userKey(chat string, actor history.Actor, clientID string) string {
	return "user " + chat + " " + actor.User + " " + clientID
}

// discard removes the files of a message that was not stored, and returns why it was not.
func (p *postedMessage) discard(ctx context.Context, h *history.History, chat string, reason error) error {
	if p.folder == nil {
		return reason
	}
	var files []downloads.File
	for _, m := range p.media {
		saved, _ := m.Saved()
		files = append(files, saved)
	}
	_, known, err := h.ChatOwner(context.WithoutCancel(ctx), chat)
	p.folder.Discard(files, !known && err == nil)
	return reason
}

func (p *postedMessage) closeFolder() {
	if p.folder != nil {
		_ = p.folder.Close() // it was only read
	}
}

func (p *postedMessage) validate() error {
	p.Text = strings.ToValidUTF8(p.Text, "\uFFFD")
	switch empty := strings.TrimSpace(p.Text) == "" && len(p.media) == 0; {
	case empty && len(p.problems) > 0:
		return requestError{status: http.StatusRequestEntityTooLarge, text: strings.Join(p.problems, "\n")}
	case empty:
		return shownError(http.StatusBadRequest, words.PageEmptyMessage)
	case len(p.Text) > maxText:
		return textTooLong
	case len(p.ClientID) > maxClientID || strings.ContainsFunc(p.ClientID, unicode.IsControl) ||
		!utf8.ValidString(p.ClientID):
		return badRequest("client_id: must be at most %d bytes of text.", maxClientID)
	case p.FittingSize != "" && !isRoom(p.FittingSize):
		return badRoom
	}
	for _, problem := range p.problems { // the agent and the person read which files are missing
		p.Text = strings.TrimLeft(p.Text+"\n"+problem, "\n")
	}
	return nil
}

var badRoom = badRequest("room: must be columns and rows, such as 80x24.")

// isRoom reports whether a text is a number of columns and of rows, such as 80x24.
func isRoom(text string) bool {
	cols, rows, _ := strings.Cut(text, "x")
	_, err := strconv.ParseUint(cols, 10, 10)
	_, err2 := strconv.ParseUint(rows, 10, 10)
	return err == nil && err2 == nil
}

// readMessage reads a message to a chat, a form with files or JSON. After an error the caller
// discards the files that it returns.
func (c *Channel) readMessage(w http.ResponseWriter, r *http.Request, chat, kind string) (p postedMessage, err error) {
	body := &bodyReader{
		ReadCloser: r.Body, conn: http.NewResponseController(w), limit: time.Now().Add(uploadTimeout),
		drainLimit: 256 << 10,
	}
	defer body.drain()
	limit := c.o.MaxUpload + maxText + 64<<10 // with room for the form's headers and boundaries
	tooMuch := shownError(http.StatusRequestEntityTooLarge, words.PageFilesTooLarge, channels.HumanSize(c.o.MaxUpload))
	if kind == formType {
		r.Body = http.MaxBytesReader(w, body, limit)
		err = c.readForm(r, chat, &p)
	} else if err = json.NewDecoder(http.MaxBytesReader(w, body, maxJSON)).Decode(&p); err != nil {
		err, tooMuch = unreadableRequest(err), textTooLong
	}
	var tooBig *http.MaxBytesError
	if errors.As(err, &tooBig) || errors.Is(err, errUploadTooBig) {
		body.drainLimit = 4 * limit // a client that sends much more than the limit is cut off
		w.Header().Set("Connection", "close")
		err = tooMuch
	}
	return p, err
}

var errUploadTooBig = errors.New("too big")

// unreadableRequest returns a mistake of the client, unless the body was too long.
func unreadableRequest(err error) error {
	var tooBig *http.MaxBytesError
	if errors.As(err, &tooBig) {
		return err
	}
	return badRequest("The request cannot be read: %v.", err)
}

func (c *Channel) readForm(r *http.Request, chat string, p *postedMessage) error {
	form, err := r.MultipartReader()
	if err != nil {
		return unreadableRequest(err)
	}
	var size int64
	for {
		part, err := form.NextPart()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return unreadableRequest(err)
		}
		switch part.FormName() {
		case "text":
			p.Text, err = readField(part, maxText)
			p.Text = strings.ReplaceAll(p.Text, "\r\n", "\n") // browsers send CRLF in forms
		case "client_id":
			p.ClientID, err = readField(part, maxClientID)
		case "room":
			p.FittingSize, err = readField(part, maxClientID)
		case "file":
			if len(p.media) == maxFiles {
				return shownError(http.StatusBadRequest, words.PageTooManyFiles, maxFiles)
			}
			var n int64
			n, err = c.saveUpload(part, chat, p, c.o.MaxUpload-size, c.words.For(requestLanguage(r)))
			size += n
		default:
			err = badRequest("%q is not a field of a message. The fields are text, client_id and file.", part.FormName())
		}
		if err != nil {
			return err
		}
	}
}

// readField reads a field. One byte more than the limit is enough for validate to refuse it.
func readField(part *multipart.Part, limit int64) (string, error) {
	b, err := io.ReadAll(io.LimitReader(part, limit+1))
	if err != nil {
		return "", unreadableRequest(err)
	}
	return string(b), nil
}

// saveUpload streams a file of a message to the chat's folder and returns its size, which may be up
// to a limit. A file that does not fit into the chat or onto the disk becomes a problem of the
// message, which is received without it.
func (c *Channel) saveUpload(part *multipart.Part, chat string, p *postedMessage, limit int64, w words.Words) (
	n int64, err error,
) {
	if p.folder == nil {
		if p.folder, err = c.downloads.Open(chat); err != nil {
			return 0, err
		}
	}
	m := history.Media{ID: rand.Text(), Name: downloads.Name(part.FileName(), "file"), Type: safeType("")}
	saved, err := p.folder.Save(history.SavedName(m.ID, m.Name), func(to io.Writer) error {
		n, err := io.Copy(to, io.LimitReader(&uploadReader{Reader: part}, limit+1))
		if err == nil && n > limit {
			return errUploadTooBig
		}
		return err
	})
	if reason, ok := downloads.Refusal(err, w); ok {
		p.problems = append(p.problems, w.Text(words.FileNotReceived, strconv.Quote(m.Name), reason))
		return 0, nil
	}
	var broken *uploadError
	if errors.As(err, &broken) {
		return 0, unreadableRequest(broken.error)
	}
	if err != nil {
		return 0, err
	}
	m.Path, m.Size, m.SHA256, m.Modified = saved.Path, saved.Size, saved.SHA256, saved.Modified
	if f, err := p.folder.OpenSaved(saved); err == nil { // otherwise the agent has changed it already
		detectType(f, &m)
		_ = f.Close()
	}
	p.media = append(p.media, m)
	return saved.Size, nil
}

// uploadReader marks read errors, so that the client's failures are told from the disk's.
type uploadReader struct{ io.Reader }

type uploadError struct{ error }

func (e *uploadError) Unwrap() error { return e.error }

func (u *uploadReader) Read(b []byte) (int, error) {
	n, err := u.Reader.Read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		err = &uploadError{err}
	}
	return n, err
}
