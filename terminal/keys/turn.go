package keys

import (
	"context"
	"errors"
	"fmt"
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
	known      int    // how often the terminal was taken over, as far as the agent knows
}

func (x *turn) run(ctx context.Context) (terminal.Outcome, error) {
	x.agent, x.known = newTransport(x.t, x.set), x.s.takeovers()
	x.display = show(ctx, x.t, x.s, displayOptions{caption: "Working…", buttons: x.buttons})
	defer x.display.end()
	x.s.log.add("task", x.instruction())
	out, err := x.work(ctx)
	x.s.log.add("end: "+string(out.Status), "")
	if err == nil && x.s.isTaken() && !x.s.isDead() {
		err = x.t.Emit(terminal.Frame{Kind: terminal.Message, Text: stillYours})
	}
	return out, err
}

// stillYours is what a person is told who has the terminal when a turn ends.
const stillYours = "The terminal is still yours: what you write is typed. /give hands it back to the agent."

// work takes the steps. When it returns, the agent's processes are dead.
func (x *turn) work(ctx context.Context) (terminal.Outcome, error) {
	if err := x.agent.start(ctx); err != nil {
		return terminal.Outcome{}, err
	}
	text := x.output.Next(x.s.text())
	for step := 1; ; step++ {
		if step > x.set.MaxSteps {
			return x.failNow(fmt.Sprintf("Stopped after %d steps", x.set.MaxSteps))
		}
		answer, err := x.ask(ctx, request{Instruction: x.instruction(), Screen: text, Step: step})
		if err != nil {
			return x.broken(ctx, err)
		}
		response, format := Parse(Format(x.set.Format), answer)
		x.logStep(step, text, answer, response)
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
			return x.complete()
		}
		x.agent.recordStep(step, response)
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

// logStep adds a step to the log.
func (x *turn) logStep(step int, told, answer string, r Response) {
	x.s.log.add(fmt.Sprintf("step %d: told to the agent", step), told)
	x.s.log.add(fmt.Sprintf("step %d: response", step), answer)
	if r.Error != "" {
		x.s.log.add(fmt.Sprintf("step %d: not understood", step), r.Error)
	}
}

// report shows the agent's analysis and plan.
func (x *turn) report(r Response) error {
	if strings.TrimSpace(r.Analysis) != "" {
		x.analysis = r.Analysis
	}
	if r.Error != "" {
		return x.t.Emit(terminal.Frame{Kind: terminal.Log, Level: "debug", Text: "response not understood: " + r.Error})
	}
	caption := captionOf(r)
	if caption == "" {
		return nil
	}
	return x.display.setCaption(caption)
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
			x.dropCommands(r, i)
			return
		}
		if !x.s.press(ctx, c.Keys) {
			r.Warnings = append(r.Warnings, fmt.Sprintf("Command %d was not typed: the program does not read its input.", i+1))
		}
		x.wait(ctx, c.Duration)
		if ctx.Err() != nil || x.s.isDead() {
			return
		}
	}
	if r.Error == "" && x.awaitHandBack(ctx) {
		x.dropCommands(r, len(r.Commands))
	}
}

// dropCommands tells the agent that a person has used the terminal, and that its commands from the
// i-th on were not carried out. Its task may not be complete any more.
func (x *turn) dropCommands(r *Response, i int) {
	warning := "The user has typed into the terminal."
	switch last := len(r.Commands); last - i {
	case 0:
	case 1:
		warning += fmt.Sprintf(" Command %d was not executed.", last)
	default:
		warning += fmt.Sprintf(" Commands %d to %d were not executed.", i+1, last)
	}
	r.Warnings = append(r.Warnings, warning)
	r.Commands, r.TaskComplete = r.Commands[:i], false
}

// pauseAfter is how long a command wants to wait, within bounds.
func pauseAfter(seconds float64) time.Duration {
	if seconds >= longestWait.Seconds() {
		return longestWait
	}
	return time.Duration(max(seconds, 0) * float64(time.Second))
}

// wait lasts as long as a command wants.
func (x *turn) wait(ctx context.Context, seconds float64) {
	timer := time.NewTimer(pauseAfter(seconds))
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
	if x.s.isTaken() {
		resume := x.t.PauseTimeout()
		idle := x.s.awaitHandBack(ctx)
		resume()
		if idle {
			// A message that cannot be stored ends the turn when the next frame is emitted.
			_ = x.t.Emit(terminal.Frame{Kind: terminal.Message, Text: "You have typed nothing for a while, so the agent goes on. /take takes the terminal over again."})
		}
	}
	count := x.s.takeovers()
	if count == x.known {
		return false
	}
	x.known, x.output = count, Output{}
	return true
}

// complete ends a turn whose task is done.
func (x *turn) complete() (terminal.Outcome, error) {
	x.display.end()
	text := strings.TrimSpace(x.analysis)
	if text == "" {
		text = "Done."
	}
	err := x.t.Emit(terminal.Frame{Kind: terminal.Message, Text: text})
	logStderr(x.t, x.agent.finish())
	return terminal.Outcome{Status: terminal.Done}, err
}

// broken ends a turn that cannot go on.
func (x *turn) broken(ctx context.Context, err error) (terminal.Outcome, error) {
	var exited *exitedError
	switch {
	case ctx.Err() != nil:
		return x.stop(ctx)
	case errors.As(err, &exited):
		if short := exited.ended.Shortage(); short != nil {
			return terminal.Outcome{}, short
		}
		exited.ended.Forced = false // an agent that has closed its output was ended by us, and has ended itself
		return x.fail(exited.Error(), exited.ended)
	case errors.Is(err, errShellExited):
		<-x.s.dead
		return x.failNow("The shell of the terminal has ended (" + x.s.ended.Description() + ")")
	case isLongLine(err):
		return x.failNow("The agent's response is too long: " + err.Error())
	}
	x.agent.kill()
	return terminal.Outcome{}, err
}

// failNow ends the agent, and the turn with an error.
func (x *turn) failNow(why string) (terminal.Outcome, error) {
	killed := x.agent.kill()
	return x.fail(why, terminal.AgentExit{Exit: process.Exit{Code: 1, Stderr: killed.Stderr}})
}

// fail ends the turn of an agent that has ended with an error.
func (x *turn) fail(why string, ended terminal.AgentExit) (terminal.Outcome, error) {
	x.display.end()
	x.s.log.add("error", why)
	end := terminal.NewFinalResponse(x.t.MaxOutput)
	end.AddError(terminal.Frame{Text: why})
	return end.Emit(x.t, ended)
}

// stop ends a turn whose time is up or that was stopped. What the agent runs in the terminal is
// interrupted, since nobody waits for it any more.
func (x *turn) stop(ctx context.Context) (terminal.Outcome, error) {
	x.agent.kill()
	x.display.end()
	if !x.s.isTaken() {
		x.s.interrupt()
	}
	return x.t.EmitStopped(ctx)
}
