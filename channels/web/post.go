package web

import (
	"encoding/json"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"os"
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
	Text     string `json:"text"`
	ClientID string `json:"client_id"`
	media    []history.Media
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
		return requestError{status: http.StatusUnsupportedMediaType, text: "Send a form (" + formType + ") or JSON (" + jsonType + ")."}
	}
	name := kind + " " + actor.User
	if !c.inFlight.tryAdd(name, most) {
		return shownError(http.StatusTooManyRequests, words.PageTooManySending)
	}
	defer c.inFlight.remove(name)
	p, err := c.readMessage(w, r, h, kind)
	if err == nil {
		err = p.validate()
	}
	if err == nil && len(p.media) > 0 {
		err = errors.Join(h.SyncFiles(), c.copyToChatFolder(chat, h, p.media))
	}
	if err != nil {
		discardFiles(h, p.media)
		return err
	}
	d := history.NewEvent{
		Chat: chat, Actor: actor, Type: history.Message, ID: newID(), ForGateway: true, MaxWaiting: maxWaiting,
		Body: history.Body{From: fromUser, User: actor.User, Language: requestLanguage(r), Kind: string(channels.Answer), Text: p.Text, Media: p.media, ClientID: p.ClientID},
	}
	if p.ClientID != "" {
		d.Key = "user " + chat + " " + actor.User + " " + p.ClientID
	}
	e, added, err := h.Append(r.Context(), d)
	if !added {
		discardFiles(h, p.media)
	}
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusAccepted, postResponse{e.ID, e.Seq})
	return nil
}

func (p *postedMessage) validate() error {
	p.Text = strings.ToValidUTF8(p.Text, "\uFFFD")
	switch {
	case strings.TrimSpace(p.Text) == "" && len(p.media) == 0:
		return shownError(http.StatusBadRequest, words.PageEmptyMessage)
	case len(p.Text) > maxText:
		return textTooLong
	case len(p.ClientID) > maxClientID || strings.ContainsFunc(p.ClientID, unicode.IsControl) || !utf8.ValidString(p.ClientID):
		return badRequest("client_id: must be at most %d bytes of text.", maxClientID)
	}
	return nil
}

// readMessage reads a message, a form with files or JSON. After an error the caller discards the
// files that it returns.
func (c *Channel) readMessage(w http.ResponseWriter, r *http.Request, h *history.History, kind string) (p postedMessage, err error) {
	body := &bodyReader{ReadCloser: r.Body, conn: http.NewResponseController(w), limit: time.Now().Add(uploadTimeout), drainLimit: 256 << 10}
	defer body.drain()
	limit := c.o.MaxUpload + maxText + 64<<10 // with room for the form's headers and boundaries
	tooMuch := shownError(http.StatusRequestEntityTooLarge, words.PageFilesTooLarge, channels.HumanSize(c.o.MaxUpload))
	if kind == formType {
		r.Body = http.MaxBytesReader(w, body, limit)
		err = c.readForm(r, h, &p)
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

func (c *Channel) readForm(r *http.Request, h *history.History, p *postedMessage) error {
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
		case "file":
			if len(p.media) == maxFiles {
				return shownError(http.StatusBadRequest, words.PageTooManyFiles, maxFiles)
			}
			var m history.Media
			m, err = c.saveUpload(part, h)
			if m.ID != "" {
				p.media = append(p.media, m)
			}
			if size += m.Size; size > c.o.MaxUpload {
				err = errUploadTooBig
			}
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

// saveUpload streams a file to disk.
func (c *Channel) saveUpload(part *multipart.Part, h *history.History) (history.Media, error) {
	m, err := saveContent(h, downloads.Name(part.FileName(), "file"), &uploadReader{Reader: part})
	var broken *uploadError
	if errors.As(err, &broken) {
		return m, unreadableRequest(broken.error)
	}
	return m, err
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

// discardFiles removes the files of a message that was not stored, also from the chat's folder.
func discardFiles(h *history.History, media []history.Media) {
	h.RemoveFiles(media)
	for _, m := range media {
		if m.Path != "" {
			_ = os.Remove(m.Path)
		}
	}
}

// copyToChatFolder copies files to the folder of the chat. The agent may change these copies.
func (c *Channel) copyToChatFolder(chat string, h *history.History, media []history.Media) error {
	folder, err := c.downloads.Open(chat)
	if err != nil {
		return err
	}
	defer folder.Close() //nolint:errcheck // it was only read
	for i := range media {
		if media[i].Path, err = h.CopyFile(folder, media[i].ID, downloads.SavedName(media[i].Name, "file")); err != nil {
			return err
		}
	}
	return nil
}
