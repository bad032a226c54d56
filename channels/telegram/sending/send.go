package sending

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"
	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/channels/httpclient"
	"nanobot/channels/telegram/botapi"
	"nanobot/channels/telegram/chats"
	"nanobot/channels/telegram/entities"
	"nanobot/channels/telegram/pace"
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

// outgoingPost is one message being sent: as planned, with the changes that Telegram's errors made
// necessary.
type outgoingPost struct {
	outgoing     channels.Outgoing
	originalChat int64 // the chat ID that the gateway uses
	destination  chats.Address
	fixedChat    bool // the call is about an existing message, so its chat cannot change
	class        pace.Class
	sendAs       string
	text         entities.Text
	files        []channels.File
	rich         string // the HTML of a rich message that is sent instead of the text, or ""
	newMethod    string // the method of the call if older servers do not know it, unless that is richMethod

	notices    []string // about files that are not sent
	albumSplit bool     // an item of the album is sent alone
}

// Send makes one call. If Telegram refuses only the formatting or the media type, or the chat has
// migrated, it repeats the call with the problem fixed. A file that Telegram refuses is replaced by
// a notice. Only a refused album needs more than one call; see sendParts.
func (s *Sender) Send(ctx context.Context, o channels.Outgoing) (channels.Receipt, error) {
	progress, err := s.beginSend(o)
	if err == nil {
		err = s.sendParts(ctx, progress)
	}
	if err != nil {
		return channels.Receipt{}, httpclient.SendError(err)
	}
	s.recordRelocated(ctx, progress.post, progress.first)
	return channels.Receipt{ID: chats.MessageID(progress.post.originalChat, progress.post.destination.Chat,
		progress.first)}, nil
}

func newOutgoingPost(o channels.Outgoing) (*outgoingPost, error) {
	to, err := chats.ParseAddress(o.Chat.ID)
	if err != nil {
		return nil, err
	}
	f := storedForm{As: asText}
	if len(o.Form) > 0 {
		if err := json.Unmarshal(o.Form, &f); err != nil {
			return nil, fmt.Errorf("read the stored form: %w", err)
		}
	}
	p := &outgoingPost{
		outgoing: o, originalChat: to.Chat, destination: to, sendAs: f.As,
		text: entities.Text{Text: o.Text, Entities: f.Entities}, files: o.Media,
	}
	p.rich, p.class = f.Rich, pace.Class{
		Topic: to.Thread, Transient: o.Transient && !o.Urgent,
		// In a private chat only messages behind it would use the room that it leaves.
		GivesWay: o.GivesWay && !o.Urgent && (!o.InOrder || to.Chat < 0),
	}
	if o.Repeat {
		p.text = markRepeated(p.text)
		if p.rich != "" {
			p.rich = "<p>" + strings.TrimSpace(repeatMark) + "</p>" + p.rich
		}
	}
	return p, nil
}

// markRepeated adds the mark of a repetition to a text.
func markRepeated(t entities.Text) entities.Text {
	if t.Text == "" {
		return entities.Text{Text: strings.TrimSpace(repeatMark)}
	}
	return prepend(repeatMark, t)
}

// prepend returns a text after a prefix.
func prepend(prefix string, t entities.Text) entities.Text {
	out := entities.Text{Text: prefix + t.Text}
	for _, e := range t.Entities {
		e.Offset += channels.UTF16(prefix)
		out.Entities = append(out.Entities, e)
	}
	return out
}

// maxTries is more than the number of ways to repair a call.
const maxTries = 5

// callWithRepairs repeats a call until it succeeds or fails for a reason that cannot be repaired.
func (s *Sender) callWithRepairs(ctx context.Context, p *outgoingPost, call func() error) error {
	for tries := 1; ; tries++ {
		now := s.migrations.CurrentID(ctx, p.destination.Chat)
		if p.fixedChat && now != p.destination.Chat {
			return chats.ErrMigrated
		}
		p.destination.Chat = now
		returned, err := s.pace.Wait(ctx, p.destination.Chat, max(len(p.files), 1), p.class)
		if err != nil {
			return err
		}
		isRich, method := s.isRich(p), p.newMethod
		if isRich {
			method = richMethod
		}
		err = call()
		returned()
		s.support.countResult(method, err)
		switch to := botapi.MigratedTo(err); {
		case err == nil || tries == maxTries:
			return err
		case to != 0 && to != p.destination.Chat:
			s.migrations.RecordNewID(p.destination.Chat, to)
		case isRich && s.isRichRefused(p, err):
			p.rich = ""
		case isFormatRefused(err) && len(p.text.Entities) > 0:
			p.text = p.text.Plain()
		case isMediaTypeRefused(err) && p.switchToDocument():
		case s.leaveTopic(ctx, p, err):
		default:
			s.pace.Block(p.destination.Chat, botapi.RetryDelay(err), p.class.Edit)
			return err
		}
	}
}

// switchToDocument sends a photo, video or audio file as a document, and reports whether that is a
// change.
func (p *outgoingPost) switchToDocument() bool {
	switch p.sendAs {
	case asText, asDocument, asAlbum:
		return false
	}
	p.sendAs = asDocument
	return true
}

