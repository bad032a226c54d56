package acp

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"nanobot/internal/words"
	"nanobot/terminal"
	"nanobot/terminal/acp/rpc"
	"nanobot/terminal/acp/view"
)

const (
	// reportInterval is the shortest time between two reports of token counts.
	reportInterval = time.Second
	// maxCommands limits the commands of an agent that are shown.
	maxCommands = 100
)

// sessionDetails is the agent's information about a session.
type sessionDetails struct {
	agent     string
	title     string
	used      int64
	size      int64
	cost      *view.Cost // nil: unknown
	counted   *view.Cost // what turns have reported of cost; nil: unknown
	usedModel string     // named by the last response; "": none
	commands  []terminal.Command
	sessionChoices
}

// apply handles an update about the session as a whole, and reports whether u is one.
func (a *sessionDetails) apply(u update) bool {
	var p struct {
		Title    json.RawMessage         `json:"title"`
		Used     int64                   `json:"used"`
		Size     int64                   `json:"size"`
		Cost     rpc.Optional[view.Cost] `json:"cost"`
		Mode     string                  `json:"currentModeId"`
		Options  []configOption          `json:"configOptions"`
		Commands []struct {
			Name string `json:"name"`
			Help string `json:"description"`
		} `json:"availableCommands"`
	}
	switch u.Kind {
	case "session_info_update", "usage_update", "current_mode_update", "config_option_update", "available_commands_update":
	default:
		return false
	}
	_ = rpc.DecodeLenient(u.Raw, &p) // malformed fields change nothing
	switch u.Kind {
	case "session_info_update":
		if p.Title != nil {
			_ = json.Unmarshal(p.Title, &a.title)
			if string(p.Title) == "null" {
				a.title = ""
			}
		}
	case "usage_update":
		a.used, a.size = p.Used, p.Size
		if p.Cost.OK {
			a.cost = &p.Cost.V
		}
	case "current_mode_update":
		a.setValue(setMode, modeChoice, p.Mode)
		if c := a.find(modeChoice); c != nil && c.method == setConfigOption {
			a.setValue(setConfigOption, c.id, p.Mode) // an agent may have its modes in both forms
		}
	case "config_option_update":
		a.options = nil
		a.set(choices{Options: p.Options})
	case "available_commands_update":
		a.commands = nil
		for _, c := range p.Commands[:min(len(p.Commands), maxCommands)] {
			a.commands = append(a.commands, terminal.Command{Name: strings.TrimPrefix(c.Name, "/"), Help: c.Help})
		}
	}
	return true
}

// statusLine describes the session in one line: title, model, mode, context used and cost.
func (a *sessionDetails) statusLine(w words.Words) string {
	parts := []string{a.title}
	if a.title == "" {
		parts[0] = a.agent
	}
	for _, what := range []string{modelChoice, modeChoice} {
		if c := a.find(what); c != nil {
			parts = append(parts, c.valueName(c.current))
		}
	}
	switch {
	case a.size > 0:
		parts = append(parts, w.Text(words.ContextUsed, formatThousands(a.used), formatThousands(a.size)))
	case a.used > 0:
		parts = append(parts, w.Text(words.TokensUsed, formatThousands(a.used)))
	}
	if a.cost != nil {
		parts = append(parts, a.cost.Number())
	}
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), " · ")
}

func formatThousands(n int64) string {
	if n < 1000 {
		return strconv.FormatInt(n, 10)
	}
	return fmt.Sprintf("%dk", (n+500)/1000)
}

// reportInfo reports the session's details to the active turn if they have changed. Reports that
// are not urgent are limited to one per reportInterval.
func (s *session) reportInfo(urgent bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.turn == nil || !urgent && time.Since(s.reportedAt) < reportInterval {
		return
	}
	now := s.agentInfoLocked()
	if reflect.DeepEqual(now, s.reportedInfo) {
		return
	}
	s.reportedInfo, s.reportedAt = now, time.Now()
	s.turn.t.Report(s.agentInfoLocked()) // a second copy, since the receiver may change it
}

// agentInfo returns the details of the session.
func (s *session) agentInfo() terminal.AgentInfo {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.agentInfoLocked()
}

func (s *session) agentInfoLocked() terminal.AgentInfo {
	return terminal.AgentInfo{
		Line:     s.details.statusLine(s.words),
		Commands: s.details.commandMenu(bool(s.agent.initResponse.Capabilities.Session.List)),
	}
}

// newMenuCommand returns a command of the gateway.
func newMenuCommand(name string, help words.Key) terminal.Command {
	return terminal.Command{Name: name, Help: words.Template(help, words.English), HelpKey: help}
}

// commandMenu lists the commands of the session: the gateway's, then the agent's.
func (a *sessionDetails) commandMenu(list bool) []terminal.Command {
	var all []terminal.Command
	if list {
		all = append(all, newMenuCommand("sessions", words.HelpSessions))
	}
	if a.find(modeChoice) != nil {
		all = append(all, newMenuCommand(modeChoice, words.HelpMode))
	}
	if a.find(modelChoice) != nil {
		all = append(all, newMenuCommand(modelChoice, words.HelpModel))
	}
	if len(a.all()) > 0 {
		all = append(all, newMenuCommand(strings.TrimPrefix(configCommand, "/"), words.HelpConfig))
	}
	for _, c := range a.commands {
		same := func(other terminal.Command) bool { return other.Name == c.Name }
		if c.Name != "" && !slices.ContainsFunc(all, same) {
			all = append(all, c)
		}
	}
	return all
}
