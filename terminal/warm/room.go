package warm

import (
	"maps"
	"time"
)

// Room says how many processes a Pool keeps.
type Room struct {
	MaxProcesses int // 0: no limit
	// MaxMemory is how many bytes all processes may use; 0: no limit. MinProcesses are kept
	// whatever memory they use.
	MaxMemory    int64
	MinProcesses int
	// Keys are the keys of the configuration that set the limits.
	Keys map[Limit]string
}

// Limit is a limit for which a Pool ends a process.
type Limit string

// The limits of a Pool.
const (
	TimeLimit   Limit = "time"   // MaxInUse
	CountLimit  Limit = "count"  // MaxProcesses
	MemoryLimit Limit = "memory" // MaxMemory
)

// Exceeded returns the limit that is exceeded by this many processes with this much memory; "":
// none.
func (r Room) Exceeded(processes int, memory int64) Limit {
	switch {
	case r.MaxProcesses > 0 && processes > r.MaxProcesses:
		return CountLimit
	case r.MaxMemory > 0 && memory > r.MaxMemory && processes > r.MinProcesses:
		return MemoryLimit
	}
	return ""
}

// measureInterval is how often the memory of a process is measured at most: reading it from /proc
// takes a noticeable part of a short turn.
const measureInterval = 10 * time.Second

// measure measures the memory of the process at the end of a turn.
func (e *Entry[P]) measure() {
	p := e.pool
	process, ok := any(e.process).(interface{ Memory() int64 })
	if !ok || !e.hasProcess() || p.MaxMemory == 0 || time.Since(e.measuredAt) < measureInterval {
		return
	}
	memory := process.Memory()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.memory += memory - e.memory
	e.memory, e.measuredAt = memory, time.Now()
}

// uncountProcess is called before a chat loses its process, if it has one. The caller holds the
// mutex.
func (p *Pool[P]) uncountProcess(e *Entry[P]) {
	if e.hasProcess() {
		p.processes--
		p.memory -= e.memory
		e.memory, e.measuredAt = 0, time.Time{}
	}
}

// endExcessProcesses ends idle processes, the longest idle first and those in use last, until there
// is room. Processes that a turn uses stay. The caller holds the mutex.
func (p *Pool[P]) endExcessProcesses() {
	for {
		limit := p.Exceeded(p.processes, p.memory)
		if limit == "" {
			return
		}
		e, inUse := p.longestIdle()
		if e == nil || inUse && p.OnLimit == nil {
			return
		}
		p.restarts.expect(e.chat, limit, e.idleAt.Add(p.IdleTime))
		if inUse {
			p.endForLimit(e, limit)
		} else {
			p.endIdleProcess(e)
		}
	}
}

// longestIdle returns the chat that has been idle longest, if any; one whose process is in use only
// if all are. The caller holds the mutex.
func (p *Pool[P]) longestIdle() (longest *Entry[P], inUse bool) {
	for _, e := range p.chats {
		if !p.isIdle(e) {
			continue
		}
		if used := e.inUse(); longest == nil || inUse && !used || inUse == used && e.idleAt.Before(longest.idleAt) {
			longest, inUse = e, used
		}
	}
	return longest, inUse
}

// restarts counts the processes that are started again because there was no room to keep them.
type restarts struct {
	count int
	last  Limit // for which the last one had been ended
	ended map[string]endedProcess
}

// endedProcess is a process that was ended for a limit, and would have been kept until a time.
type endedProcess struct {
	limit Limit
	until time.Time
}

// expect is called when the process of a chat is ended for a limit.
func (r *restarts) expect(chat string, limit Limit, until time.Time) {
	if r.ended == nil {
		r.ended = map[string]endedProcess{}
	}
	maps.DeleteFunc(r.ended, func(_ string, ended endedProcess) bool { return time.Now().After(ended.until) })
	r.ended[chat] = endedProcess{limit, until}
}

// countRestart counts the start of a process whose predecessor would still be there if there had
// been room. The caller holds the mutex.
func (p *Pool[P]) countRestart(chat string) {
	ended, ok := p.restarts.ended[chat]
	if !ok {
		return
	}
	delete(p.restarts.ended, chat)
	if time.Now().Before(ended.until) {
		p.restarts.count++
		p.restarts.last = ended.limit
	}
}

// Restarts returns how many processes were started again because there was no room to keep them,
// and the key of the limit for which the last one had been ended.
func (p *Pool[P]) Restarts() (count int, key string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.restarts.count, p.Keys[p.restarts.last]
}
