package keys

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"nanobot/terminal"
	"nanobot/terminal/process"
)

// longestWait is how long a response may have the terminal wait after one command.
const longestWait = 60 * time.Second

// turn is one message worked on by an agent: step by step it is told what the terminal shows, and
// its keystrokes are typed.
type turn struct {
	t   terminal.Turn
	set *Settings
	s   *session

	agent      transport
	display    *display
	output     Output
	completion Completion
	analysis   string // of the last response that had one
	taken      int    // how often the terminal was taken over, as far as the agent knows
}

func (x *turn) run(ctx context.Context) (terminal.Outcome, error) {
	x.agent, x.taken = newTransport(x.t, x.set), x.s.timesTaken()
	x.display = show(ctx, x.t, x.s, displayOptions{caption: "Working…", buttons: x.buttons})
	x.s.log.note("task", x.instruction())
	out, err := x.work(ctx)
	x.display.end()
	x.s.log.note("end", string(out.Status))
	return out, err
}

// work takes the steps. When it returns, the agent's processes are dead.
func (x *turn) work(ctx context.Context) (terminal.Outcome, error) {
	if err := x.agent.start(ctx); err != nil {
		return terminal.Outcome{}, err
	}
	text := x.output.Next(x.s.text())
	for step := 1; ; step++ {
		if step > x.set.MaxSteps {
			return x.fail(ctx, fmt.Sprintf("Stopped after %d steps", x.set.MaxSteps), nil)
		}
		answer, err := x.ask(ctx, request{Instruction: x.instruction(), Screen: text, Step: step})
		if err != nil {
			return x.broken(ctx, err)
		}
		response, format := Parse(Format(x.set.Format), answer)
		x.note(step, text, answer, response)
		if err := x.report(response); err != nil {
			x.agent.kill()
			return terminal.Outcome{}, err
		}
		x.carryOut(ctx, &response)
		if ctx.Err() != nil || x.s.isDead() {
			return x.broken(ctx, errShellExited)
		}
		var done bool
		text, done = x.completion.Feedback(response, format, func() string { return x.output.Next(x.s.text()) })
		if done {
			return x.complete(ctx)
		}
		x.agent.did(step, response)
	}
}

// ask hands a request to the agent and returns its answer. The agent is ended when the shell is.
func (x *turn) ask(ctx context.Context, r request) (string, error) {
	ctx, stop := x.s.whileAlive(ctx)
	defer stop()
	answer, err := x.agent.respond(ctx, r)
	if err != nil && ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	return answer, err
}

// instruction is the person's message, with the files that came with it.
func (x *turn) instruction() string {
	if len(x.t.Envelope.Media) == 0 {
		return x.t.Envelope.Text
	}
	return strings.TrimLeft(x.t.Envelope.Text+"\n\nFiles that came with this:\n"+strings.Join(x.t.Envelope.Media, "\n"), "\n")
}

// note adds a step to the log.
func (x *turn) note(step int, told, answer string, r Response) {
	x.s.log.note(fmt.Sprintf("step %d: told to the agent", step), told)
	x.s.log.note(fmt.Sprintf("step %d: response", step), answer)
	if r.Error != "" {
		x.s.log.note(fmt.Sprintf("step %d: not understood", step), r.Error)
	}
}

// report shows the agent's analysis and plan.
func (x *turn) report(r Response) error {
	if strings.TrimSpace(r.Analysis) != "" {
		x.analysis = r.Analysis
	}
	if r.Error != "" {
		return x.t.Emit(terminal.Frame{Kind: terminal.Log, Level: "warning", Text: "response not understood: " + r.Error})
	}
	caption := captionOf(r)
	if caption == "" {
		return nil
	}
	x.display.setCaption(caption)
	return x.t.Emit(terminal.Frame{Kind: terminal.Progress, Text: caption, Screen: x.s.snapshot(), Buttons: x.buttons()})
}

// longestCaption bounds what is shown of an analysis and of a plan, in characters.
const longestCaption = 300

func captionOf(r Response) string {
	var parts []string
	for _, text := range []string{r.Analysis, r.Plan} {
		if text = strings.TrimSpace(text); text != "" {
			parts = append(parts, clip(text, longestCaption))
		}
	}
	return strings.Join(parts, "\n\n")
}

// clip cuts a text that has too many characters.
func clip(text string, most int) string {
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return text
}