// sendOnce makes the call and returns the ID of the sent message; for an album, of the first.
func (s *Sender) sendOnce(ctx context.Context, p *outgoingPost) (int, error) {
	switch {
	case p.sendAs == asText && s.isRich(p):
		return botapi.Send(ctx, s.api, (*bot.Bot).SendRichMessage, p.richParams())
	case p.sendAs == asText:
		return botapi.Send(ctx, s.api, (*bot.Bot).SendMessage, p.textParams())
	}
	if err := s.uploadSlots.Acquire(ctx, 1); err != nil {
		return 0, err
	}
	defer s.uploadSlots.Release(1)
	defer s.showUploadAction(ctx, p)()
	r := p.newRequest()
	if p.sendAs == asAlbum {
		files := p.addAlbum(&r)
		return s.api.Upload(ctx, "sendMediaGroup", r, files)
	}
	r.Caption, r.CaptionEntities = p.text.Text, p.text.Entities
	r.Streaming, r.NoDetection = p.sendAs == asVideo, p.sendAs == asDocument
	file := httpclient.Upload{Field: p.sendAs, Name: fileName(p.files[0]), File: p.files[0]}
	return s.api.Upload(ctx, methodOf[p.sendAs], r, []httpclient.Upload{file})
}

var methodOf = map[string]string{
	asPhoto: "sendPhoto", asVideo: "sendVideo", asAnimation: "sendAnimation", asAudio: "sendAudio",
	asVoice: "sendVoice", asDocument: "sendDocument",
}

// addAlbum adds the items of an album to a request and returns their files. A single caption is
// shown below the album.
func (p *outgoingPost) addAlbum(r *request) []httpclient.Upload {
	var files []httpclient.Upload
	for i, f := range p.files {
		field := "file" + strconv.Itoa(i)
		item := media{Type: sendAsOf(f), Media: "attach://" + field}
		item.Streaming = item.Type == asVideo
		if i == 0 {
			item.Caption, item.CaptionEntities = p.text.Text, p.text.Entities
		}
		r.Media = append(r.Media, item)
		files = append(files, httpclient.Upload{Field: field, Name: fileName(f), File: f})
	}
	return files
}

// textParams returns the parameters of a call that sends text.
func (p *outgoingPost) textParams() *bot.SendMessageParams {
	return &bot.SendMessageParams{
		ChatID: p.destination.Chat, MessageThreadID: p.destination.Thread, Text: validUTF8(p.text.Text),
		Entities:           p.text.Entities,
		LinkPreviewOptions: noPreview(), DisableNotification: p.isSilent(), ReplyParameters: p.replyParameters(),
		ReplyMarkup: keyboard(p.outgoing.Buttons),
	}
}

// newRequest returns the parameters that all calls with files share.
func (p *outgoingPost) newRequest() request {
	return request{
		Chat: p.destination.Chat, Thread: p.destination.Thread, Silent: p.isSilent(),
		Reply: p.replyParameters(), Keyboard: keyboard(p.outgoing.Buttons),
	}
}

// isSilent reports whether the message is sent without a notification.
func (p *outgoingPost) isSilent() bool {
	return p.outgoing.Silent || p.outgoing.Kind == channels.Progress
}

// replyParameters refers to the answered message, if it is in the same chat.
func (p *outgoingPost) replyParameters() *models.ReplyParameters {
	chat, id, err := chats.ParseMessageID(p.originalChat, p.outgoing.ReplyTo)
	if err != nil || chat != p.destination.Chat {
		return nil
	}
	return &models.ReplyParameters{MessageID: id, AllowSendingWithoutReply: true}
}

func noPreview() *models.LinkPreviewOptions {
	return &models.LinkPreviewOptions{IsDisabled: new(true)}
}

// validUTF8 replaces each invalid byte by U+FFFD, which keeps the offsets of entities. The library
// sends texts unchanged, and Telegram refuses invalid UTF-8.
func validUTF8(text string) string {
	if utf8.ValidString(text) {
		return text
	}
	return string([]rune(text))
}

// isRich reports whether a post is sent as a rich message.
func (s *Sender) isRich(p *outgoingPost) bool { return p.rich != "" && s.support.mayUse(richMethod) }

// richParams returns the parameters of a call that sends a rich message.
func (p *outgoingPost) richParams() *bot.SendRichMessageParams {
	return &bot.SendRichMessageParams{
		ChatID: p.destination.Chat, MessageThreadID: p.destination.Thread,
		RichMessage:         models.InputRichMessage{HTML: validUTF8(p.rich)},
		DisableNotification: p.isSilent(), ReplyParameters: p.replyParameters(), ReplyMarkup: keyboard(p.outgoing.Buttons),
	}
}

// isRichRefused reports whether a post is to be sent without its rich form: the server does not
// know rich messages, which is remembered, or does not accept this one. Nothing was sent then.
func (s *Sender) isRichRefused(p *outgoingPost, err error) bool {
	var apiErr *botapi.Error
	if !errors.As(err, &apiErr) {
		return false
	}
	if s.support.recordUnknown(richMethod, err) {
		return true
	}
	if apiErr.NotTelegram || apiErr.Code != http.StatusBadRequest || apiErr.Mentions(chatErrors...) ||
		isMessageGone(err) || botapi.IsNotModified(err) {
		return false
	}
	s.log.Warn("rich message refused, sent without its blocks", zap.Stringer("chat", p.outgoing.Chat), zap.Error(err))
	return true
}
