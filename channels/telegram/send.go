package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"nanobot/channels"
	"nanobot/channels/httpclient"
	"nanobot/channels/telegram/entities"
)

// request is the parameters of all the calls that send files. A call has those that it takes.
type request struct {
	Chat            int64                   `json:"chat_id"`
	Thread          int                     `json:"message_thread_id,omitempty"`
	Caption         string                  `json:"caption,omitempty"`
	CaptionEntities []entities.Entity       `json:"caption_entities,omitempty"`
	Media           []media                 `json:"media,omitempty"`
	Streaming       bool                    `json:"supports_streaming,omitempty"`
	NoDetection     bool                    `json:"disable_content_type_detection,omitempty"`
	Silent          bool                    `json:"disable_notification,omitempty"`
	Reply           *models.ReplyParameters `json:"reply_parameters,omitempty"`
	Keyboard        models.ReplyMarkup      `json:"reply_markup,omitempty"`
}

// media is one item of an album.
type media struct {
	Type            string            `json:"type"`
	Media           string            `json:"media"`
	Caption         string            `json:"caption,omitempty"`
	CaptionEntities []entities.Entity `json:"caption_entities,omitempty"`
	Streaming       bool              `json:"supports_streaming,omitempty"`
}

// post is one part on its way: what Plan decided, and what Telegram's answers have changed of it.
type post struct {
	o      channels.Outgoing
	home   int64 // the chat as the gateway knows it
	to     place
	pinned bool // the call is about a message, which is in that chat and no other
	edits  bool // the call is an edit
	as     string
	words  entities.Text
	files  []channels.File

	refused []string // what to say of files that are not sent
	parted  bool     // an item of the album goes alone
}

// Send makes one call. Where Telegram refuses only the formatting, or the way a file is shown, or
// has moved the chat, the call is made again in a way that it takes: nothing was sent before. A
// file that it does not take at all is named instead. Only an album that is not taken as one is
// more than one call; see deliver.
func (c *Channel) Send(ctx context.Context, o channels.Outgoing) (channels.Receipt, error) {
	p, err := newPost(o)
	if err != nil {
		return channels.Receipt{}, &channels.SendError{Err: err, Permanent: true}
	}
	id, err := c.deliver(ctx, p)
	if err != nil {
		return channels.Receipt{}, sendError(err)
	}
	return channels.Receipt{ID: messageID(p.home, p.to.chat, id)}, nil
}

func newPost(o channels.Outgoing) (*post, error) {
	to, err := parsePlace(o.Chat.ID)
	if err != nil {
		return nil, err
	}
	f := form{As: asText}
	if len(o.Form) > 0 {
		if err := json.Unmarshal(o.Form, &f); err != nil {
			return nil, fmt.Errorf("read the stored form: %w", err)
		}
	}
	p := &post{o: o, home: to.chat, to: to, as: f.As, words: entities.Text{Text: o.Text, Entities: f.Entities}, files: o.Media}
	if o.Repeat {
		p.words = marked(p.words)
	}
	return p, nil
}

// marked leads a text with the mark of a repetition.
func marked(t entities.Text) entities.Text {
	if t.Text == "" {
		return entities.Text{Text: strings.TrimSpace(mark)}
	}
	out := entities.Text{Text: mark + t.Text}
	for _, e := range t.Entities {
		e.Offset += markUnits
		out.Entities = append(out.Entities, e)
	}
	return out
}

// mostTries is more than there are ways to mend a call.
const mostTries = 5

// insist makes a call until it is taken or refused for a reason that we can do nothing about.
func (c *Channel) insist(ctx context.Context, p *post, call func() error) error {
	for tries := 1; ; tries++ {
		now := c.current(ctx, p.to.chat)
		if p.pinned && now != p.to.chat {
			return errMoved
		}
		p.to.chat = now
		if err := c.pace.wait(ctx, p.to.chat, max(len(p.files), 1), p.edits); err != nil {
			return err
		}
		err := call()
		switch to := migratedTo(err); {
		case err == nil || tries == mostTries:
			return err
		case to != 0 && to != p.to.chat:
			c.moves.redirect(p.to.chat, to)
		case refusedFormat(err) && len(p.words.Entities) > 0:
			p.words = p.words.Plain()
		case refusedAs(err) && p.asDocument():
		default:
			var no *refusal
			if errors.As(err, &no) {
				c.pace.hold(p.to.chat, no.wait(), p.edits)
			}
			return err
		}
	}
}

// asDocument turns a photo, a video or sound into a document, and reports whether that is a change.
func (p *post) asDocument() bool {
	switch p.as {
	case asText, asDocument, asAlbum:
		return false
	}
	p.as = asDocument
	return true
}

