package keys

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"nanobot/internal/words"
	"nanobot/terminal"
	"nanobot/terminal/process"
	"nanobot/terminal/steps"
)

// maxWait limits the wait after one command.
const maxWait = 60 * time.Second

// turn is the processing of one message by an agent: in each step the agent gets the screen, and
// its keystrokes are typed.
type turn struct {
	t        terminal.Turn
	settings *Settings
	s        *session

	agent          transport
	display        *display
	output         Output
	completion     Completion
	analysis       string // of the last response that had one
	knownTakeovers int    // number of takeovers that the agent knows of

	steps steps.Board // those that the agent has responded to, for the summary of the turn
	step  *steps.Step // the last one
	// stillTaken means that the person has the terminal at the end, and is told so by the last
	// message.
	stillTaken bool
}

func (x *turn) run(ctx context.Context) (terminal.Outcome, error) {
	x.agent, x.knownTakeovers = newTransport(x.t, x.settings), x.s.takeovers()
	x.steps.Words = x.t.Words
	x.display = startDisplay(ctx, x.t, x.s, displayOptions{caption: x.t.Words.Text(words.Working), buttons: x.buttons})
	defer x.display.end()
	x.s.log.addEntry("task", x.instruction())
	out, err := x.runSteps(ctx)
	x.s.log.addEntry("end: "+string(out.Status), "")
	if err == nil && x.stillTaken {
		err = x.t.Emit(terminal.Frame{
			Kind: terminal.Message, Text: x.t.Words.Text(words.KeysStillTaken),
			Silent: out.Status != terminal.Done,
		})
	}
	return out, err
}

// runSteps runs the steps. When it returns, the agent's processes are dead.
func (x *turn) runSteps(ctx context.Context) (terminal.Outcome, error) {
	if err := x.agent.start(ctx); err != nil {
		return terminal.Outcome{}, err
	}
	text := x.output.Next(x.s.text())
	for step := 1; ; step++ {
		if step > x.settings.MaxSteps {
			return x.endKilled(x.t.Words.Text(words.KeysTooManySteps, x.settings.MaxSteps))
		}
		answer, err := x.askAgent(ctx, request{Instruction: x.instruction(), Screen: text, Step: step})
		if err != nil {
			return x.endBroken(ctx, err)
		}
		response, format := Parse(Format(x.settings.Format), answer)
		x.logStep(step, text, answer, response)
		x.recordStep(step, response)
		if err := x.showPlan(response); err != nil {
			x.agent.kill()
			return terminal.Outcome{}, err
		}
		x.typeCommands(ctx, &response)
		if ctx.Err() != nil || x.s.isDead() {
			return x.endBroken(ctx, errShellExited)
		}
		var done bool
		text, done = x.completion.Feedback(response, format, x.nextOutput)
		if done {
			return x.endComplete()
		}
		x.agent.recordStep(step, response)
	}
}

// askAgent sends a request to the agent and returns its response. The agent is ended if the shell
// exits.
func (x *turn) askAgent(ctx context.Context, r request) (string, error) {
	ctx, stop := x.s.untilExit(ctx)
	defer stop()
	answer, err := x.agent.roundTrip(ctx, r)
	if err != nil && ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	return answer, err
}

// instruction returns the person's message with the paths of its files.
func (x *turn) instruction() string {
	return x.t.Envelope.Task("Files that came with this:")
}

// recordStep adds a step to the summary of the turn. A response that only confirms that the task is
// complete belongs to the step before it.
func (x *turn) recordStep(step int, r Response) {
	if x.completion.announced && r.TaskComplete && r.Error == "" && len(r.Commands) == 0 {
		return
	}
	x.display.setStep(step)
	title := x.t.Words.Text(words.KeysNotUnderstood)
	if r.Error == "" {
		title = terminal.CodeSpan(terminal.OneLine(cmp.Or(strings.TrimSpace(r.Plan), strings.TrimSpace(r.Analysis),
			x.t.Words.Text(words.KeysNoPlan)), maxTitle))
	}
	x.step = &steps.Step{Kind: steps.Type, Title: title}
	x.steps.Add(x.step)
}

// maxTitle limits the characters of a step in the summary.
const maxTitle = 160

// nextOutput returns the output for the agent since the last step.
func (x *turn) nextOutput() string {
	text := x.output.Next(x.s.text())
	_, output, _ := strings.Cut(text, "\n") // without its heading
	x.step.Output = steps.LastLines(output)
	return text
}

// endDisplay ends the display with the summary of the turn.
func (x *turn) endDisplay() error {
	x.display.end()
	x.stillTaken = x.s.isTaken() && !x.s.isDead()
	if x.step == nil {
		return nil
	}
	return x.display.fold(x.steps.Sum(terminal.Fold{}))
}

// logStep adds a step to the log.
func (x *turn) logStep(step int, told, answer string, r Response) {
	x.s.log.addEntry(fmt.Sprintf("step %d: told to the agent", step), told)
	x.s.log.addEntry(fmt.Sprintf("step %d: response", step), answer)
	if r.Error != "" {
		x.s.log.addEntry(fmt.Sprintf("step %d: not understood", step), r.Error)
	}
}

// showPlan shows the agent's analysis and plan.
func (x *turn) showPlan(r Response) error {
	if strings.TrimSpace(r.Analysis) != "" {
		x.analysis = r.Analysis
	}
	if r.Error != "" {
		return x.t.Emit(terminal.Frame{Kind: terminal.Log, Level: "debug", Text: "response not understood: " + r.Error})
	}
	caption := captionFor(r)
	if caption == "" {
		return nil
	}
	return x.display.setCaption(caption)
}

