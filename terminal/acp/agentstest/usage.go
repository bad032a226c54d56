package agentstest

import "slices"

// Usage is a number of tokens.
type Usage struct {
	Input, Output int64
}

// Add returns the sum of two numbers.
func (u Usage) Add(other Usage) Usage { return Usage{u.Input + other.Input, u.Output + other.Output} }

// tokens are what a reply reports. Cached are part of Input, and Thought part of Output.
type tokens struct {
	Usage
	Cached, Thought int64
}

// count returns the tokens of a reply, which differ from those of all other replies, and counts
// them.
func (m *Model) count(r Reply) tokens {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := int64(len(m.asides) + m.replies)
	t := tokens{Usage{1000 + n, 100 + n}, 300, 20}
	if r.Aside {
		m.asides = append(m.asides, t.Usage)
	} else {
		m.replies, m.used = m.replies+1, m.used.Add(t.Usage)
	}
	return t
}

// Used returns what replies have reported until now: those of conversations together, and each of
// the others.
func (m *Model) Used() (used Usage, asides []Usage) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.used, slices.Clone(m.asides)
}