// carryOut types the commands of a response, and waits as long as each wants. When a person takes
// the terminal over, the rest of the commands is dropped: they were meant for another screen.
func (x *turn) carryOut(ctx context.Context, r *Response) {
	for i, c := range r.Commands {
		if x.awaitHandBack(ctx) {
			x.drop(r, i)
			return
		}
		x.s.press(ctx, c.Keys)
		x.wait(ctx, c.Duration)
		if ctx.Err() != nil || x.s.isDead() {
			return
		}
	}
	x.awaitHandBack(ctx)
}

// drop tells the agent that its commands from the i-th on were not carried out.
func (x *turn) drop(r *Response, i int) {
	which := "Command " + strconv.Itoa(i+1) + " was"
	if last := len(r.Commands); last > i+1 {
		which = fmt.Sprintf("Commands %d to %d were", i+1, last)
	}
	r.Warnings = append(r.Warnings, "The user has typed into the terminal. "+which+" not executed.")
	r.TaskComplete = false
}

// wait lasts as long as a command wants, within bounds.
func (x *turn) wait(ctx context.Context, seconds float64) {
	pause := longestWait
	if seconds < pause.Seconds() {
		pause = time.Duration(max(seconds, 0) * float64(time.Second))
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-x.s.dead:
	case <-ctx.Done():
	}
}

// awaitHandBack waits while a person has the terminal, which is not the agent's time. It reports
// whether one has or had since the last time; the agent is then shown the whole screen.
func (x *turn) awaitHandBack(ctx context.Context) (had bool) {
	times := x.s.timesTaken()
	if x.s.isTaken() {
		defer x.t.PauseTimeout()()
		x.s.awaitHandBack(ctx, x.set.idle())
	} else if times == x.taken {
		return false
	}
	x.taken, x.output = times, Output{}
	return true
}

// complete ends a turn whose task is done.
func (x *turn) complete(ctx context.Context) (terminal.Outcome, error) {
	x.display.end()
	if ended := x.agent.finish(); ctx.Err() != nil && ended.Forced {
		return tellStopped(ctx, x.t, x.s)
	}
	text := strings.TrimSpace(x.analysis)
	if text == "" {
		text = "Done."
	}
	return terminal.Outcome{Status: terminal.Done}, x.t.Emit(terminal.Frame{Kind: terminal.Message, Text: text})
}

// broken ends a turn that cannot go on.
func (x *turn) broken(ctx context.Context, err error) (terminal.Outcome, error) {
	var exited *exitedError
	switch {
	case ctx.Err() != nil:
		x.agent.kill()
		x.display.end()
		return tellStopped(ctx, x.t, x.s)
	case errors.As(err, &exited):
		if short := exited.ended.Shortage(); short != nil {
			return terminal.Outcome{}, short
		}
		return x.fail(ctx, exited.Error(), &exited.ended)
	case errors.Is(err, errShellExited):
		<-x.s.dead
		return x.fail(ctx, "The shell of the terminal has ended ("+exitWords(x.s.ended)+")", nil)
	case isLongLine(err):
		return x.fail(ctx, "The agent's response is too long: "+err.Error(), nil)
	}
	x.agent.kill()
	return terminal.Outcome{}, err
}

// fail ends a turn with an error. ended says how the agent ended by itself; nil: it is killed now.
func (x *turn) fail(ctx context.Context, why string, ended *terminal.Ended) (terminal.Outcome, error) {
	if ended == nil {
		killed := x.agent.kill()
		ended = &terminal.Ended{Exit: process.Exit{Code: 1, Stderr: killed.Stderr}}
	}
	if ctx.Err() != nil {
		return tellStopped(ctx, x.t, x.s)
	}
	x.display.end()
	end := terminal.NewEnding(x.t.MaxOutput)
	end.Fail(terminal.Frame{Text: why})
	return end.Tell(x.t, *ended)
}

// tellStopped ends a turn whose time is up or that was stopped. What runs in the terminal is
// interrupted, since nobody waits for it any more.
func tellStopped(ctx context.Context, t terminal.Turn, s *session) (terminal.Outcome, error) {
	if s != nil {
		s.interrupt()
	}
	end := terminal.NewEnding(t.MaxOutput)
	return end.Tell(t, terminal.Ended{
		Exit: process.Exit{Forced: true, Stderr: process.NewBounded(0, 0)}, Cause: context.Cause(ctx),
	})
}

// exitWords says how a process has ended.
func exitWords(e terminal.Ended) string {
	if e.Signal != "" {
		return "killed by " + e.Signal
	}
	return fmt.Sprintf("exit status %d", e.Code)
}
