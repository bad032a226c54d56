package screen_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"nanobot/internal/musttest"
	"nanobot/terminal/screen"
)

// oracle is a tmux server. Its panes run no program: they interpret the text that is written to
// them as the output of a program.
type oracle struct {
	t   *testing.T
	dir string
}

func newOracle(t *testing.T) *oracle {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("tmux, which the screen is compared with, is not installed")
	}
	dir, err := os.MkdirTemp("", "tmux") // t.TempDir may be too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	o := &oracle{t, dir}
	o.run(nil, "new-session", "-d", "-x", "80", "-y", "24", "sleep 3600", ";",
		"set-option", "-g", "history-limit", "10000", ";", "set-option", "-g", "status", "off")
	// The server is a daemon. The shell ends it also when this process is killed.
	cmd := exec.Command("sh", "-c", `cat; tmux -S "$0"/socket kill-server; rm -r "$0"`, dir)
	alive := musttest.Get(cmd.StdinPipe())(t)
	musttest.Do(t, cmd.Start())
	t.Cleanup(func() {
		alive.Close()
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	})
	return o
}

// run runs tmux commands with stdin.
func (o *oracle) run(stdin []byte, args ...string) string {
	o.t.Helper()
	args = append([]string{"-u", "-S", o.dir + "/socket", "-f", "/dev/null"}, args...)
	cmd := exec.Command("tmux", args...)
	cmd.Env = append(os.Environ(), "LANG=C.UTF-8", "LC_ALL=C.UTF-8", "TMUX=")
	cmd.Stdin = bytes.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	if err != nil {
		o.t.Fatalf("tmux %q: %v: %s", args, err, out)
	}
	return string(out)
}

// pane is a terminal of the oracle and a Screen that gets the same output.
type pane struct {
	o      *oracle
	id     string
	screen *screen.Screen
}

func (o *oracle) pane(cols, rows int) *pane {
	o.t.Helper()
	id := o.run(nil, "new-window", "-d", "-P", "-F", "#{window_id}", "sleep 3600")
	id = strings.TrimSpace(id)
	o.run(nil, "split-window", "-d", "-t", id, "", ";", "kill-pane", "-t", id+".0", ";",
		"resize-window", "-t", id, "-x", strconv.Itoa(cols), "-y", strconv.Itoa(rows))
	p := &pane{o, id, screen.New(cols, rows)}
	// In panes without a program, a line feed is also a carriage return until the first reset.
	if d := p.write([]byte("\x1bc")); d != "" {
		o.t.Fatal(d)
	}
	return p
}

// write has both terminals interpret data and returns how they differ, "" if they do not.
func (p *pane) write(data []byte) string {
	p.o.t.Helper()
	if _, err := p.screen.Write(data); err != nil {
		p.o.t.Fatal(err)
	}
	return p.compare(data)
}

func (p *pane) compare(data []byte) string {
	const state = "#{cursor_x},#{cursor_y},#{alternate_on},#{history_size}"
	out := p.o.run(data, "display-message", "-I", "-t", p.id, ";",
		"display-message", "-p", "-t", p.id, state, ";",
		"capture-pane", "-p", "-e", "-S", "-", "-t", p.id)
	header, captured, _ := strings.Cut(out, "\n")
	var cx, cy, alternate, history int
	if _, err := fmt.Sscanf(header, "%d,%d,%d,%d", &cx, &cy, &alternate, &history); err != nil {
		p.o.t.Fatalf("%q: %v", header, err)
	}
	cols, rows := p.screen.Size()
	col, row, _ := p.screen.Cursor()
	if col != min(cx, cols-1) || row != cy {
		return fmt.Sprintf("the cursor is at %d,%d, tmux has it at %d,%d", col, row, cx, cy)
	}
	if p.screen.Alternate() != (alternate == 1) {
		return fmt.Sprintf("the alternate screen is %v", p.screen.Alternate())
	}
	lines := strings.Split(strings.TrimSuffix(captured, "\n"), "\n")
	all := withoutStyles(lines) // the character set and the style of a line carry over to the next
	visible := strings.TrimRight(strings.Join(all[history:], "\n"), "\n")
	if d := difference(p.screen.Text(), visible); d != "" {
		return "the screen differs " + d
	}
	// When the screen is cleared, lines that are blank count as used in tmux if they were not
	// always.
	theirs := withoutBlank(strings.Join(all, "\n"))
	if d := difference(withoutBlank(p.screen.Buffer()), theirs); d != "" {
		return "the buffer differs " + d
	}
	return p.compareStyles(cols, rows, lines)
}

// compareStyles writes the lines that tmux has captured to a second Screen and compares the styles.
func (p *pane) compareStyles(cols, rows int, lines []string) string {
	drawn := screen.New(cols+1, rows) // so that no line wraps
	if _, err := drawn.Write([]byte("\x1b)0" + strings.Join(lines, "\r\n"))); err != nil {
		p.o.t.Fatal(err)
	}
	ours, theirs := p.screen.Snapshot(), drawn.Snapshot()
	for i := range rows {
		a, b := styles(ours.Lines[i]), styles(theirs.Lines[i])
		for j := range a {
			if a[j] != b[j] {
				return fmt.Sprintf("the style at %d,%d is %+v, tmux has %+v", j, i, a[j], b[j])
			}
		}
	}
	return ""
}

// styles returns the style of each column without those of trailing blanks, which tmux does not
// capture.
func styles(runs []screen.Run) []screen.Style {
	var all []screen.Style
	last := 0
	for _, r := range runs {
		if text := strings.TrimRight(r.Text, " "); text != "" {
			last = len(all) + r.Width - (len(r.Text) - len(text))
		}
		for range r.Width {
			all = append(all, r.Style)
		}
	}
	return all[:last]
}

// withoutStyles returns captured lines without styles and trailing blanks, with line drawing
// characters as Unicode.
func withoutStyles(lines []string) []string {
	all := make([]string, len(lines))
	graphics := false
	for i, line := range lines {
		var b strings.Builder
		for line != "" {
			switch c := line[0]; {
			case c == 0x1b:
				line = line[strings.IndexByte(line, 'm'):]
			case c == 0x0e, c == 0x0f:
				graphics = c == 0x0e
			case graphics && c >= '`' && c <= '~':
				b.WriteString([]string{
					"◆", "▒", "␉", "␌", "␍", "␊", "°", "±", "␤", "␋", "┘", "┐", "┌", "└", "┼",
					"⎺", "⎻", "─", "⎼", "⎽", "├", "┤", "┴", "┬", "│", "≤", "≥", "π", "≠", "£", "·",
				}[c-'`'])
			default:
				b.WriteByte(c)
			}
			line = line[1:]
		}
		all[i] = strings.TrimRight(b.String(), " ")
	}
	return all
}

func withoutBlank(text string) string {
	lines := strings.Split(text, "\n")
	return strings.Join(slices.DeleteFunc(lines, func(l string) bool { return l == "" }), "\n")
}

// difference describes the first line that differs.
func difference(got, want string) string {
	if got == want {
		return ""
	}
	a, b := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range max(len(a), len(b)) {
		var x, y string
		if i < len(a) {
			x = a[i]
		}
		if i < len(b) {
			y = b[i]
		}
		if x != y {
			return fmt.Sprintf("in line %d of %d (tmux has %d):\n%q, tmux has\n%q",
				i, len(a), len(b), x, y)
		}
	}
	return fmt.Sprintf("in its length: %d lines, tmux has %d", len(a), len(b))
}
