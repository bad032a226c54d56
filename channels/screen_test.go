package channels_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"nanobot/channels"
	"nanobot/internal/wanttest"
	"nanobot/internal/words"
)

// rows is a screen of plain rows.
func rows(texts ...string) *channels.Screen {
	s := &channels.Screen{Cols: 40}
	for _, text := range texts {
		s.Rows = append(s.Rows, []channels.ScreenRun{{Text: text, Width: len(text)}})
	}
	return s
}

// numbered is a screen with so many rows of five characters.
func numbered(n int) *channels.Screen {
	s := rows()
	for i := range n {
		s.Rows = append(s.Rows, []channels.ScreenRun{{Text: fmt.Sprintf("row%02d   ", i), Width: 8}})
	}
	return s
}

func at(s *channels.Screen, row int) *channels.Screen {
	s.Cursor = &channels.ScreenCell{Row: row}
	return s
}

func TestAViewHasTheRowsThatFitAndSaysHowManyDoNot(t *testing.T) {
	for _, c := range []struct {
		name         string
		screen       *channels.Screen
		limit        int
		first, last  string
		above, below int
	}{
		{"all fit", numbered(10), 59, "row00", "row09", 0, 0},
		{"one character too many", numbered(10), 58, "row01", "row09", 1, 0},
		{"empty rows at the end do not count", &channels.Screen{Rows: append(numbered(10).Rows, make([][]channels.ScreenRun, 30)...)}, 59, "row00", "row09", 0, 0},
		{"the cursor is among the last rows", at(numbered(40), 38), 59, "row30", "row39", 30, 0},
		{"the cursor is below all rows", at(numbered(40), 60), 59, "row30", "row39", 30, 0},
		{"the cursor is at the top", at(numbered(40), 0), 59, "row00", "row09", 0, 30},
		{"the cursor is in the middle", at(numbered(40), 20), 59, "row15", "row24", 15, 15},
		{"one row is too long", rows("short", strings.Repeat("日", 20)), 10, strings.Repeat("日", 9) + "…", strings.Repeat("日", 9) + "…", 1, 0},
		{"no room at all", rows("e\u0301e\u0301e\u0301"), 4, "e\u0301…", "e\u0301…", 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := c.screen.View(channels.ViewOptions{Limit: c.limit, Measure: channels.Runes})
			lines := strings.Split(v.Text, "\n")
			if lines[0] != c.first || lines[len(lines)-1] != c.last || v.Above != c.above || v.Below != c.below || channels.Runes(v.Text) > c.limit {
				t.Errorf("the view is %+v", v)
			}
		})
	}
}

func TestAWideScreenThatDoesNotFitIsCutToTheColumnsAroundTheCursor(t *testing.T) {
	ruler := strings.Repeat("0123456789", 16)
	for _, c := range []struct {
		name       string
		col, limit int
		line, want string
	}{
		{"all fits", 100, 40*161 - 1, ruler, ruler},
		{"the cursor is at the left", 79, 4000, ruler, ruler[:80] + "…"},
		{"the cursor is in the middle", 100, 4000, ruler, "…" + ruler[60:140] + "…"},
		{"the cursor is at the right", 159, 4000, ruler, "…" + ruler[80:]},
		{"the row is not wide", 100, 4000, "left", "…"},
		{"wide characters", 100, 4000, strings.Repeat("日", 80), "…" + strings.Repeat("日", 40) + "…"},
		{"half a wide character", 101, 4000, strings.Repeat("日", 80), "… " + strings.Repeat("日", 39) + "…"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := at(rows(slices.Repeat([]string{ruler}, 40)...), 20)
			s.Rows[0][0].Text, s.Cursor.Col = c.line, c.col
			v := s.View(channels.ViewOptions{Limit: c.limit, Measure: channels.Runes})
			first, _, _ := strings.Cut(v.Text, "\n")
			wanttest.Equal(t, "the first row is", first, c.want)
			wanttest.Equal(t, "the omitted rows are", v.Above+v.Below, 0)
		})
	}
}

func TestTheNotesOfAViewFitMaxViewNotes(t *testing.T) {
	v := channels.ScreenView{Above: 99_999, Below: 1}
	if v.NoteAbove() != "… 99999 rows above" || v.NoteBelow() != "… 1 row below" || channels.Runes("\n"+v.NoteAbove()+v.NoteAbove()+"\n") > channels.MaxViewNotes(words.Words{}) {
		t.Errorf("notes %q and %q", v.NoteAbove(), v.NoteBelow())
	}
}

func TestTheTextOfAScreenKeepsColumnsAndHidesWhatIsHidden(t *testing.T) {
	s := &channels.Screen{Rows: [][]channels.ScreenRun{
		{{Text: "pass: ", Width: 6}, {Text: "日本", Width: 4, Hidden: true}, {Text: "|  ", Width: 3}},
		{},
		{{Text: "  $ ", Width: 4}},
		{{Text: "  ", Width: 2}},
	}}
	wanttest.Equal(t, "got", s.Text(), "pass:     |\n\n  $")
}

func TestAFenceIsLongerThanAllBackticksOfTheScreen(t *testing.T) {
	wanttest.Equal(t, "got", rows("a ```` b").Fenced(" The *end* \n"), "The *end*\n\n`````\na ```` b\n`````")
	wanttest.Equal(t, "got", rows("").Fenced(""), "```\n(the screen is blank)\n```")
}

func TestAScreenHasNoBidiControls(t *testing.T) {
	s := rows("abc\u202edef")
	m := channels.SanitizeBidi(channels.Message{Screen: s})
	if m.Screen.Text() != "abcdef" || s.Text() == "abcdef" {
		t.Errorf("shown is %q, and the screen itself has %q", m.Screen.Text(), s.Text())
	}
}
