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
)

const (
	// maxText is how many bytes of text one message may have.
	maxText = 1 << 20
	// maxFiles is how many files.
	maxFiles = 50
	// maxClientID is how long a client's own name for a message may be.
	maxClientID = 100
	// maxWaiting is how many messages of a chat may wait for the gateway.
	maxWaiting = 100
	// maxJSON is how long a message as JSON may be: each byte of text may be written as six.
	maxJSON = 6*maxText + 64<<10

	formType, jsonType = "multipart/form-data", "application/json"
)

// mostAtOnce is how many messages of a type may come in at once from one user.
var mostAtOnce = map[string]int{formType: 4, jsonType: 64}

var tooLong = "That is more than " + channels.HumanSize(maxText) + " of text. Send it as a file."

// posted is a message on its way in.
type posted struct {
	Text     string `json:"text"`
	ClientID string `json:"client_id"`
	media    []history.Media
}

// receipt says that a message is kept, and will reach the agent.
type receipt struct {
	ID  string `json:"id"`
	Seq int64  `json:"seq"`
}

// postMessage keeps what somebody says. It is answered once it is on disk; a client that cannot
// know whether it was asks again with the same client_id.
func (c *Channel) postMessage(w http.ResponseWriter, r *http.Request) error {
	h, chat, err := c.chat(r)
	if err != nil {
		return err
	}
	party := c.party(r)
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	most, ok := mostAtOnce[kind]
	if !ok {
		return problem{http.StatusUnsupportedMediaType, "Send a form (" + formType + ") or JSON (" + jsonType + ")."}
	}
	name := kind + " " + party.User
	if !c.coming.enter(name, most) {
		return problem{http.StatusTooManyRequests, "Too many messages of yours are on their way already. Send this one later."}
	}
	defer c.coming.leave(name)
	p, err := c.read(w, r, h, kind)
	if err == nil {
		err = p.check()
	}
	if err == nil && len(p.media) > 0 {
		err = errors.Join(h.Settle(), c.handOver(chat, h, p.media))
	}
	if err != nil {
		discard(h, p.media)
		return err
	}
	d := history.Draft{
		Chat: chat, By: party, Type: history.Message, ID: newID(), Waits: true, Most: maxWaiting,
		Body: history.Body{From: fromUser, User: party.User, Kind: string(channels.Answer), Text: p.Text, Media: p.media, ClientID: p.ClientID},
	}
	if p.ClientID != "" {
		d.Key = "user " + chat + " " + party.User + " " + p.ClientID
	}
	e, fresh, err := h.Append(r.Context(), d)
	if !fresh {
		discard(h, p.media)
	}
	if err != nil {
		return err
	}
	answer(w, http.StatusAccepted, receipt{e.ID, e.Seq})
	return nil
}

func (p *posted) check() error {
	p.Text = strings.ToValidUTF8(p.Text, "\uFFFD")
	switch {
	case strings.TrimSpace(p.Text) == "" && len(p.media) == 0:
		return wrong("A message needs a text or a file.")
	case len(p.Text) > maxText:
		return problem{http.StatusRequestEntityTooLarge, tooLong}
	case len(p.ClientID) > maxClientID || strings.ContainsFunc(p.ClientID, unicode.IsControl) || !utf8.ValidString(p.ClientID):
		return wrong("client_id: must be at most %d bytes of text.", maxClientID)
	}
	return nil
}

// read takes a message in, as a form with files or as JSON. What it returns of files is to be
// discarded when something went wrong.
func (c *Channel) read(w http.ResponseWriter, r *http.Request, h *history.History, kind string) (p posted, err error) {
	body := &patient{ReadCloser: r.Body, conn: http.NewResponseController(w), until: time.Now().Add(longestUpload), rest: 256 << 10}
	defer body.done()
	limit := c.o.MaxUpload + maxText + 64<<10 // which leaves room for what a form has around the files
	tooMuch := "The files of a message may have " + channels.HumanSize(c.o.MaxUpload) + " together. This is more."
	if kind == formType {
		r.Body = http.MaxBytesReader(w, body, limit)
		err = c.readForm(r, h, &p)
	} else if err = json.NewDecoder(http.MaxBytesReader(w, body, maxJSON)).Decode(&p); err != nil {
		err, tooMuch = unreadable(err), tooLong
	}
	var tooBig *http.MaxBytesError
	if errors.As(err, &tooBig) || errors.Is(err, errTooBig) {
		body.rest = 4 * limit // beyond which it is out of all proportion
		w.Header().Set("Connection", "close")
		err = problem{http.StatusRequestEntityTooLarge, tooMuch}
	}
	return p, err
}

var errTooBig = errors.New("too big")

// unreadable is the client's fault, unless it is too big.
func unreadable(err error) error {
	var tooBig *http.MaxBytesError
	if errors.As(err, &tooBig) {
		return err
	}
	return wrong("The request cannot be read: %v.", err)
}

func (c *Channel) readForm(r *http.Request, h *history.History, p *posted) error {
	form, err := r.MultipartReader()
	if err != nil {
		return unreadable(err)
	}
	var size int64
	for {
		part, err := form.NextPart()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return unreadable(err)
		}
		switch part.FormName() {
		case "text":
			p.Text, err = field(part, maxText)
			p.Text = strings.ReplaceAll(p.Text, "\r\n", "\n") // browsers write a form's lines so
		case "client_id":
			p.ClientID, err = field(part, maxClientID)
		case "file":
			if len(p.media) == maxFiles {
				return wrong("A message may have %d files.", maxFiles)
			}
			var m history.Media
			m, err = c.readFile(part, h)
			if m.ID != "" {
				p.media = append(p.media, m)
			}
			if size += m.Size; size > c.o.MaxUpload {
				err = errTooBig
			}
		default:
			err = wrong("%q is not a field of a message: text, client_id, file.", part.FormName())
		}
		if err != nil {
			return err
		}
	}
}

// field reads a short one. One byte more than allowed is enough to tell.
func field(part *multipart.Part, limit int64) (string, error) {
	b, err := io.ReadAll(io.LimitReader(part, limit+1))
	if err != nil {
		return "", unreadable(err)
	}
	return string(b), nil
}

// readFile streams a file to disk.
func (c *Channel) readFile(part *multipart.Part, h *history.History) (history.Media, error) {
	m, err := store(h, downloads.Name(part.FileName(), "file"), &upload{Reader: part})
	var broken *uploadError
	if errors.As(err, &broken) {
		return m, unreadable(broken.error)
	}
	return m, err
}

// upload tells the client's failures from the disk's.
type upload struct{ io.Reader }

type uploadError struct{ error }

func (e *uploadError) Unwrap() error { return e.error }

func (u *upload) Read(b []byte) (int, error) {
	n, err := u.Reader.Read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		err = &uploadError{err}
	}
	return n, err
}

// discard removes files that came into no message, and what the agent would have seen of them.
func discard(h *history.History, media []history.Media) {
	h.Discard(media)
	for _, m := range media {
		if m.Path != "" {
			_ = os.Remove(m.Path)
		}
	}
}

// handOver copies files to where the agent finds them, which may change its copy.
func (c *Channel) handOver(chat string, h *history.History, media []history.Media) error {
	folder, err := c.downloads.Open(chat)
	if err != nil {
		return err
	}
	defer folder.Close() //nolint:errcheck // it was only for its files
	for i := range media {
		if media[i].Path, err = h.CopyTo(folder, media[i].ID, media[i].Name); err != nil {
			return err
		}
	}
	return nil
}
