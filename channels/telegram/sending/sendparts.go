package sending

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"sync"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/channels/httpclient"
	"nanobot/channels/markdown"
	"nanobot/channels/telegram/botapi"
	"nanobot/channels/telegram/entities"
	"nanobot/internal/words"
)

// sendProgress is a post of which some messages may have been sent.
type sendProgress struct {
	post  *outgoingPost
	queue []messagePart // not sent
	sent  bool          // some messages were sent,
	first int           // of which this is the first
}

// beginSend plans the parts of a post. If an earlier attempt of the same post was refused after
// some messages, it continues with the next one.
func (s *Sender) beginSend(o channels.Outgoing) (*sendProgress, error) {
	if progress := s.unfinished.removeProgress(o.Key); progress != nil {
		return progress, nil
	}
	p, err := newOutgoingPost(o)
	if err != nil {
		return nil, permanent(err)
	}
	queue, err := s.planFiles(p)
	if err != nil {
		return nil, fmt.Errorf("look at file: %w", err)
	}
	return &sendProgress{post: p, queue: queue}, nil
}

// sendParts sends a post. Mostly that is one call. A file that cannot be in the album is sent
// alone, and a file that Telegram refuses is replaced by a notice. If a later call was not made,
// the next attempt continues with it; if its outcome is unknown, so is that of the post.
func (s *Sender) sendParts(ctx context.Context, progress *sendProgress) error {
	waits := 0
	for len(progress.queue) > 0 {
		err := s.sendPart(ctx, progress)
		switch {
		case err == nil:
		case isFileRefused(err) && len(progress.post.files) > 0:
			progress.queue = s.splitRefused(progress.post, err, progress.queue[1:])
		case progress.sent && botapi.RetryDelay(err) > 0 && waits < maxTries:
			waits++ // waiting is better than sending everything again
		case progress.sent && isNotMade(err) && s.unfinished.storeProgress(progress.post.outgoing.Key, progress):
			return partiallySent(err, true)
		case progress.sent:
			return partiallySent(err, false)
		default:
			return err
		}
		if len(progress.queue) == 0 {
			progress.queue = progress.post.remainingText()
		}
	}
	return nil
}

// sendPart sends the next part of a post.
func (s *Sender) sendPart(ctx context.Context, progress *sendProgress) error {
	next, p := progress.queue[0], progress.post
	p.sendAs, p.files = next.sendAs, next.files
	if next.sendAs == asText {
		p.text = next.text
	}
	var id int
	err := s.callWithRepairs(ctx, p, func() (err error) {
		id, err = s.sendOnce(ctx, p)
		return err
	})
	if err != nil {
		return err
	}
	if !progress.sent {
		progress.sent, progress.first = true, id
	}
	p.text, p.outgoing.ReplyTo = entities.Text{}, ""
	p.outgoing.Silent = true // the first call has notified
	progress.queue = progress.queue[1:]
	return nil
}

// isNotMade reports whether a call was certainly not executed and may be made later.
func isNotMade(err error) bool {
	e := httpclient.NewSendError(err)
	return !e.Permanent && !e.Unknown
}

// maxUnfinished bounds the posts that unfinishedSends holds. It is far more than are sent at the
// same time.
const maxUnfinished = 1000

// unfinishedSends holds the posts that were refused after some of their messages, by their keys,
// until their next attempt.
type unfinishedSends struct {
	mu  sync.Mutex
	all map[string]*sendProgress
}

// storeProgress stores the progress of a post. It reports false if there is no room, or if the post
// has no key.
func (u *unfinishedSends) storeProgress(key string, progress *sendProgress) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if key == "" || len(u.all) >= maxUnfinished {
		return false
	}
	if u.all == nil {
		u.all = map[string]*sendProgress{}
	}
	u.all[key] = progress
	return true
}

func (u *unfinishedSends) removeProgress(key string) *sendProgress {
	u.mu.Lock()
	defer u.mu.Unlock()
	progress := u.all[key]
	delete(u.all, key)
	return progress
}

