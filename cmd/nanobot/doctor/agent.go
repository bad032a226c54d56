package doctor

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"nanobot/cmd/nanobot/format"
	"nanobot/cmd/nanobot/trust"
	"nanobot/terminal"
	"nanobot/terminal/process"
)

// trialText is the message of the trial turn, unless the protocol has its own.
const trialText = "This is a check by the operator. Please answer with one word: ok"

// checkAgent runs one turn of the agent, in a chat that is removed afterwards.
func (d *doctor) checkAgent(ctx context.Context) findings {
	t := d.cfg.Terminal
	if !t.On() {
		return nil // reported with the warnings of the config
	}
	if !d.Turn {
		return good("not run (--no-turn)")
	}
	switch _, err := os.Stat(d.cfg.Workspace); {
	case errors.Is(err, fs.ErrNotExist): // the daemon must create the workspace, to own it
		return doubtful("not run, because there is no workspace yet",
			"start the daemon once, which creates it, or create it yourself")
	case err != nil:
		return doubtful("not run: "+err.Error(), suggestSudo(err, "make the workspace accessible"))
	}
	if os.Geteuid() == 0 {
		if why := d.reasonAgainstRoot(); why != "" {
			return doubtful("not run, because this is root: "+why, d.manualCommand())
		}
		if d.user.UID != 0 {
			return d.tryAgentAsUser(ctx)
		}
	}
	protocol, ok := d.Protocol(t.Protocol)
	if !ok {
		return bad(fmt.Sprintf("protocol %q is not part of this build", t.Protocol), "correct "+d.agentKey("protocol"))
	}
	text := trialText
	if protocol.TrialText != nil {
		text = protocol.TrialText(t)
	}
	r := d.runTrial(ctx, text, protocol.SupportsMCP)
	found := r.assess(protocol, t.Timeout)
	// An agent may print its environment, whose values may be secret. In other findings the same
	// values may be ordinary words, which must stay.
	found[0].Detail = newRedactor(slices.Collect(maps.Values(t.Env))).Replace(found[0].Detail)
	return found
}

// manualCommand returns the fix that tells the operator how to try the agent by hand.
func (d *doctor) manualCommand() string {
	if d.unitName != "" {
		return fmt.Sprintf("write to the bot and look at its answer; journalctl -u %s -n 50 shows the log", d.unitName)
	}
	return "try it by hand: " + d.agentCommand("run -v") + " hello"
}

// agentCommand returns a subcommand with the flags that choose the current agent, for its user.
func (d *doctor) agentCommand(subcommand string) string {
	command := "nanobot " + subcommand + " --config " + format.ShellWord(d.cfg.File())
	if d.agent != "" {
		command += " --agent " + d.agent
	}
	switch {
	case d.user.UID != 0:
		command = trust.RunAs(d.user.UID) + " " + command
	case d.startedByRoot:
		command = trust.RunAs(os.Geteuid()) + " " + command
	}
	return command
}

// nameAgentCheck names the command that checks an agent against the rules of its protocol: the
// first that needs no consent, or else the first. It takes many turns, so it is not run.
func (d *doctor) nameAgentCheck() findings {
	command := ""
	d.forEachAgent(func() {
		p, ok := d.Protocol(d.cfg.Terminal.Protocol)
		switch {
		case !ok || !d.cfg.Terminal.On():
		case p.NeedsConsent == "" && (command == "" || strings.HasSuffix(command, " --yes")):
			command = d.agentCommand("check-agent")
		case p.NeedsConsent != "" && command == "":
			command = d.agentCommand("check-agent") + " --yes"
		}
	})
	if command == "" {
		return nil
	}
	return good("not run; it checks the agent against the rules: %s", command)
}

// agentKey returns the full key of a setting of the current agent.
func (d *doctor) agentKey(name string) string { return d.cfg.AgentKey() + "." + name }

// trial is the result of the trial turn.
type trial struct {
	terminal.Trial
	err error
}

