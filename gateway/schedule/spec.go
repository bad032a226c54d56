// Package schedule makes messages at the times of schedules, and accounts in the store for every
// time that a schedule names. It does not know what becomes of the messages, nor where the
// schedules of the operator come from.
package schedule

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // so that time zones work on a machine without a zone database

	"github.com/robfig/cron/v3"

	"nanobot/channels"
)

// Spec says when a schedule is due and what it does. Either Cron or At is set.
type Spec struct {
	Cron     string `json:"cron,omitempty"` // five fields, six with leading seconds, or such as @daily
	At       string `json:"at,omitempty"`   // RFC 3339
	Timezone string `json:"timezone,omitempty"`
	Text     string `json:"text,omitempty"`    // Markdown; with Agent its prompt
	Agent    string `json:"agent,omitempty"`   // "": Text is sent as it is
	Runbook  string `json:"runbook,omitempty"` // "": none
	Say      string `json:"say,omitempty"`     // SayAlways, or "" for a turn that shows only what the agent sends
}

// SayAlways is the value of Spec.Say with which a turn is shown like that of a person's message.
const SayAlways = "always"

// Configured is a schedule of the operator.
type Configured struct {
	Chat channels.Chat
	Spec Spec
}

// Mistake is a mistake in a Spec.
type Mistake struct {
	Key  string // the JSON key of the value that is wrong
	Text string // what is wrong, or what the value must be
}

// Error returns the mistake as one line.
func (m Mistake) Error() string { return m.Key + ": " + m.Text }

// Plan is a Spec whose times were understood.
type Plan struct {
	Spec
	zone *time.Location
	cron cron.Schedule // nil: at is the only occurrence
	at   time.Time
}

// cronParser accepts the five fields of cron, with a sixth for seconds in front, and descriptors.
var cronParser = cron.NewParser(cron.SecondOptional | cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow |
	cron.Descriptor)

// Parse checks a Spec and understands its times. The Plan has the name of the system's time zone if
// the Spec has none. It is nil if there are mistakes.
func Parse(s Spec) (*Plan, []Mistake) {
	p := &Plan{Spec: s}
	all := append(p.parseTimes(), s.checkWork()...)
	if len(all) > 0 {
		return nil, all
	}
	p.Timezone = p.zone.String()
	return p, nil
}

func (p *Plan) parseTimes() (all []Mistake) {
	var err error
	if p.zone, err = LoadZone(p.Timezone); err != nil {
		all = append(all, Mistake{"timezone", err.Error()})
		p.zone = time.UTC
	}
	switch {
	case p.Cron == "" && p.At == "":
		return append(all, Mistake{"cron", `must be set, unless "at" is`})
	case p.Cron != "" && p.At != "":
		return append(all, Mistake{"at", `must not be set together with "cron"`})
	case p.At != "":
		if p.at, err = time.Parse(time.RFC3339, p.At); err != nil {
			return append(all, Mistake{"at", "must be a time with its offset, such as 2026-12-24T18:00:00+01:00"})
		}
		p.at = p.at.Truncate(time.Second).In(p.zone) // the store has no nanoseconds
		return all
	}
	if p.cron, err = parseCron(p.Cron); err != nil {
		return append(all, Mistake{"cron", err.Error()})
	}
	return all
}

// checkWork returns the mistakes in what the schedule does.
func (s Spec) checkWork() (all []Mistake) {
	if strings.TrimSpace(s.Text) == "" && s.Runbook == "" {
		all = append(all, Mistake{"text", `must be set, unless "runbook" is`})
	}
	if word, _, _ := strings.Cut(s.Runbook, " "); word != s.Runbook ||
		slices.Contains([]string{"resume", "skip", "comment"}, strings.ToLower(word)) {
		all = append(all, Mistake{"runbook", "must be the name of a runbook"}) // these words continue a run
	}
	if s.Runbook != "" && (s.Agent != "" || s.Text != "") {
		all = append(all, Mistake{"runbook", `must not be set together with "text" or "agent"`})
	}
	if s.Say != "" && s.Say != SayAlways {
		all = append(all, Mistake{"say", fmt.Sprintf("must be %q or left out", SayAlways)})
	}
	return all
}

func parseCron(expression string) (cron.Schedule, error) {
	expression = strings.TrimSpace(expression)
	switch {
	case strings.HasPrefix(expression, "TZ=") || strings.HasPrefix(expression, "CRON_TZ="):
		return nil, errors.New(`must not name a time zone; "timezone" does`)
	case strings.HasPrefix(expression, "@every"):
		return nil, errors.New(`must not be @every, which has no fixed times; write such as "*/20 * * * *"`)
	case expression == "":
		return nil, errors.New("must not be blank")
	}
	parsed, err := cronParser.Parse(expression)
	if err != nil {
		return nil, fmt.Errorf("must be five fields (minute hour day month weekday), six with leading seconds, or such "+
			"as @daily: %w", err)
	}
	if parsed.Next(time.Unix(0, 0).UTC()).IsZero() {
		return nil, errors.New("names a day that no month has, so it would never be due")
	}
	return parsed, nil
}

// parseStored understands a Spec of the store.
func parseStored(spec string) (*Plan, error) {
	var s Spec
	if err := json.Unmarshal([]byte(spec), &s); err != nil {
		return nil, fmt.Errorf("decode spec: %w", err)
	}
	p, mistakes := Parse(s)
	if len(mistakes) > 0 {
		return nil, mistakes[0]
	}
	return p, nil
}

// encode returns the Spec as the store has it.
func (s Spec) encode() string {
	b, _ := json.Marshal(s) // strings always have an encoding
	return string(b)
}

// LoadZone returns the time zone with a name of the zone database; "" is that of the system.
func LoadZone(name string) (*time.Location, error) {
	if name == "" || name == "Local" {
		name = systemZone()
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, errors.New("must be a name of the time zone database, such as Europe/Berlin")
	}
	return zone, nil
}

// systemZone returns the name of the system's time zone. time.Local does not know its name, unless
// the variable TZ has it.
func systemZone() string {
	const folder = "/zoneinfo/"
	if _, set := os.LookupEnv("TZ"); set {
		if name := strings.TrimPrefix(os.Getenv("TZ"), ":"); !strings.HasPrefix(name, "/") {
			if name == "" {
				return "UTC"
			}
			if _, err := time.LoadLocation(name); err == nil {
				return name
			}
		}
	} else if target, err := os.Readlink("/etc/localtime"); err == nil {
		if at := strings.LastIndex(target, folder); at >= 0 {
			if _, err := time.LoadLocation(target[at+len(folder):]); err == nil {
				return target[at+len(folder):]
			}
		}
	}
	return "Local"
}
