package gateway_test

import (
	"bufio"
	"context"
	"strings"
	"sync"

	"nanobot/terminal"
)

// persistentProtocol has one persistent agent. It reads an envelope per line and
// answers with a line: what it tells of itself behind about, what it wants to be remembered behind
// save, or its answer.
type persistentProtocol struct {
	mu    sync.Mutex
	agent *terminal.Agent
	lines *bufio.Scanner

	closed int
}

func (k *persistentProtocol) Turn(_ context.Context, t terminal.Turn) (terminal.Outcome, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.agent == nil {
		agent, err := t.LaunchPersistent(terminal.PersistentOptions{})
		if err != nil {
			return terminal.Outcome{}, err
		}
		k.agent, k.lines = agent, bufio.NewScanner(agent.Stdout)
	} else {
		t.Report(terminal.Launched(k.agent.Pid()))
	}
	known, err := t.Memory().Load(context.Background(), terminal.ConversationMemory)
	if err != nil {
		return terminal.Outcome{}, err
	}
	if _, err := k.agent.Write([]byte(known + "|" + t.Envelope.Text + "\n")); err != nil {
		return terminal.Outcome{}, err
	}
	for k.lines.Scan() {
		kind, text, _ := strings.Cut(k.lines.Text(), " ")
		switch kind {
		case "save":
			err = t.Memory().Save(context.Background(), terminal.ConversationMemory, text)
		case "about":
			about := terminal.AgentInfo{Line: text}
			for word := range strings.FieldsSeq(text) {
				if name, ok := strings.CutPrefix(word, "/"); ok {
					about.Commands = append(about.Commands, terminal.Command{Name: name, Help: "does " + name})
				}
			}
			t.Report(about)
		default:
			return terminal.Outcome{Status: terminal.Done}, t.Emit(terminal.Frame{Kind: terminal.Message, Text: k.lines.Text()})
		}
		if err != nil {
			return terminal.Outcome{}, err
		}
	}
	return terminal.Outcome{Status: terminal.Failed}, nil
}

var _ terminal.PersistentProtocol = (*persistentProtocol)(nil)

// Pool is the protocol itself.
func (k *persistentProtocol) Pool() terminal.ProcessPool { return k }

// Idle returns nothing: nobody asks who has used the agent.
func (k *persistentProtocol) Idle() map[string][]string { return nil }

// End does nothing: nobody loses access.
func (k *persistentProtocol) End(string) {}

// Restarts returns nothing: the agent is always kept.
func (k *persistentProtocol) Restarts() (int, string) { return 0, "" }

// Close ends the agent.
func (k *persistentProtocol) Close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.closed++
	if k.agent != nil {
		k.agent.Kill()
		k.agent.Wait()
		k.agent = nil
	}
}

// remembers is an agent that answers with what it is told is remembered and wants to have this text
// remembered, tells of itself, and notes its process ID.
const remembers = `echo $$ >> pids; while read -r line; do text=${line#*|}
	case $text in about*) echo "$text";; save*) echo "$text";; esac
	echo "known: ${line%%|*}"; done`
