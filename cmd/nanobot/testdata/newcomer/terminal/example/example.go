// Package example is a protocol for programs whose output is one message, led by a prefix. It shows
// all that a protocol must have. A test adds it to a copy of the program.
package example

import (
	"context"
	"fmt"
	"strings"

	"nanobot/config"
	"nanobot/terminal"
)

// Name is the protocol's name in the configuration.
const Name = "example"

// Settings is the section of an agent.
type Settings struct {
	Prefix string `json:"prefix" jsonschema_description:"What each line is led by."`
	Width  int    `json:"width" jsonschema:"minimum=1,maximum=1000" jsonschema_description:"The most bytes of a line that are shown."`
}

// Describe describes the protocol.
func Describe() terminal.Description {
	return terminal.Description{
		Protocol: config.Protocol{
			Name: Name, Description: "lines that are led by a prefix",
			SectionDescription: "For protocol example: how its lines are shown.",
			New:                func() config.Settings { return newSettings() },
		},
		Open: func(o terminal.OpenOptions) terminal.Protocol {
			s, ok := o.Config.Protocols[Name].(*Settings)
			if !ok {
				s = newSettings()
			}
			return protocol{*s}
		},
		AssessTrial: func(t *terminal.Trial) terminal.Finding {
			return terminal.Finding{Detail: fmt.Sprintf("example: printed %d bytes", len(t.Output))}
		},
	}
}

func newSettings() *Settings { return &Settings{Prefix: "> ", Width: 80} }

// Check refuses a prefix that cannot be seen.
func (s *Settings) Check(config.Scope) []config.Problem {
	if strings.TrimSpace(s.Prefix) != "" {
		return nil
	}
	return []config.Problem{{Path: []string{"prefix"}, Text: "must not be blank"}}
}

// Warnings is about a width that shows next to nothing.
func (s *Settings) Warnings(at config.Scope) []string {
	if s.Width > 3 {
		return nil
	}
	return []string{fmt.Sprintf("%s is %d: hardly anything is shown", at.Key("width"), s.Width)}
}

type protocol struct{ settings Settings }

// Turn runs the agent to its end and emits what it printed.
func (p protocol) Turn(ctx context.Context, t terminal.Turn) (terminal.Outcome, error) {
	return t.ReadLinesShowingLast(ctx, func(line []byte, end *terminal.FinalResponse) error {
		end.AddLine([]byte(p.settings.Prefix + string(line[:min(len(line), p.settings.Width)])))
		return nil
	})
}
