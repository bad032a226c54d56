package view

import "time"

const (
	// quietLimit is the time without any message of the agent after which the board says so, and
	// quietInterval is how often the board then counts the minutes.
	quietLimit, quietInterval = 5 * time.Minute, time.Minute
)

// ShowThinking shows that the agent has the prompt. From now on the time without a sign of life is
// measured.
func (v *View) ShowThinking() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.closed {
		return
	}
	v.board.prompted = true
	v.showBoard()
	v.markAlive()
	v.due.quiet.Schedule(quietLimit)
}

// RecordLife records a sign of life of the agent that is no update.
func (v *View) RecordLife() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.markAlive()
}

// markAlive records a sign of life of the agent. The caller holds mu.
func (v *View) markAlive() {
	v.aliveAt = time.Now()
	if v.board.quietMinutes > 0 {
		v.board.quietMinutes = 0
		v.due.board.Schedule(boardInterval)
	}
}

// checkQuiet shows how long the agent has been silent. The time in which it waits for a person
// does not count.
func (v *View) checkQuiet() {
	now := time.Now()
	if v.board.questions > 0 {
		v.aliveAt = now
	}
	next := v.aliveAt.Add(quietLimit)
	if !now.Before(next) {
		v.board.quietMinutes = int(now.Sub(v.aliveAt) / time.Minute)
		v.showBoard()
		next = now.Add(quietInterval)
	}
	v.due.quiet.Schedule(next.Sub(now))
}
