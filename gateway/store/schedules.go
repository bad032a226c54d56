package store

import (
	"context"
	"time"

	"nanobot/channels"
)

// OccurrenceOutcome is what became of an occurrence of a schedule.
type OccurrenceOutcome string

// The outcomes of an occurrence.
const (
	Ran      OccurrenceOutcome = "ran"
	CaughtUp OccurrenceOutcome = "caught-up" // the latest of those that a downtime has missed, which ran late
	Skipped  OccurrenceOutcome = "skipped"   // Reason says why
)

// Occurrence is one time of a schedule.
type Occurrence struct {
	Schedule string
	Due      time.Time
	// Wall is the local time that the schedule names, such as 2026-03-29T02:30:00. In a change to
	// summer time, two occurrences have the same Due.
	Wall    string
	Outcome OccurrenceOutcome
	Reason  string
	Inbound int64 // the message that it has caused; 0: none
}

// Schedule is a schedule that the store knows.
type Schedule struct {
	Name string
	Chat channels.Chat
	// Maker is the ID of the person who has made it in the chat; "": the operator.
	Maker string
	Spec  string // JSON; the store does not read it
	Made  time.Time
	// Accounted is the time up to which every occurrence is stored.
	Accounted time.Time
}

// Schedules stores schedules and their occurrences.
type Schedules interface {
	// SaveSchedule stores a schedule, or replaces the one with the same name. It reports false,
	// and stores nothing, if the chat has most schedules of people already; 0: no limit.
	SaveSchedule(ctx context.Context, s Schedule, most int) (bool, error)
	// RemoveSchedule removes a schedule. Its occurrences stay until they are pruned.
	RemoveSchedule(ctx context.Context, name string) (bool, error)
	Schedules(ctx context.Context) ([]Schedule, error)
	// Account stores occurrences of a schedule that cause no message, and the time up to which all
	// are stored. An occurrence that is stored already stays as it is.
	Account(ctx context.Context, name string, accounted time.Time, all []Occurrence) error
	// Occurrences returns the last occurrences of a schedule, newest first.
	Occurrences(ctx context.Context, name string, n int) ([]Occurrence, error)
}