// maxCaption limits the characters of an analysis and of a plan that are shown.
const maxCaption = 300

func captionFor(r Response) string {
	var parts []string
	for _, text := range []string{r.Analysis, r.Plan} {
		if text = strings.TrimSpace(text); text != "" {
			parts = append(parts, terminal.Shorten(text, maxCaption))
		}
	}
	return strings.Join(parts, "\n\n")
}

// typeCommands types the commands of a response and waits after each as long as it requests. When a
// person takes over the terminal, the remaining commands are dropped: they were meant for another
// screen.
func (x *turn) typeCommands(ctx context.Context, r *Response) {
	for i, c := range r.Commands {
		if x.awaitHandBack(ctx) {
			x.dropCommands(r, i)
			return
		}
		if !x.s.pressKeys(ctx, c.Keys) {
			r.Warnings = append(r.Warnings, fmt.Sprintf("Command %d was not typed: the program does not read its input.", i+1))
		}
		x.waitAfter(ctx, c.Duration)
		if ctx.Err() != nil || x.s.isDead() {
			return
		}
	}
	if r.Error == "" && x.awaitHandBack(ctx) {
		x.dropCommands(r, len(r.Commands))
	}
}

// dropCommands adds a warning for the agent that a person has used the terminal, and that its
// commands from the i-th on were not executed. The task may no longer be complete.
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

// pauseAfter returns the requested wait within its limits.
func pauseAfter(seconds float64) time.Duration {
	if seconds >= maxWait.Seconds() {
		return maxWait
	}
	return time.Duration(max(seconds, 0) * float64(time.Second))
}

// waitAfter waits as long as a command requests.
func (x *turn) waitAfter(ctx context.Context, seconds float64) {
	x.s.wait(ctx, pauseAfter(seconds), nil)
}

// awaitHandBack waits while a person has the terminal; this time does not count for the agent's
// timeout. It reports whether there was a takeover since the last call; the next output for the
// agent is the whole screen then.
func (x *turn) awaitHandBack(ctx context.Context) (had bool) {
	if x.s.isTaken() {
		resume := x.t.PauseTimeout()
		idle := x.s.awaitHandBack(ctx)
		resume()
		if idle {
			// If the message cannot be stored, the next frame ends the turn.
			_ = x.t.Emit(terminal.Frame{Kind: terminal.Message, Silent: true, Text: x.t.Words.Text(words.KeysIdle)})
		}
	}
	count := x.s.takeovers()
	if count == x.knownTakeovers {
		return false
	}
	x.knownTakeovers, x.output = count, Output{}
	return true
}

// endComplete ends a turn whose task is done.
func (x *turn) endComplete() (terminal.Outcome, error) {
	err := x.endDisplay()
	text := strings.TrimSpace(x.analysis)
	if text == "" {
		text = x.t.Words.Text(words.KeysDone)
	}
	if err == nil {
		err = x.t.Emit(terminal.Frame{Kind: terminal.Message, Text: text, Silent: x.stillTaken})
	}
	logStderr(x.t, x.agent.endGracefully())
	return terminal.Outcome{Status: terminal.Done}, err
}

// endBroken ends a turn that cannot continue.
func (x *turn) endBroken(ctx context.Context, err error) (terminal.Outcome, error) {
	var exited *exitedError
	switch {
	case ctx.Err() != nil:
		return x.endStopped(ctx)
	case errors.As(err, &exited):
		if short := exited.exit.Shortage(); short != nil {
			return terminal.Outcome{}, short
		}
		exited.exit.Forced = false // the gateway ended it only because it had closed its output
		return x.endFailed(x.t.Words.Text(words.KeysAgentEnded, exited.exit.Description(x.t.Words)), exited.exit)
	case errors.Is(err, errShellExited):
		<-x.s.ended
		return x.endKilled(x.t.Words.Text(words.KeysShellOfTurn, x.s.exit.Description(x.t.Words)))
	case isLongLine(err):
		return x.endKilled(x.t.Words.Text(words.KeysAnswerLong, x.t.MaxLine))
	}
	x.agent.kill()
	return terminal.Outcome{}, err
}

// endKilled kills the agent and ends the turn with an error.
func (x *turn) endKilled(why string) (terminal.Outcome, error) {
	killed := x.agent.kill()
	return x.endFailed(why, terminal.AgentExit{Exit: process.Exit{Code: 1, Stderr: killed.Stderr}})
}

// endFailed ends the turn with an error after the agent has exited.
func (x *turn) endFailed(why string, ended terminal.AgentExit) (terminal.Outcome, error) {
	if err := x.endDisplay(); err != nil {
		return terminal.Outcome{}, err
	}
	x.s.log.addEntry("error", why)
	end := terminal.NewFinalResponse(x.t.MaxOutput)
	end.AddError(terminal.Frame{Text: why})
	return end.Emit(x.t, ended)
}

// endStopped ends a turn that was stopped or timed out. The program in the terminal is interrupted,
// unless a person has taken over.
func (x *turn) endStopped(ctx context.Context) (terminal.Outcome, error) {
	x.agent.kill()
	if err := x.endDisplay(); err != nil {
		return terminal.Outcome{}, err
	}
	if x.s.isTaken() {
		return x.t.EmitStopped(ctx)
	}
	x.s.interrupt()
	out, err := x.t.EmitStopped(ctx)
	// A shell that is slow to handle the interrupt would discard what the next turn types.
	x.s.awaitQuiet(context.WithoutCancel(ctx), promptQuiet, stoppedQuiet)
	return out, err
}
