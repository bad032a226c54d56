package checkagent

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"

	"nanobot/terminal"
)

// results are what has happened in the turns.
type results struct {
	*subject
	records map[string]*record // by the ID of the turn
	written []string           // what the agent has written into the workspace
	// evaluated says that the agent has executed a command in a text.
	evaluated bool
}

// inOrder returns the records of the turns that have run, in the order of the table.
func (r *results) inOrder() (all []*record) {
	for _, t := range allTurns {
		if rec := r.records[t.id]; rec != nil {
			all = append(all, rec)
		}
	}
	return all
}

// each assesses every turn. It returns the first finding that is not ok, or else ok with this
// detail, if any turn had something to assess.
func (r *results) each(detail string, assess func(rec *record) finding) (sum finding) {
	for _, rec := range r.inOrder() {
		switch found := assess(rec); found.verdict {
		case untried:
		case good:
			sum = finding{good, detail}
		case advice, failed:
			return found
		}
	}
	return sum
}

func findingf(v verdict, format string, args ...any) finding {
	return finding{v, fmt.Sprintf(format, args...)}
}

// printed returns the last line that the agent has printed, for a detail.
func (rec *record) printed() string {
	lines := bytes.Split(bytes.TrimSpace(rec.output.Bytes()), []byte("\n"))
	if last := lines[len(lines)-1]; len(last) > 0 {
		return "; it printed " + excerpt(string(last))
	}
	return ""
}

// lastError returns the last line of stderr, for a detail.
func (rec *record) lastError() string {
	t := terminal.Trial{Outcome: rec.outcome}
	return t.StderrSuffix()
}

// excerpt returns the beginning of a line as people can read it.
func excerpt(line string) string {
	line = terminal.Visible(terminal.Clean(strings.ToValidUTF8(line, "\uFFFD")))
	if runes := []rune(line); len(runes) > 160 {
		line = string(runes[:160]) + "…"
	}
	return line
}

// errorFrame returns the first error that the agent has reported; "": none.
func (rec *record) errorFrame() string {
	i := slices.IndexFunc(rec.frames, func(f terminal.Frame) bool { return f.Kind == terminal.Error })
	if i < 0 || rec.wasEnded() {
		return ""
	}
	return rec.frames[i].Text
}

// wasEnded reports whether the turn was ended by force.
func (rec *record) wasEnded() bool {
	return rec.outcome.Status == terminal.TimedOut || rec.outcome.Status == terminal.Stopped
}

// endedWell assesses a turn that nobody has stopped: it has ended in time, by itself, and with an
// exit status that an error frame explains if it is not 0.
func (rec *record) endedWell() finding {
	out := rec.outcome
	switch {
	case rec.err != nil:
		return findingf(failed, "cannot be run: %v", rec.err)
	case out.Status == terminal.TimedOut:
		return findingf(failed, "has not ended within %s%s", rec.took.Round(time.Second), rec.printed())
	case out.Signal != "":
		return findingf(failed, "was killed by %s%s", out.Signal, rec.lastError())
	case out.ExitCode != 0 && rec.errorFrame() == "":
		return findingf(failed, "exit status %d without an error frame%s", out.ExitCode, rec.lastError())
	case rec.errorFrame() != "":
		return findingf(good, "answered with an error: %s", excerpt(rec.errorFrame()))
	}
	return findingf(good, "answered in %d ms", rec.worked().Milliseconds())
}

// worked returns how long the turn took, without the time in which the agent waited for its input.
func (rec *record) worked() time.Duration {
	if rec.inputAt.IsZero() {
		return rec.took
	}
	return rec.took - rec.inputAt.Sub(rec.began)
}

// hello is the record of the first turn.
func (r *results) hello() *record { return r.records["hello"] }

// survive assesses whether a turn has ended as well as the first one. If that has not, the agent's
// mistake is another.
func (r *results) survive(id string) finding {
	rec := r.records[id]
	if rec == nil || r.hello().endedWell().verdict != good {
		return finding{}
	}
	found := rec.endedWell()
	silent := rec.outcome.Status == terminal.Silent && r.hello().outcome.Status != terminal.Silent
	if found.verdict != good || !silent {
		return found
	}
	if strings.TrimSpace(rec.spec.text) == "" {
		return findingf(advice, "prints nothing, so that people see (no output)")
	}
	return findingf(failed, "prints nothing")
}

