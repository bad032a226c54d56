package screen_test

import (
	"testing"

	"nanobot/internal/wanttest"
	"nanobot/terminal/screen"
)

func TestEveryColourOfThePaletteCanBeReadOnTheBackgroundOfPageAndPicture(t *testing.T) {
	t.Parallel()
	page := screen.TrueColor(0x11, 0x11, 0x11) // as in package web
	for i := range 256 {
		ink := screen.Style{Foreground: screen.Palette(uint8(i))}.Ink()
		for name, ground := range map[string]screen.Color{"page": page, "picture": screen.DefaultBackground} {
			if got := screen.Contrast(ink, ground); got < 4.5 {
				t.Errorf("colour %d has a contrast of %.2f on the %s", i, got, name)
			}
		}
	}
}

func TestEveryColourOfThePaletteCanBeReadOnBlack(t *testing.T) {
	t.Parallel()
	for _, black := range []screen.Color{screen.Palette(0), screen.Palette(16)} {
		for i := range 256 {
			style := screen.Style{Foreground: screen.Palette(uint8(i)), Background: black}
			got := screen.Contrast(style.Ink(), black)
			switch {
			case style.Foreground == black:
				wanttest.Equal(t, "the contrast of black on black", got, 1.0)
			case got < 4.5:
				t.Errorf("colour %d has a contrast of %.2f", i, got)
			}
		}
	}
}

func TestOnlyDarkColoursOfThePaletteAreMadeLighter(t *testing.T) {
	t.Parallel()
	green, black, night := screen.Palette(2), screen.Palette(0), screen.TrueColor(0, 0, 80)
	wanttest.Equal(t, "green is", screen.Style{Foreground: green}.Ink(), green)
	wanttest.Equal(t, "black on green is", screen.Style{Foreground: black, Background: green}.Ink(), black)
	wanttest.Equal(t, "a 24-bit colour is", screen.Style{Foreground: night}.Ink(), night)
	wanttest.Equal(t, "no colour is", screen.Style{}.Ink(), screen.Color(0))
	wanttest.Equal(t, "black and white have", screen.Contrast(screen.TrueColor(0, 0, 0), screen.TrueColor(255, 255, 255)), 21.0)
}