// planFiles opens the files to decide how each is sent. A picture that cannot be a photo leaves the
// album, and an unreadable file is replaced by a notice.
func (s *Sender) planFiles(p *outgoingPost) ([]messagePart, error) {
	if p.sendAs == asText {
		return []messagePart{{sendAs: asText, text: p.text}}, nil
	}
	var together []channels.File
	var alone []messagePart
	for _, f := range p.files {
		as := p.sendAs
		if as == asAlbum {
			as = sendAsOf(f)
		}
		as, err := checkSendAs(as, f)
		switch {
		case isUnreadable(err):
			s.addRefusedFile(p, f, words.FileUnreadable, err)
		case err != nil:
			return nil, err
		case p.sendAs == asAlbum && as == sendAsOf(f): // not a picture that has to be a document
			together = append(together, f)
		default:
			alone = append(alone, messagePart{sendAs: as, files: []channels.File{f}})
		}
	}
	parts := p.arrangeParts(together, alone)
	if len(parts) == 0 {
		return p.remainingText(), nil
	}
	if all := p.textWithNotices(); channels.UTF16(all.Text) <= captionLimit+repeatMarkUnits {
		p.text, p.notices = all, nil
	}
	return parts, nil
}

// arrangeParts returns an album and the files that are sent alone after it. Fewer than two files
// make no album; then the order of the files is kept.
func (p *outgoingPost) arrangeParts(together []channels.File, alone []messagePart) []messagePart {
	if len(together) >= 2 {
		return append([]messagePart{{sendAs: asAlbum, files: together}}, alone...)
	}
	for _, f := range together {
		alone = append(alone, messagePart{sendAs: sendAsOf(f), files: []channels.File{f}})
	}
	slices.SortStableFunc(alone, func(a, b messagePart) int {
		return slices.Index(p.outgoing.Media, a.files[0]) - slices.Index(p.outgoing.Media, b.files[0])
	})
	return alone
}

// splitRefused returns the parts to send instead of a refused call, and of the parts after it. An
// album is sent without the item that Telegram names, which is sent alone; if Telegram names none,
// or refuses again, all items are sent alone. A single file is replaced by a notice.
func (s *Sender) splitRefused(p *outgoingPost, err error, behind []messagePart) []messagePart {
	if len(p.files) == 1 {
		why := words.FileRefusedByTelegram
		if isUnreadable(err) {
			why = words.FileUnreadable
		}
		s.addRefusedFile(p, p.files[0], why, err)
		return behind
	}
	bad := refusedItem(err) - 1
	var together []channels.File
	for i, f := range p.files {
		one := messagePart{sendAs: sendAsOf(f), files: []channels.File{f}}
		switch {
		case i == bad && isMediaTypeRefused(err):
			one.sendAs = asDocument
		case i != bad && bad >= 0 && !p.albumSplit:
			together = append(together, f)
			continue
		}
		behind = append(behind, one)
	}
	p.albumSplit = true
	return p.arrangeParts(together, behind)
}

// addRefusedFile adds a notice about a file that is not sent.
func (s *Sender) addRefusedFile(p *outgoingPost, f channels.File, why words.Key, err error) {
	s.log.Warn("file not sent", zap.Stringer("chat", p.outgoing.Chat), zap.Error(err))
	w := s.words.For(p.outgoing.Language)
	p.notices = append(p.notices, w.Text(words.FileNotSent, strconv.Quote(fileName(f)), w.Text(why)))
}

// textWithNotices is the text with the notices about files that are not sent.
func (p *outgoingPost) textWithNotices() entities.Text {
	all := p.text
	all.Text = strings.Trim(all.Text+"\n"+strings.Join(p.notices, "\n"), "\n")
	return all
}

// remainingText returns the text and notices that no file carries as a caption, as parts.
func (p *outgoingPost) remainingText() []messagePart {
	var parts []messagePart
	if all := p.textWithNotices(); channels.UTF16(all.Text) <= textLimit {
		parts = []messagePart{{sendAs: asText, text: all}}
	} else {
		parts = append([]messagePart{{sendAs: asText, text: p.text}},
			textParts(markdown.Plain(strings.Join(p.notices, "\n")))...)
	}
	parts = slices.DeleteFunc(parts, func(p messagePart) bool { return p.text.Text == "" })
	p.text, p.notices = entities.Text{}, nil
	return parts
}

// partiallySent is the error of a post of which some messages were sent. If its progress is stored,
// the next attempt continues.
func partiallySent(err error, isStored bool) error {
	e := httpclient.NewSendError(err)
	partial := &channels.SendError{Err: fmt.Errorf("some was sent, then: %w", e.Err), After: e.After, Partial: isStored}
	if !isStored {
		partial.Permanent, partial.Unknown = e.Permanent, !e.Permanent
	}
	return partial
}

// isUnreadable reports whether a local file is missing or not permitted.
func isUnreadable(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission)
}
