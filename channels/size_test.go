package channels_test

import (
	"math"
	"testing"

	"nanobot/channels"
)

func TestSizesReadAsPeopleWriteThem(t *testing.T) {
	for _, tt := range []struct {
		n    int64
		want string
	}{
		{0, "0 bytes"},
		{1, "1 byte"},
		{3, "3 bytes"},
		{999, "999 bytes"},
		{1000, "1.0 kB"},
		{1234, "1.2 kB"},
		{999_949, "999.9 kB"},
		{999_950, "1.0 MB"},
		{1_234_567, "1.2 MB"},
		{50_000_000, "50.0 MB"},
		{2_500_000_000, "2.5 GB"},
		{math.MaxInt64, "9.2 EB"},
	} {
		if got := channels.HumanSize(tt.n); got != tt.want {
			t.Errorf("HumanSize(%d) = %q, want %q", tt.n, got, tt.want)
		}
	}
}

func TestKindsGoByTheExtension(t *testing.T) {
	for name, want := range map[string]channels.MediaKind{
		"a.jpg": channels.Image, "a.JPEG": channels.Image, "b.webm": channels.Video, "c.Ogg": channels.Audio,
		"d.pdf": channels.Document, "e": channels.Document, ".png": channels.Image, "f.tar.gz": channels.Document,
	} {
		if got := channels.KindOf(name); got != want {
			t.Errorf("KindOf(%q) = %q, want %q", name, got, want)
		}
	}
}
