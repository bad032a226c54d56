package screen_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// generator generates random output, of sequences for which tmux and xterm agree or the screen
// follows tmux.
type generator struct {
	*rand.Rand
	cols, rows int
}

func (g *generator) n(limit int) int { return 1 + g.IntN(limit) }

func (g *generator) pick(from ...string) string { return from[g.IntN(len(from))] }

func (g *generator) word() string {
	var b strings.Builder
	for range g.n(12) {
		b.WriteByte(byte(' ' + g.IntN(95)))
	}
	return b.String()
}

func (g *generator) move() string {
	return fmt.Sprintf("\x1b[%d;%dH", g.n(g.rows+2), g.n(g.cols+2))
}

func (g *generator) style() string {
	return g.pick(
		"\x1b[m", "\x1b[1m", "\x1b[31m", "\x1b[42m", "\x1b[0;7m", "\x1b[38;5;200m", "\x1b[48;5;17m",
		"\x1b[38;2;1;2;3m", "\x1b[48:2::9:8:7m", "\x1b[38:5:99m", "\x1b[4m", "\x1b[24;22m",
		"\x1b[3;9;2m", "\x1b[39;49m", "\x1b[95;104m", "\x1b[58;5;3m",
		"\x1b[5m", "\x1b[8m", "\x1b[4:3m", "\x1b[27;28;29;23;25m", "\x1b[1;;32m",
	)
}

// region sets the scroll region and moves into it, without origin mode.
func (g *generator) region() string {
	top := g.n(g.rows - 1)
	bottom := top + g.n(g.rows-top)
	row := top + g.IntN(bottom-top+1)
	return fmt.Sprintf("\x1b[?6l\x1b[%d;%dr\x1b[%d;%dH", top, bottom, row, g.n(g.cols))
}

// step returns one random operation on a terminal.
func (g *generator) step() string {
	switch g.IntN(40) {
	case 0, 1, 2, 3, 4, 5:
		return g.word()
	case 6, 7:
		return g.word() + "\r\n"
	case 8:
		return strings.Repeat(g.word(), g.n(12))
	case 9, 10, 11:
		return g.move()
	case 12:
		return g.style()
	case 13:
		return fmt.Sprintf("\x1b[%d%c", g.IntN(6), "ABCDEFG"[g.IntN(7)])
	case 14:
		return fmt.Sprintf("\x1b[%d%c", g.n(g.rows+1), "`dG"[g.IntN(3)])
	case 15:
		return fmt.Sprintf("\x1b[%dJ", g.IntN(3))
	case 16:
		return fmt.Sprintf("\x1b[%dK", g.IntN(4))
	case 17:
		if g.IntN(3) == 0 { // tmux keeps some cells if there are more to insert than to move
			n := g.IntN(g.cols/4 + 1)
			return fmt.Sprintf("\x1b[%d;%dHx\x1b[%d@", g.n(g.rows), g.n(g.cols/2), n)
		}
		return fmt.Sprintf("\x1b[%d%c", g.IntN(g.cols), "PX"[g.IntN(2)])
	case 18:
		return g.region() + fmt.Sprintf("\x1b[%d%c", g.IntN(g.rows), "LM"[g.IntN(2)])
	case 19:
		return g.region()
	case 20:
		return "\x1b[r" + g.move()
	case 21:
		return fmt.Sprintf("\x1b[%d%c", g.IntN(g.rows), "ST"[g.IntN(2)])
	case 22, 23:
		return g.pick("\x1bD", "\x1bE", "\x1bM", "\n", "\r", "ab\b", "\v", "\f")
	case 24: // not in the first column: tmux does not notice that the line above is another one now
		n := g.n(g.cols)
		return fmt.Sprintf("\x1b[%dGx%s", n, strings.Repeat("\b", g.n(n)))
	case 25:
		return g.pick("\t", "\t\t", "\x1bH", "\x1b[g", "\x1b[Z", "\x1b[3Z")
	case 26:
		return g.pick("\x1b7", "\x1b8", "\x1b[s", "\x1b[u")
	case 27:
		return g.pick("\x1b[?6h", "\x1b[?6l")
	case 28:
		return fmt.Sprintf("\x1b[%d;%dH\x1b[4h%s\x1b[4l", g.n(g.rows), g.n(g.cols/2), g.word()[:1])
	case 29:
		return "\r\x1b[?7l" + g.word() + strings.Repeat("=", g.n(g.cols)) + g.word() + "\r\x1b[?7h"
	case 30:
		return g.pick("\x1b(0lqqk\x1b(B", "\x1b)0\x0emqj\x0f", "\x1b)B\x0fx",
			"\x1b(0`abcdefghijklmnopqrstuvwxyz{|}~\x1b(B")
	case 31:
		return fmt.Sprintf("#\x1b[%db", g.n(g.cols))
	case 32:
		mode := g.pick("1049", "47", "1047")
		// tmux has a style for each screen, but not an origin mode.
		return "\x1b[?6l" + g.move() + "\x1b[?" + mode + g.pick("h", "l") + "\x1b[m"
	case 33:
		return g.pick("\x1b#8", "\x1b[?47l\x1bc\x1b7\x1b[?1049h\x1b[?1049l", "\x1b[3J")
	case 34:
		return g.pick("\x1b]0;title\a", "\x1b]2;title\x1b\\",
			"\x1bPx1\x1b\\", "\x1b_apc\x1b\\", "\x1b^pm\x1b\\", "\x1bXsos\x1b\\")
	case 35:
		return g.pick("\x1b[?25l", "\x1b[?1h", "\x1b=", "\x1b[?2004h", "\x1b[?1000;1006h",
			"\x1b[>4;2m", "\x1b[?1l", "\x1b>", "\x1b[>1u", "\x1b[2 q")
	case 36:
		return g.pick("\x1b[12\x18X", "\x1b[3\x1aY", "\x1b[1\r;1H",
			"\x1b[5\x1b[2;2H", "\x1b]0;cut\x18Z")
	default:
		return g.word() + g.style() + g.word()
	}
}

