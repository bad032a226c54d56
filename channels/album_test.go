package channels_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"nanobot/channels"
)

var (
	telegramAlbums = channels.Albums{Limit: 10, Caption: 1024, Measure: channels.UTF16}
	discordAlbums  = channels.Albums{Limit: 10, Mixed: true, Caption: 2000, Measure: channels.Runes}
)

// files makes files a, b, c … of the kinds given by their first letters.
func files(kinds string) []channels.File {
	byLetter := map[rune]channels.MediaKind{'i': channels.Image, 'v': channels.Video, 'a': channels.Audio, 'd': channels.Document}
	var all []channels.File
	for i, k := range []rune(kinds) {
		all = append(all, channels.File{Name: string(rune('a' + i)), Kind: byLetter[k]})
	}
	return all
}

// show writes groups as their names, captions in brackets.
func show(groups []channels.Album) []string {
	var all []string
	for _, g := range groups {
		var b strings.Builder
		for _, f := range g.Files {
			b.WriteString(f.Name)
		}
		if g.Caption != "" {
			fmt.Fprintf(&b, "(%s)", g.Caption)
		}
		all = append(all, b.String())
	}
	return all
}

func TestFilesAreGroupedAsTheNetworkTakesThem(t *testing.T) {
	for _, tt := range []struct {
		name, kinds string
		albums      channels.Albums
		want        []string
	}{
		{"no files", "", telegramAlbums, nil},
		{"one image is a group of its own", "i", telegramAlbums, []string{"a"}},
		{"images and videos share an album", "ivi", telegramAlbums, []string{"abc"}},
		{"ten fill an album", "iiiiiiiiii", telegramAlbums, []string{"abcdefghij"}},
		{"the eleventh goes alone", "iiiiiiiiiii", telegramAlbums, []string{"abcdefghij", "k"}},
		{"the rest is an album again", "iiiiiiiiiiivi", telegramAlbums, []string{"abcdefghij", "klm"}},
		{"audio and documents follow one by one", "diavid", telegramAlbums, []string{"bde", "a", "c", "f"}},
		{"Discord mixes all kinds in order", "diavidddddda", discordAlbums, []string{"abcdefghij", "kl"}},
		{"no limit counts as one", "iv", channels.Albums{Measure: channels.Runes}, []string{"a", "b"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before, groups := tt.albums.Plan("", files(tt.kinds))
			if got := show(groups); before != "" || !slices.Equal(got, tt.want) {
				t.Errorf("got %q before %q, want %q", before, got, tt.want)
			}
		})
	}
}

func TestATextIsTheCaptionOfOneItemIfItFits(t *testing.T) {
	fits := strings.Repeat("👍", 512)
	for _, tt := range []struct {
		name, text, kinds, before string
		want                      []string
	}{
		{"the first item of the first group", "hi", "iiiiiiiiiiid", "", []string{"abcdefghij(hi)", "k", "l"}},
		{"a document", "hi", "d", "", []string{"a(hi)"}},
		{"no files to carry it", "hi", "", "hi", nil},
		{"blank text", " \n", "i", "", []string{"a"}},
		{"as long as a caption may be", fits, "i", "", []string{"a(" + fits + ")"}},
		{"too long, so it goes before", fits + "!", "ii", fits + "!", []string{"ab"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before, groups := telegramAlbums.Plan(tt.text, files(tt.kinds))
			if got := show(groups); before != tt.before || !slices.Equal(got, tt.want) {
				t.Errorf("got %q before %q, want %q before %q", before, got, tt.before, tt.want)
			}
		})
	}
}
