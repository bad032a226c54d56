package checkagent

import (
	"bytes"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"nanobot/terminal"
)

const (
	// slowAnswer is how long an agent must work for its progress to be of use.
	slowAnswer = 250 * time.Millisecond
	// together is the time within which outputs come together.
	together = 20 * time.Millisecond
)

// assessFlush assesses whether frames come when they are printed.
func (r *results) assessFlush() finding {
	rec := r.hello()
	early, lines := false, bytes.Split(bytes.TrimSpace(rec.output.Bytes()), []byte("\n"))
	for _, line := range lines[:len(lines)-1] {
		early = early || bytes.Contains(line, []byte(`"progress"`)) || bytes.Contains(line, []byte(`"delta"`))
	}
	if !early || rec.inputAt.IsZero() || rec.outputAt.Before(rec.inputAt) || !rec.exited {
		return finding{}
	}
	slow := rec.outputAt.Sub(rec.inputAt)
	switch atOnce := rec.lastAt.Sub(rec.outputAt) < together; {
	case atOnce && slow > slowAnswer && (rec.writes < 0 || rec.writes < len(lines)):
		return findingf(failed, "%d frames came together, %d ms after the message%s", len(lines), slow.Milliseconds(),
			rec.printed())
	case rec.writes >= 0 && rec.writes < len(lines):
		return findingf(advice, "%d frames came in fewer writes, so progress is late%s", len(lines), rec.printed())
	}
	return findingf(good, "%d frames came one by one", len(lines))
}

// assessEarlyOutput assesses whether the agent prints before it has read anything.
func (r *results) assessEarlyOutput() finding {
	rec := r.hello()
	switch {
	case !r.reads || rec.inputAt.IsZero() || r.records["open"].readNothing():
		return finding{}
	case rec.outputAt.IsZero() || !rec.outputAt.Before(rec.inputAt):
		return findingf(good, "printed nothing before its input")
	case r.warm:
		return findingf(failed, "printed before its input, although terminal.warm is set%s", rec.printed())
	}
	return findingf(advice, "printed before its input%s", rec.printed())
}

// surrogate matches a pair of UTF-16 escapes, or one without its other half.
var surrogate = regexp.MustCompile(`(?i)\\u(d[89ab][0-9a-f]{2}\\ud[c-f]|d[89a-f])`)

// assessCharacters assesses whether the output of any turn has half characters.
func (r *results) assessCharacters() finding {
	if found := r.survive("units"); found.verdict != good {
		return found
	}
	return r.each("printed whole characters", func(rec *record) finding {
		if rec.output.Len() >= maxRecorded || rec.wasEnded() {
			return finding{} // it may end anywhere
		}
		for line := range bytes.Lines(rec.output.Bytes()) {
			if !utf8.Valid(line) {
				return findingf(advice, "its output is not UTF-8: %s", excerpt(string(line)))
			}
			for _, found := range surrogate.FindAll(bytes.ReplaceAll(line, []byte(`\\`), nil), -1) {
				if len(found) < len(`\ud83d\udc`) {
					return findingf(advice, "half a character (%s…): %s", found, excerpt(string(line)))
				}
			}
		}
		return finding{verdict: good}
	})
}

// assessErrorFrames assesses the error frames of all turns.
func (r *results) assessErrorFrames() finding {
	return r.each("errors have a text", func(rec *record) finding {
		switch text := rec.errorFrame(); {
		case text == "":
			return finding{}
		case text == "Error", strings.HasPrefix(text, "Error\n"):
			return findingf(advice, "an error without a text%s", rec.printed())
		}
		return finding{verdict: good}
	})
}

// assessStderr assesses what people see of stderr although a turn has succeeded.
func (r *results) assessStderr() finding {
	return r.each("people see nothing of stderr", func(rec *record) finding {
		switch {
		case rec.outcome.Status != terminal.Done || rec.spec.input == closedInput:
			return finding{}
		case strings.TrimSpace(rec.outcome.Stderr) != "" && r.cfg.Terminal.Stderr == "always":
			return findingf(advice, "people see STDERR below the answer%s", rec.lastError())
		}
		return finding{verdict: good}
	})
}

// mistakeKeys are the texts in outputs that could have a kind of mistake.
var mistakeKeys = map[terminal.MistakeKind]string{
	terminal.UnknownFrame: `"type"`, terminal.AlmostRightFrame: `"type"`, terminal.WrongUsage: `"usage"`,
	terminal.WrongButtons: `"buttons"`, terminal.AskIgnored: `"ask"`, terminal.FramesInPlain: "\n",
}

// without assesses whether the output of any turn has a kind of mistake.
func without(kind terminal.MistakeKind) func(*results) finding {
	return func(r *results) finding {
		return r.each("none in its output", func(rec *record) finding {
			for _, f := range rec.mistakes {
				if f.Mistake.Kind != kind {
					continue
				}
				v := failed
				if kind == terminal.WrongButtons {
					v = advice
				}
				return findingf(v, "%s; it printed %s", excerpt(f.Text), excerpt(f.Mistake.Line))
			}
			if !bytes.Contains(rec.output.Bytes(), []byte(mistakeKeys[kind])) {
				return finding{}
			}
			return finding{verdict: good}
		})
	}
}

// noteworthyLine is the length from which a line says something about long lines, in bytes.
const noteworthyLine = 64 << 10

// assessLongLine assesses the longest line of all turns.
func (r *results) assessLongLine() finding {
	longest := 0
	for _, rec := range r.inOrder() {
		longest = max(longest, rec.longest)
	}
	switch limit := r.cfg.Terminal.MaxLine; {
	case longest < noteworthyLine:
		return finding{}
	case longest > limit:
		return findingf(failed, "a line of %d bytes was skipped; the limit is %d bytes", longest, limit)
	}
	return findingf(good, "the longest line has %d KiB", longest>>10)
}

// assessControls assesses whether the output of any turn has escape sequences.
func (r *results) assessControls() finding {
	return r.each("none in its output", func(rec *record) finding {
		for line := range bytes.Lines(rec.output.Bytes()) {
			if bytes.ContainsAny(line, "\x1b\x00") || bytes.Contains(line, []byte(`\u001b`)) {
				return findingf(advice, "escape sequences or control characters, which are removed: %s", excerpt(string(line)))
			}
		}
		if rec.output.Len() == 0 {
			return finding{}
		}
		return finding{verdict: good}
	})
}

// assessSentFiles assesses whether all files that the agent names can be sent.
func (r *results) assessSentFiles() finding {
	return r.each("its files can be sent", func(rec *record) (found finding) {
		for _, f := range rec.frames {
			switch left := len(f.Media) - len(f.Checked); {
			case left > 0 && !f.Guessed:
				return findingf(failed, "%d of %d files were not sent: %s", left, len(f.Media), excerpt(f.Text))
			case len(f.Checked) > 0:
				found.verdict = good
			}
		}
		return found
	})
}
