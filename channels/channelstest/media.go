package channelstest

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"nanobot/channels"
)

// checkFiles compares the files that were to be sent with the files that arrived. It ignores the
// order unless ordered is true.
func (s Subject) checkFiles(want []channels.File, sent []SentCall, ordered bool) error {
	var missing, got []SentFile
	for _, f := range want {
		e, err := s.expectedFile(f)
		if err != nil {
			return err
		}
		missing = append(missing, e)
	}
	for _, f := range filesOf(sent) {
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

// everyKindOfFileArrives ignores the order, because networks group files by kind.
func everyKindOfFileArrives(ctx context.Context, fx fixture) error {
	all, err := fx.writeFiles("kinds", "photo.jpg", "drawing.PNG", "moving.gif", "clip.mp4", "song.mp3", "voice.ogg",
		"paper.pdf", "archive.tar.gz", "no extension", "große Übersicht 日本.csv")
	if err != nil {
		return err
	}
	for _, m := range append([]channels.Message{fx.newAnswer("", all...)}, messagePerFile(fx.Subject, all)...) {
		sent, err := fx.planAndSend(ctx, m)
		if err != nil {
			return fmt.Errorf("%s: %w", m.Media[0].Name, err)
		}
		if err := fx.checkFiles(m.Media, sent, false); err != nil {
			return err
		}
	}
	return nil
}

func messagePerFile(s Subject, all []channels.File) []channels.Message {
	var out []channels.Message
	for _, f := range all {
		out = append(out, s.newAnswer("", f))
	}
	return out
}

func manyFilesArrive(ctx context.Context, fx fixture) error {
	for _, ext := range []string{".png", ".mp3", ".pdf"} {
		var names []string
		for i := range 25 {
			names = append(names, fmt.Sprintf("file%02d%s", i, ext))
		}
		many, err := fx.writeFiles("many", names...)
		if err != nil {
			return err
		}
		sent, err := fx.planAndSend(ctx, fx.newAnswer("", many...))
		if err == nil {
			err = fx.checkFiles(many, sent, true)
		}
		if err != nil {
			return fmt.Errorf("25 files of %s: %w", ext, err)
		}
	}
	return nil
}

// textArrivesWithFiles tries lengths on both sides of the limits for captions.
func textArrivesWithFiles(ctx context.Context, fx fixture) error {
	mixed, err := fx.writeFiles("mixed", "photo.png", "clip.mp4", "song.mp3", "paper.pdf")
	if err != nil {
		return err
	}
	for _, n := range []int{10, 99, 101, 1024, 1025} {
		for _, media := range [][]channels.File{mixed[:1], mixed[:2], mixed[2:3], mixed} {
			m := fx.newAnswer(numberedText(n), media...)
			sent, err := fx.planAndSend(ctx, m)
			if err == nil {
				err = fx.checkFiles(media, sent, false)
			}
			if err == nil {
				err = compareTexts(fx.normalize(m.Text), fx.normalize(strings.Join(textsOf(sent), "\n")))
			}
			if err != nil {
				return fmt.Errorf("%s: %w", describe(m), err)
			}
		}
	}
	return nil
}

func sameNamesArrive(ctx context.Context, fx fixture) error {
	one, err := fx.writeFile("one", "plot.png")
	if err != nil {
		return err
	}
	two, err := fx.writeFile("two", "plot.png")
	if err != nil {
		return err
	}
	sent, err := fx.planAndSend(ctx, fx.newAnswer("", one, two))
	if err != nil {
		return err
	}
	return fx.checkFiles([]channels.File{one, two}, sent, true)
}

func contentArrives(ctx context.Context, fx fixture) error {
	const content = "a text that is in no file\n"
	f := channels.File{Name: "whole answer.md", Kind: channels.Document, Size: int64(len(content)), Content: content}
	for _, text := range []string{"", "the beginning"} {
		sent, err := fx.planAndSend(ctx, fx.newAnswer(text, f))
		if err != nil {
			return err
		}
		if err := fx.checkFiles([]channels.File{f}, sent, true); err != nil {
			return err
		}
	}
	return nil
}
