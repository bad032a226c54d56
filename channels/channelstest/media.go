package channelstest

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"nanobot/channels"
)

// carried says which of the files are not among those that arrived, or not in order where order is
// asked for.
func (s Subject) carried(want []channels.File, sent []SentCall, ordered bool) error {
	var missing, got []SentFile
	for _, f := range want {
		e, err := s.expected(f)
		if err != nil {
			return err
		}
		missing = append(missing, e)
	}
	for _, f := range files(sent) {
		if s.ShowsPaths {
			f.Content = ""
		}
		got = append(got, f)
	}
	if ordered && slices.Equal(got, missing) {
		return nil
	}
	if ordered {
		return fmt.Errorf("the files should be %+v and are %+v", missing, got)
	}
	for _, f := range got {
		i := slices.Index(missing, f)
		if i < 0 {
			return fmt.Errorf("the file %+v arrived, but only %+v remain to arrive", f, missing)
		}
		missing = slices.Delete(missing, i, i+1)
	}
	if len(missing) > 0 {
		return fmt.Errorf("the files %+v did not arrive", missing)
	}
	return nil
}

// everyKindOfFileArrives asks for no order: networks show kinds apart.
func everyKindOfFileArrives(ctx context.Context, b bench) error {
	all, err := b.files("kinds", "photo.jpg", "drawing.PNG", "moving.gif", "clip.mp4", "song.mp3", "voice.ogg",
		"paper.pdf", "archive.tar.gz", "no extension", "große Übersicht 日本.csv")
	if err != nil {
		return err
	}
	for _, m := range append([]channels.Message{b.say("", all...)}, oneByOne(b.Subject, all)...) {
		sent, err := b.deliver(ctx, m)
		if err != nil {
			return fmt.Errorf("%s: %w", m.Media[0].Name, err)
		}
		if err := b.carried(m.Media, sent, false); err != nil {
			return err
		}
	}
	return nil
}

func oneByOne(s Subject, all []channels.File) []channels.Message {
	var out []channels.Message
	for _, f := range all {
		out = append(out, s.say("", f))
	}
	return out
}

func manyFilesArrive(ctx context.Context, b bench) error {
	for _, ext := range []string{".png", ".mp3", ".pdf"} {
		var names []string
		for i := range 25 {
			names = append(names, fmt.Sprintf("file%02d%s", i, ext))
		}
		many, err := b.files("many", names...)
		if err != nil {
			return err
		}
		sent, err := b.deliver(ctx, b.say("", many...))
		if err == nil {
			err = b.carried(many, sent, true)
		}
		if err != nil {
			return fmt.Errorf("25 files of %s: %w", ext, err)
		}
	}
	return nil
}

// textArrivesWithFiles tries texts on both sides of what fits below a picture.
func textArrivesWithFiles(ctx context.Context, b bench) error {
	mixed, err := b.files("mixed", "photo.png", "clip.mp4", "song.mp3", "paper.pdf")
	if err != nil {
		return err
	}
	for _, n := range []int{10, 99, 101, 1024, 1025} {
		for _, media := range [][]channels.File{mixed[:1], mixed[:2], mixed[2:3], mixed} {
			m := b.say(numbered(n), media...)
			sent, err := b.deliver(ctx, m)
			if err == nil {
				err = b.carried(media, sent, false)
			}
			if err == nil {
				err = difference(b.normal(m.Text), b.normal(strings.Join(texts(sent), "\n")))
			}
			if err != nil {
				return fmt.Errorf("%s: %w", brief(m), err)
			}
		}
	}
	return nil
}

func namesakesArrive(ctx context.Context, b bench) error {
	one, err := b.file("one", "plot.png")
	if err != nil {
		return err
	}
	two, err := b.file("two", "plot.png")
	if err != nil {
		return err
	}
	sent, err := b.deliver(ctx, b.say("", one, two))
	if err != nil {
		return err
	}
	return b.carried([]channels.File{one, two}, sent, true)
}

func contentArrives(ctx context.Context, b bench) error {
	const content = "a text that is in no file\n"
	f := channels.File{Name: "whole answer.md", Kind: channels.Document, Size: int64(len(content)), Content: content}
	for _, text := range []string{"", "the beginning"} {
		sent, err := b.deliver(ctx, b.say(text, f))
		if err != nil {
			return err
		}
		if err := b.carried([]channels.File{f}, sent, true); err != nil {
			return err
		}
	}
	return nil
}