func survival(id string) func(*results) finding {
	return func(r *results) finding { return r.survive(id) }
}

// assessAnswer assesses the first turn.
func (r *results) assessAnswer() finding {
	rec := r.hello()
	out := rec.outcome
	switch found := rec.endedWell(); {
	case out.Status == terminal.TimedOut:
		return finding{} // the next case
	case out.ExitCode == 127:
		return findingf(failed, "the command was not found%s", rec.lastError())
	case out.ExitCode == 126:
		return findingf(failed, "the command cannot be executed%s", rec.lastError())
	case found.verdict != good && rec.output.Len() > 0 && out.Signal == "" && rec.err == nil:
		return finding{} // its exit status is the mistake
	case found.verdict != good:
		return found
	case out.Status == terminal.Silent:
		return findingf(failed, "prints nothing%s", rec.lastError())
	default:
		return found
	}
}

// assessAttempt assesses the second attempt at the first message, unless the agent fails with every
// message after the first.
func (r *results) assessAttempt() finding {
	if r.survive("again").verdict == failed {
		return finding{}
	}
	return r.survive("attempt")
}

// assessEnd assesses whether the first turn has ended.
func (r *results) assessEnd() finding {
	rec := r.hello()
	switch timedOut := rec.outcome.Status == terminal.TimedOut; {
	case rec.err != nil, timedOut && (rec.questions > 0 || r.waitsForEnd()): // which other cases have
		return finding{}
	case timedOut:
		return rec.endedWell()
	}
	return findingf(good, "ended in %d ms", rec.worked().Milliseconds())
}

// assessOneLine assesses the turn in which stdin stays open.
func (r *results) assessOneLine() finding {
	rec := r.records["open"]
	switch {
	case rec == nil, rec.questions > 0 && rec.closedInput, rec.readNothing(),
		r.hello().outcome.Status == terminal.TimedOut && !r.waitsForEnd():
		return finding{}
	case !rec.closedInput:
		return findingf(good, "ended while stdin was open")
	case r.asks || r.injects:
		return findingf(failed, "did not end while stdin was open, as it is with terminal.interactive and inject")
	}
	return findingf(advice, "reads until stdin is closed, so that it can neither ask questions nor get later messages")
}

// readNothing reports whether the agent of a turn whose stdin was open has ended by itself without
// reading all of its message.
func (rec *record) readNothing() bool { return rec != nil && !rec.closedInput && rec.exit.Unread > 0 }

// waitsForEnd reports whether the agent ends only when its stdin is closed.
func (r *results) waitsForEnd() bool {
	rec := r.records["open"]
	return rec != nil && rec.closedInput && rec.outcome.Status != terminal.TimedOut
}

// assessRead assesses whether the agent reads its envelope.
func (r *results) assessRead() finding {
	rec := r.records["open"]
	switch {
	case !r.envelope || rec == nil || rec.endedWell().verdict != good:
		return finding{}
	case rec.readNothing(), r.hello().inputAt.IsZero():
		return findingf(advice, "ended without reading the message%s", rec.printed())
	}
	return findingf(good, "read the whole message")
}

// textIntact assesses whether an answer that repeats the text of a turn has these parts of it.
func textIntact(id string, parts ...string) func(*results) finding {
	return func(r *results) finding {
		found := r.survive(id)
		if found.verdict != good {
			return found
		}
		for _, f := range r.records[id].frames {
			_, rest, begins := strings.Cut(f.Text, "check ")
			middle, _, ends := strings.Cut(rest, " end")
			if begins && ends && slices.ContainsFunc(parts, func(p string) bool { return !strings.Contains(middle, p) }) {
				return findingf(failed, "the text was %q, and the answer has %q", r.records[id].spec.text, excerpt(middle))
			}
		}
		return found
	}
}

// assessHostile assesses the turn whose text looks like an option and like shell code.
func (r *results) assessHostile() finding {
	if r.evaluated && r.lines {
		return findingf(failed, "executed a command in the text of the message")
	}
	return r.survive("hostile")
}