// wideStep is a step with characters of other widths. Only characters that are not ASCII overwrite
// others: tmux does not blank the first half of a wide character in the first column under ASCII.
func (g *generator) wideStep() string {
	switch g.IntN(9) {
	case 0, 1, 2:
		return g.pick("日本語", "한국어", "ｆｕｌｌ", "😀👍🎉", "中", "あいうえお")
	case 3:
		return g.pick("ε\u0301", "ο\u0308\u0323", "日\u0301", "\u0301", "χε\u0301υ")
	case 4:
		return g.pick("äöüß", "→←↑↓", "┌─┐│", "Привет", "ελ", "█▓▒░", "…“”", "ﬀ")
	case 5, 6:
		return g.move()
	case 7:
		return "\r\x1b[2K" + g.word()
	default:
		return g.pick("\r\n", "\r", "\x1b[A", "\x1b[3C", "\x1b[4D", "\x1b[B",
			"\t", "\b", "\x1b[31m", "\x1b[m")
	}
}

func TestGeneratedOutputLooksAsInTmux(t *testing.T) {
	o := newOracle(t)
	for _, size := range [][2]int{{80, 24}, {20, 6}, {7, 3}} {
		for _, wide := range []bool{false, true} {
			g := &generator{rand.New(rand.NewPCG(1, uint64(size[0]))), size[0], size[1]}
			step := g.step
			if wide {
				step = g.wideStep
			}
			p := o.pane(size[0], size[1])
			var steps []string
			for range 40 {
				chunk := ""
				for range 50 {
					s := step()
					steps = append(steps, s)
					chunk += s
				}
				if d := p.write([]byte(chunk)); d != "" {
					fewer, how := o.shrink(size[0], size[1], steps, d)
					t.Errorf("%d×%d: %s\nShorter: %s\nafter %q", size[0], size[1], d, how, fewer)
					break
				}
			}
		}
	}
}

// shrink removes steps without which the terminals still differ in the same respect.
func (o *oracle) shrink(cols, rows int, steps []string, how string) ([]string, string) {
	respect := strings.Fields(how)[1]
	for size := len(steps) / 2; size > 0; size /= 2 {
		for i := 0; i+size <= len(steps); {
			fewer := append(append([]string(nil), steps[:i]...), steps[i+size:]...)
			p := o.pane(cols, rows)
			d := p.write([]byte(strings.Join(fewer, "")))
			o.run(nil, "kill-window", "-t", p.id)
			if d != "" && strings.Fields(d)[1] == respect {
				steps, how = fewer, d
			} else {
				i += size
			}
		}
	}
	return steps, how
}
