package telegram

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/channels/markdown"
	"nanobot/channels/telegram/entities"
)

// sendParts sends a post and returns the ID of the first message. Mostly that is one call. A file
// that cannot be in the album is sent alone, and a file that Telegram refuses is replaced by a
// notice. If a later call fails, the outcome is unknown, because some messages were sent.
func (c *Channel) sendParts(ctx context.Context, p *outgoingPost) (first int, err error) {
	queue, err := c.planFiles(p)
	if err != nil {
		return 0, fmt.Errorf("look at file: %w", err)
	}
	sent, waits := false, 0
	for len(queue) > 0 {
		next := queue[0]
		p.sendAs, p.files = next.sendAs, next.files
		if next.sendAs == asText {
			p.text = next.text
		}
		var id int
		err := c.callWithRepairs(ctx, p, func() (err error) {
			id, err = c.sendOnce(ctx, p)
			return err
		})
		switch {
		case err == nil:
			if !sent {
				sent, first = true, id
			}
			p.text, p.outgoing.ReplyTo = entities.Text{}, ""
			p.outgoing.Silent = true // the first call has notified
			queue = queue[1:]
		case isFileRefused(err) && len(p.files) > 0:
			queue = c.splitRefused(p, err, queue[1:])
		case sent && isRateLimited(err) && waits < maxTries:
			waits++ // waiting is better than sending everything again
		case sent:
			return 0, partiallySent(err)
		default:
			return 0, err
		}
		if len(queue) == 0 {
			queue = p.remainingText()
		}
	}
	return first, nil
}

// planFiles opens the files to decide how each is sent. A picture that cannot be a photo leaves the
// album, and an unreadable file is replaced by a notice.
func (c *Channel) planFiles(p *outgoingPost) ([]messagePart, error) {
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
			c.addRefusedFile(p, f, "it cannot be read", err)
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
func (c *Channel) splitRefused(p *outgoingPost, err error, behind []messagePart) []messagePart {
	if len(p.files) == 1 {
		why := "Telegram does not accept it"
		if isUnreadable(err) {
			why = "it cannot be read"
		}
		c.addRefusedFile(p, p.files[0], why, err)
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
func (c *Channel) addRefusedFile(p *outgoingPost, f channels.File, why string, err error) {
	c.log.Warn("file not sent", zap.Stringer("chat", p.outgoing.Chat), zap.Error(err))
	p.notices = append(p.notices, fmt.Sprintf("⚠ %q was not sent: %s.", fileName(f), why))
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
		parts = append([]messagePart{{sendAs: asText, text: p.text}}, textParts(markdown.Plain(strings.Join(p.notices, "\n")))...)
	}
	parts = slices.DeleteFunc(parts, func(p messagePart) bool { return p.text.Text == "" })
	p.text, p.notices = entities.Text{}, nil
	return parts
}

// partiallySent is the error of a post of which some messages were sent.
func partiallySent(err error) error {
	var se *channels.SendError
	if !errors.As(sendError(err), &se) {
		return err
	}
	return &channels.SendError{Err: fmt.Errorf("some was sent, then: %w", se.Err), Permanent: se.Permanent, Unknown: !se.Permanent, After: se.After}
}

// isUnreadable reports whether a local file is missing or not permitted.
func isUnreadable(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission)
}
