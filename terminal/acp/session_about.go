package acp

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"nanobot/terminal"
)

const (
	// tellEvery is how often a change of the numbers is told, at most.
	tellEvery = time.Second
	// maxCommands is how many of an agent's commands are told.
	maxCommands = 100
)

// about is what is known of a session.
type about struct {
	agent    string
	title    string
	used     int64
	size     int64
	commands []terminal.Command
	state
}

// state is what can be chosen in a session, in the three ways in which agents write it.
type state struct {
	Modes   *modes         `json:"modes"`
	Options []configOption `json:"configOptions"`
	Models  *models        `json:"models"`
}

type modes struct {
	Current   string `json:"currentModeId"`
	Available []struct {
		ID   string `json:"id"`
		Name string `json:"name"`
	} `json:"availableModes"`
}

// models is what agents had before there were options.
type models struct {
	Current   string `json:"currentModelId"`
	Available []struct {
		ID   string `json:"modelId"`
		Name string `json:"name"`
	} `json:"availableModels"`
}

type configOption struct {
	ID       string          `json:"id"`
	Name     string          `json:"name"`
	Category string          `json:"category"`
	Type     string          `json:"type"`
	Current  json.RawMessage `json:"currentValue"`
	Values   []configValue   `json:"options"`
}

// configValue is a value of an option, or a group of them.
type configValue struct {
	Value   string        `json:"value"`
	Name    string        `json:"name"`
	Options []configValue `json:"options"`
}

// apply takes an update that is about the session as a whole, and says whether it is one.
func (a *about) apply(u update) bool {
	var p struct {
		Title    json.RawMessage `json:"title"`
		Used     int64           `json:"used"`
		Size     int64           `json:"size"`
		Mode     string          `json:"currentModeId"`
		Options  []configOption  `json:"configOptions"`
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
	_ = decode(u.Raw, &p) // what makes no sense changes nothing
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
	case "current_mode_update":
		if a.Modes != nil {
			a.Modes.Current = p.Mode
		}
	case "config_option_update":
		a.Options = p.Options
	case "available_commands_update":
		a.commands = nil
		for _, c := range p.Commands[:min(len(p.Commands), maxCommands)] {
			a.commands = append(a.commands, terminal.Command{Name: strings.TrimPrefix(c.Name, "/"), Help: c.Help})
		}
	}
	return true
}

// line says in short what the session is.
func (a *about) line() string {
	parts := []string{a.title}
	if a.title == "" {
		parts[0] = a.agent
	}
	for _, what := range []string{"model", "mode"} {
		if c := a.choice(what); c != nil {
			parts = append(parts, c.now())
		}
	}
	switch {
	case a.size > 0:
		parts = append(parts, fmt.Sprintf("%s of %s tokens", thousands(a.used), thousands(a.size)))
	case a.used > 0:
		parts = append(parts, thousands(a.used)+" tokens")
	}
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), " · ")
}

func thousands(n int64) string {
	if n < 1000 {
		return strconv.FormatInt(n, 10)
	}
	return fmt.Sprintf("%dk", (n+500)/1000)
}

// tell tells the turn that runs what is known of the session, if that has changed; soon rather than
// now if it is not urgent.
func (s *session) tell(urgent bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.turn == nil || !urgent && time.Since(s.when) < tellEvery {
		return
	}
	now := s.sum()
	if reflect.DeepEqual(now, s.told) {
		return
	}
	s.told, s.when = now, time.Now()
	s.turn.t.ReportAgentInfo(s.sum()) // which may change it
}

// summary is what there is to tell of the session.
func (s *session) summary() terminal.AgentInfo {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sum()
}

func (s *session) sum() terminal.AgentInfo {
	return terminal.AgentInfo{Line: s.about.line(), Commands: s.about.menu(bool(s.agent.hello.Can.Session.List))}
}

// menu lists the commands that are understood in the session: ours, then the agent's own.
func (a *about) menu(list bool) []terminal.Command {
	var all []terminal.Command
	if list {
		all = append(all, terminal.Command{Name: "sessions", Help: "earlier conversations"})
	}
	if a.choice("mode") != nil {
		all = append(all, terminal.Command{Name: "mode", Help: "how the agent works"})
	}
	if a.choice("model") != nil {
		all = append(all, terminal.Command{Name: "model", Help: "which model the agent uses"})
	}
	for _, c := range a.commands {
		same := func(other terminal.Command) bool { return other.Name == c.Name }
		if c.Name != "" && !slices.ContainsFunc(all, same) {
			all = append(all, c)
		}
	}
	return all
}
