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

// deliver sends a post and returns the id of the first message. Mostly that is one call. One file
// that cannot go with the others, or at all, does not take them with it: it goes alone, or is
// named. If the rest then fails, or we are killed in between, the outcome is unknown: some of it
// was sent.
func (c *Channel) deliver(ctx context.Context, p *post) (first int, err error) {
	queue, err := c.fit(p)
	if err != nil {
		return 0, fmt.Errorf("look at file: %w", err)
	}
	sent, waits := false, 0
	for len(queue) > 0 {
		next := queue[0]
		p.as, p.files = next.as, next.files
		if next.as == asText {
			p.words = next.words
		}
		var id int
		err := c.insist(ctx, p, func() (err error) {
			id, err = c.post(ctx, p)
			return err
		})
		switch {
		case err == nil:
			if !sent {
				sent, first = true, id
			}
			p.words, p.o.ReplyTo = entities.Text{}, ""
			queue = queue[1:]
		case refusedFile(err) && len(p.files) > 0:
			queue = c.apart(p, err, queue[1:])
		case sent && flooded(err) && waits < mostTries:
			waits++ // to wait a little is better than to have it all sent again
		case sent:
			return 0, inDoubt(err)
		default:
			return 0, err
		}
		if len(queue) == 0 {
			queue = p.leftover()
		}
	}
	return first, nil
}

// fit looks into the files for what decides how they go out, which their names do not tell. A
// picture that cannot be a photo leaves the album, and a file that cannot be read is named.
func (c *Channel) fit(p *post) ([]part, error) {
	if p.as == asText {
		return []part{{as: asText, words: p.words}}, nil
	}
	var together []channels.File
	var alone []part
	for _, f := range p.files {
		as := p.as
		if as == asAlbum {
			as = single(f)
		}
		as, err := fitting(as, f)
		switch {
		case unreadable(err):
			c.refuse(p, f, "it cannot be read", err)
		case err != nil:
			return nil, err
		case p.as == asAlbum && as != asDocument:
			together = append(together, f)
		default:
			alone = append(alone, part{as: as, files: []channels.File{f}})
		}
	}
	parts := p.arranged(together, alone)
	if len(parts) == 0 {
		return p.leftover(), nil
	}
	if all := p.noted(); channels.UTF16(all.Text) <= captionLimit+markUnits {
		p.words, p.refused = all, nil
	}
	return parts, nil
}

// arranged is an album and what goes alone behind it. Without an album, for which it takes two, the
// order is the files'.
func (p *post) arranged(together []channels.File, alone []part) []part {
	if len(together) >= 2 {
		return append([]part{{as: asAlbum, files: together}}, alone...)
	}
	for _, f := range together {
		alone = append(alone, part{as: single(f), files: []channels.File{f}})
	}
	slices.SortStableFunc(alone, func(a, b part) int {
		return slices.Index(p.o.Media, a.files[0]) - slices.Index(p.o.Media, b.files[0])
	})
	return alone
}

// apart is what to send instead of what was refused, and of what was to come behind it. An album
// goes out without the item that Telegram complains of, which goes alone; if Telegram does not say
// which, or complains again, all items go alone. Of a single file nothing is sent.
func (c *Channel) apart(p *post, err error, behind []part) []part {
	if len(p.files) == 1 {
		why := "Telegram does not take it"
		if unreadable(err) {
			why = "it cannot be read"
		}
		c.refuse(p, p.files[0], why, err)
		return behind
	}
	bad := itemOf(err) - 1
	var together []channels.File
	for i, f := range p.files {
		one := part{as: single(f), files: []channels.File{f}}
		switch {
		case i == bad && refusedAs(err):
			one.as = asDocument
		case i != bad && bad >= 0 && !p.parted:
			together = append(together, f)
			continue
		}
		behind = append(behind, one)
	}
	p.parted = true
	return p.arranged(together, behind)
}

// refuse notes a file that is not sent.
func (c *Channel) refuse(p *post, f channels.File, why string, err error) {
	c.log.Warn("file not sent", zap.Stringer("chat", p.o.Chat), zap.Error(err))
	p.refused = append(p.refused, fmt.Sprintf("⚠ %q was not sent: %s.", fileName(f), why))
}

// noted is the text with what there is to say of files that are not sent.
func (p *post) noted() entities.Text {
	all := p.words
	all.Text = strings.Trim(all.Text+"\n"+strings.Join(p.refused, "\n"), "\n")
	return all
}

// leftover is what remains to be said when no file is left to say it below.
func (p *post) leftover() []part {
	var parts []part
	if all := p.noted(); channels.UTF16(all.Text) <= textLimit {
		parts = []part{{as: asText, words: all}}
	} else {
		parts = append([]part{{as: asText, words: p.words}}, texts(markdown.Plain(strings.Join(p.refused, "\n")))...)
	}
	parts = slices.DeleteFunc(parts, func(p part) bool { return p.words.Text == "" })
	p.words, p.refused = entities.Text{}, nil
	return parts
}

// inDoubt is the error of a post of which some was sent.
func inDoubt(err error) error {
	var se *channels.SendError
	if !errors.As(sendError(err), &se) {
		return err
	}
	return &channels.SendError{Err: fmt.Errorf("some was sent, then: %w", se.Err), Permanent: se.Permanent, Unknown: !se.Permanent, After: se.After}
}

// unreadable tells whether a file of ours is gone, or not for us.
func unreadable(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission)
}
