package discordtest

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"nanobot/channels/channelstest/fakenet"
)

// File is a file that a user sends.
type File struct {
	Name    string
	Type    string // derived from the name if empty
	Content []byte
	Size    int64 // if larger than Content, zeros follow
}

// storedFile is a file on the CDN.
type storedFile struct {
	Attachment
	channel string
}

// maxAttachments is the number of files that a message may have.
const maxAttachments = 10

var noSuchFile = expectedError(http.StatusNotFound, 0, "This content is no longer available.")

var entityTooLarge = expectedError(http.StatusRequestEntityTooLarge, 40005, "Request entity too large")

// attachFiles sets the files of a message: the uploads of the request, and the earlier files that
// the request keeps.
func (s *Server) attachFiles(c *Call, ch *channel, d draft, m *Message) error {
	uploads := map[string]Upload{}
	for _, f := range c.Files {
		if int64(len(f.Content)) > s.uploadLimit(ch.GuildID) {
			return entityTooLarge
		}
		uploads[strings.TrimSuffix(strings.TrimPrefix(f.Field, "files["), "]")] = f
	}
	var out []Attachment
	if d.Attachments == nil {
		out = slices.Clone(m.Attachments)
		for _, f := range c.Files {
			out = append(out, s.storeFile(ch.ID, File{Name: f.Name, Type: f.Type, Content: f.Content}, ""))
		}
	}
	for i, a := range d.Attachments {
		at := fmt.Sprintf("attachments.%d.id", i)
		kept := slices.IndexFunc(m.Attachments, func(old Attachment) bool { return old.ID == a.id() })
		f, isNew := uploads[a.id()]
		switch {
		case kept >= 0:
			out = append(out, m.Attachments[kept])
		case isNew:
			delete(uploads, a.id())
			file := File{Name: cmp.Or(a.Filename, f.Name), Type: f.Type, Content: f.Content}
			out = append(out, s.storeFile(ch.ID, file, a.Description))
		default:
			return fieldError(at, "ATTACHMENT_NOT_FOUND", "neither the number of a file that is sent nor the id of one that is there")
		}
	}
	if d.Attachments != nil && len(uploads) > 0 {
		return fieldError("attachments", "ATTACHMENT_NOT_NAMED", "a file is sent that attachments does not name")
	}
	if len(out) > maxAttachments {
		return fieldError("attachments", "BASE_TYPE_MAX_LENGTH", "Must be 10 or fewer in length.")
	}
	m.Attachments = out
	return nil
}

// storeFile puts a file on the CDN.
func (s *Server) storeFile(channel string, f File, description string) Attachment {
	if f.Type == "" || f.Type == "application/octet-stream" {
		f.Type = mime.TypeByExtension(path.Ext(f.Name))
	}
	a := Attachment{
		ID: s.newID(), Filename: f.Name, ContentType: f.Type, Description: description,
		Size: max(f.Size, int64(len(f.Content))), Content: f.Content,
	}
	s.files[a.ID] = &storedFile{a, channel}
	return a
}

// urlLifetime is how long the URL of a file is valid.
const urlLifetime = 24 * time.Hour

// signURL returns the attachment with a URL that is valid from now on.
func (s *Server) signURL(channel string, a Attachment) Attachment {
	issued, expires := s.Now().Unix(), s.Now().Add(urlLifetime).Unix()
	a.URL = fmt.Sprintf("%s/attachments/%s/%s/%s?ex=%x&is=%x&hm=%s", s.URL, channel, a.ID,
		url.PathEscape(a.Filename), expires, issued, s.signature(a.ID, expires))
	a.ProxyURL = a.URL
	return a
}

func (s *Server) signature(id string, expires int64) string {
	mac := hmac.New(sha256.New, []byte(s.Token))
	_, _ = fmt.Fprint(mac, id, expires)
	return hex.EncodeToString(mac.Sum(nil))
}

// serveFile is the CDN, which needs no token and has no rate limits.
func (s *Server) serveFile(w http.ResponseWriter, r *http.Request) {
	c := &Call{Route: CDN, Query: r.URL.Query(), Args: map[string]string{
		"channel_id": r.PathValue("channel_id"), "attachment_id": r.PathValue("attachment_id"), "filename": r.PathValue("filename"),
	}}
	s.ServeCall(w, r, c, fakenet.Response{
		CarryOut: func() (any, error) {
			s.Lock()
			defer s.Unlock()
			if r.Header.Get("Authorization") != "" {
				s.AddViolation("%s: the CDN gets to see the token", CDN)
			}
			return s.findFile(c)
		},
		Begin: func(result any, err error) int {
			file, ok := result.(Attachment)
			if !ok {
				return s.recordOutcome(c, method{}, nil, err)
			}
			w.Header().Set("Content-Type", cmp.Or(file.ContentType, "application/octet-stream"))
			w.Header().Set("Content-Length", strconv.FormatInt(file.Size, 10))
			_, _ = w.Write(file.Content[:len(file.Content)/2])
			_ = http.NewResponseController(w).Flush()
			return http.StatusOK
		},
		Write: func(status int, result any, err error) {
			if err != nil {
				http.Error(w, err.Error(), status)
				return
			}
			writeRest(w, result.(Attachment))
		},
	})
}

// writeRest writes the second half of a file, and the zeros that follow its content.
func writeRest(w http.ResponseWriter, file Attachment) {
	if _, err := w.Write(file.Content[len(file.Content)/2:]); err != nil {
		return
	}
	zeros := make([]byte, 32<<10)
	for left := file.Size - int64(len(file.Content)); left > 0; left -= int64(len(zeros)) {
		if _, err := w.Write(zeros[:min(left, int64(len(zeros)))]); err != nil {
			return
		}
	}
}

// findFile returns the file of a URL if the URL is correct and has not expired.
func (s *Server) findFile(c *Call) (any, error) {
	f := s.files[c.Args["attachment_id"]]
	expires, err := strconv.ParseInt(c.Query.Get("ex"), 16, 64)
	if f == nil || err != nil || f.channel != c.Args["channel_id"] || f.Filename != c.Args["filename"] ||
		s.signature(f.ID, expires) != c.Query.Get("hm") || s.Now().Unix() >= expires {
		return nil, noSuchFile
	}
	return f.Attachment, nil
}