// runTrial sends the agent a message in a chat that is removed afterwards. usesTools says that the
// agent is given MCP tools.
func (d *doctor) runTrial(ctx context.Context, text string, usesTools bool) (r trial) {
	var output outputRecord
	r.ByHand = d.manualCommand()
	supervisor := process.NewSupervisor(process.SupervisorOptions{})
	defer supervisor.Close()
	var socket string
	var connected <-chan struct{}
	if usesTools {
		var stop func()
		socket, connected, stop = d.ServeTools(d.cfg, supervisor)
		defer stop()
	}
	var protocol terminal.Protocol
	runner, err := d.NewRunner(d.cfg, supervisor, socket, func(p terminal.Protocol) terminal.Protocol {
		protocol = p
		return &recordingProtocol{p, &output}
	})
	if err != nil {
		r.err = err
		return r
	}
	defer runner.Close()
	chat := "doctor-" + rand.Text()
	defer removeChat(d.cfg.Workspace, chat)()
	began := time.Now()
	r.Outcome, r.err = runner.Turn(ctx, terminal.Request{Envelope: terminal.Envelope{
		Channel: "doctor", ChatID: chat, Text: text, MessageID: "1", RunID: rand.Text(), Attempt: 1,
		User: (*terminal.User)(&d.Operator),
	}}, trialChat{trial: &r})
	r.Took, r.Output = time.Since(began), output.Bytes()
	if i, ok := protocol.(terminal.Inspector); ok {
		if env, err := runner.ExecEnv("doctor", chat); err == nil {
			r.Facts = i.Inspect(env)
		}
	}
	if socket != "" && r.err == nil && r.Outcome.Status == terminal.Done {
		used := false
		select { // agents connect after they have opened a session
		case <-connected:
			used = true
		case <-time.After(d.Listen):
		}
		r.Tools = &used
	}
	return r
}

// trialChat is the chat of a trial. Nobody is there.
type trialChat struct {
	terminal.NoChat
	trial *trial
}

// Emit records a frame.
func (c trialChat) Emit(f terminal.Frame) error {
	if f.Kind != terminal.Log {
		c.trial.Frames = append(c.trial.Frames, f)
	}
	return nil
}

// removeChat returns a function that removes a chat's folder, and its parent if that did not
// exist before.
func removeChat(workspace, chat string) func() {
	users := filepath.Join(workspace, "users")
	_, err := os.Stat(users)
	return func() {
		_ = os.RemoveAll(filepath.Join(users, chat))
		if errors.Is(err, os.ErrNotExist) {
			_ = os.Remove(users) // fails if the agent has created something else there
		}
	}
}

// recordingProtocol is a protocol that also records the agent's output.
type recordingProtocol struct {
	terminal.Protocol
	output *outputRecord
}

// Turn runs the turn of the protocol.
func (e *recordingProtocol) Turn(ctx context.Context, t terminal.Turn) (terminal.Outcome, error) {
	t.Host = recordingHost{t.Host, e.output}
	return e.Protocol.Turn(ctx, t)
}

type recordingHost struct {
	terminal.Host
	output *outputRecord
}

// Launch records the output of the command.
func (h recordingHost) Launch(ctx context.Context, in terminal.Input) (*terminal.Agent, error) {
	a, err := h.Host.Launch(ctx, in)
	if err == nil {
		a.Stdout = io.TeeReader(a.Stdout, h.output)
	}
	return a, err
}

// Pool returns the pool of the protocol's kept processes, or nil.
func (e *recordingProtocol) Pool() terminal.ProcessPool {
	if k, ok := e.Protocol.(terminal.PersistentProtocol); ok {
		return k.Pool()
	}
	return nil
}

// outputRecord is the beginning of an agent's output.
type outputRecord struct{ bytes.Buffer }

// maxRecorded is more than an agent prints as an answer to the trial message.
const maxRecorded = 1 << 20

// Write accepts everything and stores the first maxRecorded bytes.
func (h *outputRecord) Write(b []byte) (int, error) {
	_, _ = h.Buffer.Write(b[:min(len(b), max(0, maxRecorded-h.Len()))])
	return len(b), nil
}