// post makes the call and returns the id of what was sent, of an album that of the first.
func (c *Channel) post(ctx context.Context, p *post) (int, error) {
	if p.as == asText {
		return c.api.sentID(execute(ctx, c.api, (*bot.Bot).SendMessage, p.message()))
	}
	select {
	case c.upload <- struct{}{}:
		defer func() { <-c.upload }()
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	defer c.announce(ctx, p)()
	r := p.request()
	if p.as == asAlbum {
		files := p.album(&r)
		return c.api.sentID(c.api.upload(ctx, "sendMediaGroup", r, files))
	}
	r.Caption, r.CaptionEntities = p.words.Text, p.words.Entities
	r.Streaming, r.NoDetection = p.as == asVideo, p.as == asDocument
	file := httpclient.Upload{Field: p.as, Name: fileName(p.files[0]), File: p.files[0]}
	return c.api.sentID(c.api.upload(ctx, methodOf[p.as], r, []httpclient.Upload{file}))
}

var methodOf = map[string]string{
	asPhoto: "sendPhoto", asVideo: "sendVideo", asAnimation: "sendAnimation", asAudio: "sendAudio",
	asVoice: "sendVoice", asDocument: "sendDocument",
}

// album puts the items of an album into a request and returns their files. One caption alone is
// shown below the album.
func (p *post) album(r *request) []httpclient.Upload {
	var files []httpclient.Upload
	for i, f := range p.files {
		field := "file" + strconv.Itoa(i)
		item := media{Type: single(f), Media: "attach://" + field}
		item.Streaming = item.Type == asVideo
		if i == 0 {
			item.Caption, item.CaptionEntities = p.words.Text, p.words.Entities
		}
		r.Media = append(r.Media, item)
		files = append(files, httpclient.Upload{Field: field, Name: fileName(f), File: f})
	}
	return files
}

// message is the parameters of a call that sends text.
func (p *post) message() *bot.SendMessageParams {
	return &bot.SendMessageParams{
		ChatID: p.to.chat, MessageThreadID: p.to.thread, Text: valid(p.words.Text), Entities: messageEntities(p.words.Entities),
		LinkPreviewOptions: noPreview(), DisableNotification: p.silent(), ReplyParameters: p.reply(), ReplyMarkup: keyboard(p.o.Buttons),
	}
}

// request is what all calls that send files have in common.
func (p *post) request() request {
	return request{Chat: p.to.chat, Thread: p.to.thread, Silent: p.silent(), Reply: p.reply(), Keyboard: keyboard(p.o.Buttons)}
}

// silent tells whether nobody is to be notified.
func (p *post) silent() bool { return p.o.Kind == channels.Progress }

// reply points at the message that is answered, if there is one and it is in the same chat.
func (p *post) reply() *models.ReplyParameters {
	chat, id, err := parseMessageID(p.home, p.o.ReplyTo)
	if err != nil || chat != p.to.chat {
		return nil
	}
	return &models.ReplyParameters{MessageID: id, AllowSendingWithoutReply: true}
}

func noPreview() *models.LinkPreviewOptions {
	return &models.LinkPreviewOptions{IsDisabled: new(true)}
}

// valid returns a text in which each byte that is not UTF-8 is U+FFFD, which leaves the offsets of
// entities as they are. The library sends texts as they are, and Telegram refuses other bytes.
func valid(text string) string {
	if utf8.ValidString(text) {
		return text
	}
	return string([]rune(text))
}

// messageEntities returns entities as the library sends them.
func messageEntities(from []entities.Entity) []models.MessageEntity {
	var out []models.MessageEntity
	for _, e := range from {
		out = append(out, models.MessageEntity{
			Type: models.MessageEntityType(e.Type), Offset: e.Offset, Length: e.Length, URL: e.URL, Language: e.Language,
		})
	}
	return out
}

const (
	// rowWidth is about how many letters fit beside each other on a phone, gaps included.
	rowWidth = 28
	// maxLabel is where a label is cut; the text below which the buttons are says it all.
	maxLabel   = 60
	maxButtons = 100
)

// keyboard lays out buttons in rows. It returns nil if there are none: the library would send a nil
// pointer as null.
func keyboard(buttons []channels.Button) models.ReplyMarkup {
	if len(buttons) == 0 {
		return nil
	}
	k := &models.InlineKeyboardMarkup{}
	width := rowWidth
	for _, b := range buttons[:min(len(buttons), maxButtons)] {
		label := []rune(b.Label)
		if len(label) == 0 {
			label = []rune(b.Data)
		}
		if len(label) > maxLabel {
			label = append(label[:maxLabel:maxLabel], '…')
		}
		if width += len(label) + 4; width > rowWidth {
			k.InlineKeyboard, width = append(k.InlineKeyboard, nil), len(label)+4
		}
		row := &k.InlineKeyboard[len(k.InlineKeyboard)-1]
		*row = append(*row, models.InlineKeyboardButton{Text: string(label), CallbackData: buttonData(b)})
	}
	return k
}