// assessClosedInput assesses the turn without input.
func (r *results) assessClosedInput() finding {
	rec := r.records["closed"]
	switch {
	case rec == nil || r.hello().endedWell().verdict != good:
		return finding{}
	case rec.outcome.Status == terminal.TimedOut, rec.outcome.Signal != "":
		return rec.endedWell()
	case rec.outcome.ExitCode != 0:
		return findingf(good, "ended with exit status %d", rec.outcome.ExitCode)
	}
	return findingf(good, "ended")
}

// stopTime is how long an agent may take to exit after SIGTERM.
const stopTime = 3 * time.Second

// stops assesses a turn that was stopped by SIGTERM, if the agent was still running then.
func stops(id string) func(*results) finding {
	return func(r *results) finding {
		rec := r.records[id]
		if rec == nil || rec.stoppedAt.IsZero() || !rec.exit.Forced || rec.outcome.Status == terminal.TimedOut {
			return finding{}
		}
		took := rec.took - rec.stoppedAt.Sub(rec.began)
		if rec.exit.Signal == "SIGKILL" && took >= stopTime {
			return findingf(failed, "did not exit within 3 s after SIGTERM, and was killed")
		}
		return findingf(good, "exited %d ms after SIGTERM", took.Milliseconds())
	}
}

// assessChildren assesses whether any turn has left processes behind.
func (r *results) assessChildren() finding {
	return r.each("left no process behind", func(rec *record) finding {
		switch {
		case !rec.exited || rec.wasEnded():
			return finding{}
		case len(rec.left) > 0:
			return findingf(failed, "left %d processes behind: %s", len(rec.left), excerpt(rec.left[0]))
		}
		return finding{verdict: good}
	})
}

// assessExitCode assesses the exit status of the first turn.
func (r *results) assessExitCode() finding {
	rec := r.hello()
	switch {
	case rec.err != nil || rec.outcome.Status == terminal.TimedOut || rec.outcome.Signal != "":
		return finding{}
	case rec.outcome.ExitCode == 0:
		return findingf(good, "exit status 0")
	case rec.errorFrame() != "":
		return findingf(good, "exit status %d after an error frame", rec.outcome.ExitCode)
	case rec.output.Len() == 0:
		return finding{} // the first case has it
	}
	return findingf(failed, "exit status %d after an answer%s", rec.outcome.ExitCode, rec.printed())
}

// assessPair assesses the two turns that ran at the same time.
func (r *results) assessPair() finding {
	for _, id := range []string{"pair-first", "pair-second"} {
		if found := r.survive(id); found.verdict != good {
			return found
		}
		other := firstMark
		if id == "pair-first" {
			other = secondMark
		}
		for _, f := range r.records[id].frames {
			if strings.Contains(f.Text, other) {
				return findingf(failed, "answered with the text of another chat: %s", excerpt(f.Text))
			}
		}
	}
	return findingf(good, "answered both")
}

// assessFolder assesses what the agent has written into the workspace.
func (r *results) assessFolder() finding {
	if !r.envelope {
		return finding{}
	}
	if len(r.written) > 0 {
		return findingf(advice, "wrote %s into the workspace", strings.Join(r.written[:min(len(r.written), 3)], ", "))
	}
	return findingf(good, "wrote nothing into the workspace")
}

// assessAsk assesses the turns in which a question was answered.
func (r *results) assessAsk() finding {
	return r.each("went on after the answer to its question", func(rec *record) finding {
		if rec.questions == 0 || rec.spec.unanswered || !rec.stoppedAt.IsZero() {
			return finding{}
		}
		found := rec.endedWell()
		found.detail = "after the answer to its question: " + found.detail
		return found
	})
}

// assessInject assesses the turn with a second message. If the agent has answered without reading
// that, it gets a turn of its own, and the case says nothing.
func (r *results) assessInject() finding {
	found := r.survive("inject")
	if rec := r.records["inject"]; found.verdict == good && (!rec.injected || rec.outcome.Unread > 0) {
		return finding{}
	}
	return found
}

// assessUnanswered assesses the turn in which nobody answers questions.
func (r *results) assessUnanswered() finding {
	rec := r.records["unanswered"]
	if rec == nil || rec.questions == 0 {
		return finding{}
	}
	return r.survive("unanswered")
}
