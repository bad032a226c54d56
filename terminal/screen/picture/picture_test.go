package picture_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"flag"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"io"
	"os"
	"strings"
	"sync"
	"testing"

	"nanobot/internal/musttest"
	"nanobot/terminal/screen"
	"nanobot/terminal/screen/picture"
)

var update = flag.Bool("update", false, "rewrite the pictures in testdata")

// characters shows every style, and characters of every kind.
const characters = "\x1b[1mbold\x1b[m \x1b[3mitalic\x1b[m \x1b[1;3mboth\x1b[m \x1b[4munder\x1b[m " +
	"\x1b[9mstrike\x1b[m \x1b[2mfaint\x1b[m " +
	"\x1b[7mreverse\x1b[m \x1b[8mhidden\x1b[m\r\n" +
	"\x1b[31mred \x1b[92mgreen\x1b[m \x1b[38;5;208;48;5;17morange on blue\x1b[m " +
	"\x1b[48;2;90;0;90mpurple\x1b[m gjpqy ÄÉß e\u0301 日本 ✓\r\n" +
	"┌─┬─┐┏━┳━┓╔═╦═╗╒═╤═╕╓─╥─╖╭─┬─╮┍━┯━┑┎─┰─┒ ▁▂▃▄▅▆▇█ ╱╲╳ ⎺⎻⎼⎽\r\n" +
	"├─┼─┤┣━╋━┫╠═╬═╣╞═╪═╡╟─╫─╢├─┼─┤┝━┿━┥┠─╂─┨ ▏▎▍▌▋▊▉█ ░▒▓▐▀▄▔▕\r\n" +
	"└─┴─┘┗━┻━┛╚═╩═╝╘═╧═╛╙─╨─╜╰─┴─╯┕━┷━┙┖─┸─┚ ▖▗▘▙▚▛▜▝▞▟ ┄┅┆┇┈┉╌╍╎\r\n" +
	"⣿⡇⠿⠋⠙ ╴╵╶╷╸╹╺╻╼╽╾╿ → ← ↑ ↓ … ● ■\r\n$ "

func TestPicturesEqualTheGoldenFiles(t *testing.T) {
	for name, s := range map[string]*screen.Screen{
		"characters": shown(t, 66, 7, []byte(characters)),
		"htop":       recorded(t, "htop", 45),
		"vim":        recorded(t, "vim", 70),
	} {
		var b bytes.Buffer
		musttest.Get(picture.Encode(&b, s.Snapshot(), nil))(t)
		file := "testdata/" + name + ".png"
		if *update {
			musttest.Do(t, os.WriteFile(file, b.Bytes(), 0o644))
		}
		want := musttest.Get(os.ReadFile(file))(t)
		comparePictures(t, name, pixels(t, b.Bytes()), pixels(t, want))
	}
}

func shown(t *testing.T, cols, rows int, output []byte) *screen.Screen {
	t.Helper()
	s := screen.New(cols, rows)
	musttest.Get(s.Write(output))(t)
	return s
}

// recorded returns the screen of a program after some percent of its output.
func recorded(t *testing.T, name string, percent int) *screen.Screen {
	t.Helper()
	f := musttest.Get(os.Open("../testdata/" + name + ".gz"))(t)
	defer f.Close()
	z := musttest.Get(gzip.NewReader(f))(t)
	data := musttest.Get(io.ReadAll(z))(t)
	return shown(t, 80, 24, data[:len(data)*percent/100])
}

func pixels(t *testing.T, data []byte) *image.RGBA {
	t.Helper()
	img := musttest.Get(png.Decode(bytes.NewReader(data)))(t)
	all := image.NewRGBA(img.Bounds())
	draw.Draw(all, all.Rect, img, image.Point{}, draw.Src)
	return all
}

func comparePictures(t *testing.T, name string, got, want *image.RGBA) {
	t.Helper()
	if got.Rect != want.Rect {
		t.Errorf("%s has the size %v, want %v", name, got.Rect, want.Rect)
		return
	}
	if bytes.Equal(got.Pix, want.Pix) {
		return
	}
	for y := range got.Rect.Dy() {
		for x := range got.Rect.Dx() {
			if got.RGBAAt(x, y) != want.RGBAAt(x, y) {
				t.Errorf("%s differs at %d,%d: %v, want %v; look at it and run the test with -update",
					name, x, y, got.RGBAAt(x, y), want.RGBAAt(x, y))
				return
			}
		}
	}
}

// TestLinesJoin looks for gaps between characters that go from edge to edge.
func TestLinesJoin(t *testing.T) {
	for _, c := range []string{"─", "━", "═", "█", "┼", "╦", "╋", "╪", "▄", "▒"} {
		img := encode(t, shown(t, 8, 1, []byte("\x1b[?25l"+strings.Repeat(c, 8))))
		background := img.RGBAAt(0, 0)
		if c == "█" || c == "▒" {
			background = rgba(screen.DefaultBackground)
		}
		joined := false
		for y := range img.Rect.Dy() {
			line := true
			for x := range img.Rect.Dx() {
				line = line && img.RGBAAt(x, y) != background
			}
			joined = joined || line
		}
		if !joined {
			t.Errorf("%s has gaps", c)
		}
	}
}

func rgba(c screen.Color) color.RGBA {
	r, g, b, _ := c.RGB()
	return color.RGBA{r, g, b, 0xff}
}

func TestTheCursorIsDrawn(t *testing.T) {
	visible := encode(t, shown(t, 4, 2, []byte("ab")))
	hidden := encode(t, shown(t, 4, 2, []byte("ab\x1b[?25l")))
	same := func(x int) bool { return visible.RGBAAt(x, 5) == hidden.RGBAAt(x, 5) }
	if same(25) || !same(35) {
		t.Error("the cursor is not in the third column")
	}
	wide := encode(t, shown(t, 4, 2, []byte("日\r")))
	if wide.RGBAAt(1, 1) != wide.RGBAAt(19, 1) || wide.RGBAAt(1, 1) == wide.RGBAAt(21, 1) {
		t.Error("the cursor does not cover a wide character")
	}
}

func encode(t *testing.T, s *screen.Screen) *image.RGBA {
	t.Helper()
	var b bytes.Buffer
	musttest.Get(picture.Encode(&b, s.Snapshot(), nil))(t)
	return pixels(t, b.Bytes())
}

func TestManyPicturesAtTheSameTime(t *testing.T) {
	s := shown(t, 66, 7, []byte(characters)).Snapshot()
	var first bytes.Buffer
	musttest.Get(picture.Encode(&first, s, nil))(t)
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			var b bytes.Buffer
			if _, err := picture.Encode(&b, s, nil); err != nil || !bytes.Equal(b.Bytes(), first.Bytes()) {
				t.Errorf("another picture, or %v", err)
			}
		})
	}
	group.Wait()
}

type brokenWriter struct{}

var errBroken = errors.New("broken")

func (brokenWriter) Write([]byte) (int, error) { return 0, errBroken }

func TestErrorsOfTheWriterAreReturned(t *testing.T) {
	_, err := picture.Encode(brokenWriter{}, screen.New(4, 2).Snapshot(), nil)
	if !errors.Is(err, errBroken) {
		t.Errorf("a writer that fails: %v", err)
	}
	if _, err := picture.Encode(io.Discard, screen.New(1000, 1000).Snapshot(), nil); err == nil {
		t.Error("a picture of 1000×1000 characters is drawn")
	}
}
