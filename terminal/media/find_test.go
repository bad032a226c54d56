package media_test

import (
	"path/filepath"
	"strings"
	"testing"

	"nanobot/internal/fuzztest"
	"nanobot/internal/lineartest"
	"nanobot/internal/wanttest"
	"nanobot/terminal/media"
)

func TestFindMediaFindsPathsAsPeopleWriteThem(t *testing.T) {
	for line, want := range map[string][]string{
		"/tmp/a.png":                                       {"/tmp/a.png"},
		"saved to /tmp/a.png.":                             {"/tmp/a.png"},
		"/tmp/a.png, /tmp/b.JPG; /tmp/c.pdf!":              {"/tmp/a.png", "/tmp/b.JPG", "/tmp/c.pdf"},
		"/tmp/a.png,/tmp/b.png":                            {"/tmp/a.png", "/tmp/b.png"},
		"(/tmp/a.png) [/tmp/b.mp4] {/tmp/c.ogg}":           {"/tmp/a.png", "/tmp/b.mp4", "/tmp/c.ogg"},
		"`/tmp/a.png` and '/tmp/b c.png' and \"/d e.gif\"": {"/tmp/a.png", "/tmp/b c.png", "/d e.gif"},
		"![alt](/tmp/a.png)":                               {"/tmp/a.png"},
		"path=/tmp/a.png: ok":                              {"/tmp/a.png"},
		"/tmp/a(1).png":                                    {"/tmp/a(1).png"},
		"file:///tmp/a.png":                                {"/tmp/a.png"},
		"已保存到/tmp/图.png。":                                  {"/tmp/图.png"},
		"/tmp//x/../a.png":                                 {"/tmp/a.png"},
		"it's at /tmp/a.png, isn't it":                     {"/tmp/a.png"},
		"/tmp/a.png\x1b[0m":                                {"/tmp/a.png"},
		"/a.png /a.png":                                    {"/a.png", "/a.png"},
		"/tmp/a.png...":                                    {"/tmp/a.png"},
		"<b>/tmp/a.webm</b>":                               {"/tmp/a.webm"},
	} {
		wanttest.EqualSlices(t, line+":", media.FindPaths([]byte(line)), want)
	}
}

func TestFindMediaFindsNothingElse(t *testing.T) {
	for _, line := range []string{
		"", "/", "//", "no path", "a.png", "./a.png", "../a.png", "dir/a.png", "~/a.png", "https://example.org/a.png", "s3://bucket/a.png",
		"/tmp/a.png.bak", "/tmp/a.pngx", "/tmp/a.txt", "/tmp/.png/x", "/tmp/a .png", "$HOME/a.png", "${DIR}/a.png", "C:/a.pngs", "/tmp/a.png/b",
		"https://example.org/x?y=/tmp/a.png", "and/or.png", "/" + strings.Repeat("x", 5000) + ".png",
	} {
		if got := media.FindPaths([]byte(line)); got != nil {
			t.Errorf("%q: got %q", line, got)
		}
	}
}

func TestFindMediaScansNoByteTwice(t *testing.T) {
	for _, piece := range []string{"(/", "(/x", "url(/assets/xxxxxx)", "'/`/\"/", " /x.", "/.png/"} {
		lineartest.Check(t, piece, 1<<20, func(n int) { media.FindPaths([]byte(strings.Repeat(piece, n/len(piece)))) })
	}
}

func FuzzFindMedia(f *testing.F) {
	seeds := []string{"see '/tmp/a b.png', (/c.pdf).", "file:///x.mp4 https://h/x.png", "/a.png.png/b.JPEG", "\"/\"/\"", "``/`.gif`"}
	for _, s := range append(seeds, fuzztest.Mutate(seeds, 3000)...) {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		for _, p := range media.FindPaths(line) {
			if !filepath.IsAbs(p) || filepath.Clean(p) != p || filepath.Ext(p) == "" {
				t.Fatalf("%q is no clean absolute path with an extension", p)
			}
		}
	})
}
