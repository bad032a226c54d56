package doctor

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"nanobot/channels"
	"nanobot/terminal"
)

// judge judges the agent by its turn.
func (r *trial) judge(protocol string, timeout int, byHand string) (status channels.Verdict, detail, fix string) {
	switch {
	case r.err != nil:
		return channels.Bad, "cannot be run: " + r.err.Error(), "correct terminal.command, terminal.cwd or terminal.shell"
	case r.out.Status == terminal.TimedOut:
		return channels.Bad, fmt.Sprintf("has not ended within %d s%s", timeout, r.stderr()), "see what it waits for, or raise terminal.timeout"
	case r.out.Signal != "":
		return channels.Bad, "was killed by " + r.out.Signal + r.stderr(), byHand
	case r.out.ExitCode == 127:
		return channels.Bad, "the command was not found" + r.stderr(), "install it, or give its full path in terminal.command; a service has another PATH than your shell"
	case r.out.ExitCode == 126:
		return channels.Bad, "the command cannot be executed" + r.stderr(), "chmod +x it, or name its interpreter in terminal.command"
	case r.out.ExitCode != 0:
		return channels.Bad, fmt.Sprintf("exit status %d%s", r.out.ExitCode, r.stderr()), byHand
	case protocol == "acp":
		return r.judgeACP(byHand)
	case protocol == "rich":
		return r.judgeRich(byHand)
	}
	return r.judgePlain(byHand)
}

// stderr returns the last line of the agent's standard error, which usually has the reason.
func (r *trial) stderr() string {
	lines := strings.Split(strings.TrimSpace(r.out.Stderr), "\n")
	last := []rune(terminal.Clean(strings.TrimSpace(lines[len(lines)-1])))
	if len(last) == 0 {
		return ""
	}
	return ": " + string(last[:min(len(last), 300)])
}

func (r *trial) judgeACP(byHand string) (status channels.Verdict, detail, fix string) {
	for _, f := range r.frames {
		if f.Kind == terminal.Error {
			return channels.Bad, "no session: " + f.Text + r.stderr(), byHand + "; an agent that wants you to sign in says how"
		}
	}
	if r.out.Status != terminal.Done {
		return channels.Bad, "no session: the agent has " + string(r.out.Status) + r.stderr(), byHand
	}
	return channels.Good, fmt.Sprintf("acp: initialized and opened a session in %s", r.took.Round(time.Millisecond)), ""
}

// kinds are the types of frames that an agent may print.
var kinds = []string{"message", "progress", "error", "log", "ask"}

func (r *trial) judgeRich(byHand string) (status channels.Verdict, detail, fix string) {
	frames, plain := r.output.count()
	var known []string
	n := 0
	for _, kind := range kinds {
		if frames[kind] > 0 {
			known = append(known, fmt.Sprintf("%d %s", frames[kind], kind))
			n += frames[kind]
			delete(frames, kind)
		}
	}
	switch {
	case len(frames) > 0:
		return channels.Doubtful, fmt.Sprintf("rich: frames of a type that is unknown and ignored: %.200q", slices.Sorted(maps.Keys(frames))), "the types are " + strings.Join(kinds, ", ")
	case n == 0 && plain == 0:
		return channels.Doubtful, "rich: printed nothing at all" + r.stderr(), byHand + "; an agent that buffers must flush"
	case n == 0:
		return channels.Doubtful, fmt.Sprintf("rich: printed %d lines and no frame", plain), `set terminal.protocol to "plain", or print one JSON object a line`
	}
	detail = fmt.Sprintf("rich: %s, %d plain lines, exit status 0 in %s", strings.Join(known, ", "), plain, r.took.Round(time.Millisecond))
	for _, f := range r.frames {
		if f.Kind == terminal.Error {
			return channels.Doubtful, detail + "; it says " + f.Text, "nothing if it is right to refuse such a message"
		}
	}
	return channels.Good, detail, ""
}

func (r *trial) judgePlain(byHand string) (status channels.Verdict, detail, fix string) {
	frames, plain := r.output.count()
	for _, kind := range kinds {
		if frames[kind] > 0 {
			return channels.Doubtful, "plain: the output looks like frames", `set terminal.protocol to "rich"`
		}
	}
	if plain == 0 && len(frames) == 0 {
		return channels.Doubtful, "plain: printed nothing at all" + r.stderr(), byHand
	}
	return channels.Good, fmt.Sprintf("plain: %d lines, exit status 0 in %s", plain+len(frames), r.took.Round(time.Millisecond)), ""
}
