package channels_test

import (
	"reflect"
	"testing"

	"nanobot/channels"
)

func newAlbum() channels.Incoming {
	one := channels.Incoming{ID: "1", Text: "one", Media: []string{"/a"}}
	two := channels.Incoming{ID: "2", Text: "two", Media: []string{"/b", "/c"}, MediaNames: []string{"B", "C"}}
	three := channels.Incoming{ID: "3", Text: "three", Forwarded: &channels.Forwarded{}}
	return channels.Join(channels.Join(one, two, "\n"), three, "\n")
}

func TestJoinedMessagesKnowTheirPieces(t *testing.T) {
	in := newAlbum()
	if in.ID != "1" || in.Text != "one\ntwo\nthree" || in.Comment() != "one\ntwo" {
		t.Errorf("got %+v with the comment %q", in, in.Comment())
	}
	if want := []string{"", "B", "C"}; !reflect.DeepEqual(in.MediaNames, want) {
		t.Errorf("the names are %q instead of %q", in.MediaNames, want)
	}
}

func TestAnEditOfAPieceChangesOnlyThatPiece(t *testing.T) {
	for _, c := range []struct{ id, text, want string }{
		{"1", "ONE", "ONE\ntwo\nthree"},
		{"2", "TWO", "one\nTWO\nthree"},
		{"3", "", "one\ntwo"},
		{"1", "", "two\nthree"},
		{"9", "other", "one\ntwo\nthree"},
	} {
		got := newAlbum().ApplyEdit(channels.Incoming{ID: c.id, Text: c.text, Change: channels.Edited})
		if got.Text != c.want {
			t.Errorf("edit of %s: %q instead of %q", c.id, got.Text, c.want)
		}
		if again := got.ApplyEdit(channels.Incoming{ID: "2", Text: "2"}); c.id == "1" && c.text == "" && again.Text != "2\nthree" {
			t.Errorf("a second edit: %q", again.Text)
		}
	}
	paste := channels.Join(channels.Incoming{ID: "1", Text: "ab"}, channels.Incoming{ID: "2", Text: "cd"}, "")
	if got := paste.ApplyEdit(channels.Incoming{ID: "2", Text: "CD"}); got.Text != "abCD" {
		t.Errorf("edit of a piece of a paste: %q", got.Text)
	}
}

func TestADeletedPieceIsRemovedWithItsFiles(t *testing.T) {
	in, ok := newAlbum().Without("2")
	if !ok || in.Text != "one\nthree" || !reflect.DeepEqual(in.Media, []string{"/a"}) || !reflect.DeepEqual(in.MediaNames, []string{""}) {
		t.Errorf("got %+v, %v", in, ok)
	}
	in, _ = in.Without("1")
	if in.Text != "three" || len(in.Media) != 0 {
		t.Errorf("got %+v", in)
	}
	if _, ok := in.Without("3"); ok {
		t.Error("something is left of nothing")
	}
}

func TestTheBeginningOfATextIsTakenOffThePiecesThatHaveIt(t *testing.T) {
	for _, c := range []struct{ first, second, rest, want string }{
		{"/faq one", "two", "one\ntwo\nthree", "one\nTWO\nthree"},
		{"", "/faq two", "two\nthree", "TWO\nthree"},
		{"/faq", "two", "two\nthree", "TWO\nthree"},
	} {
		in := channels.Join(channels.Incoming{ID: "1", Text: c.first, Media: []string{"/a"}},
			channels.Incoming{ID: "2", Text: c.second, Media: []string{"/b"}}, "\n")
		in = channels.Join(in, channels.Incoming{ID: "3", Text: "three", Media: []string{"/c"}}, "\n")
		got := in.WithRest(c.rest).ApplyEdit(channels.Incoming{ID: "2", Text: "TWO"})
		if got.Text != c.want {
			t.Errorf("%q and %q: %q instead of %q", c.first, c.second, got.Text, c.want)
		}
	}
}
