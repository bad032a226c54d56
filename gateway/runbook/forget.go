package runbook

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Forgotten is what stays of a record besides its hash when somebody who is in it was forgotten.
type Forgotten struct {
	Step     int    `json:"step"`
	Previous string `json:"previous"`
}

// Involvement is a person, as channel:id, with their private chats.
type Involvement struct {
	Person string
	Chats  []string
}

// owns reports whether everything of a run is the person's.
func (p Involvement) owns(r Run) bool { return slices.Contains(p.Chats, r.Chat) }

// names reports whether a text in JSON names the person.
func (p Involvement) names(text string) bool {
	return strings.Contains(text, string(mustEncode(p.Person)))
}

// isIn reports whether the person is in a run, or the run is theirs.
func (p Involvement) isIn(r Run) bool {
	return p.owns(r) || r.By == p.Person || r.EndedBy == p.Person ||
		slices.ContainsFunc(r.Approvals, func(a Approved) bool { return a.By == p.Person }) ||
		slices.ContainsFunc(r.Records, func(e Entry) bool { return p.names(e.Record) })
}

// hasMinted reports whether the text of a run is that of a runbook of the person's chats.
func (p Involvement) hasMinted(r Run) bool {
	return slices.ContainsFunc(p.Chats, func(chat string) bool {
		return r.Source == MintedSource(chat, r.book.Label)
	})
}

// Part is the part of a run that is a person's.
type Part struct {
	Run      string            `json:"run"`
	Label    string            `json:"label"`
	Chat     string            `json:"chat,omitempty"`
	Status   Status            `json:"status"`
	Records  []json.RawMessage `json:"records,omitempty"`
	Approved []Approved        `json:"approvals,omitempty"`
	Reason   string            `json:"reason,omitempty"` // if the person has ended the run
}

// PartsOf returns the runs in which a person has decided, and those of their chats.
func (rs Runs) PartsOf(ctx context.Context, p Involvement) ([]Part, error) {
	runs, err := rs.List(ctx, "")
	parts := []Part{}
	for _, r := range runs {
		own := p.owns(r)
		if !p.isIn(r) {
			continue
		}
		part := Part{Run: r.ID, Label: r.book.Label, Chat: r.Chat, Status: r.Status}
		for _, e := range r.Records {
			if e.Forgotten == nil && (own || p.names(e.Record)) {
				part.Records = append(part.Records, json.RawMessage(e.Record))
			}
		}
		for _, a := range r.Approvals {
			if own || a.By == p.Person {
				part.Approved = append(part.Approved, a)
			}
		}
		if own || r.EndedBy == p.Person {
			part.Reason = r.Reason
		}
		parts = append(parts, part)
	}
	return parts, err
}

// Forget removes a person from all runs, and the runbooks that were minted in their chats, and
// returns how many runs were changed. Records that name them keep their hashes.
func (rs Runs) Forget(ctx context.Context, p Involvement) (changed int, err error) {
	runs, err := rs.List(ctx, "")
	if err != nil {
		return 0, err
	}
	for _, r := range runs {
		if !p.isIn(r) {
			continue
		}
		changed++
		if p.hasMinted(r) { // without its text, nothing can be verified
			err = rs.remove(ctx, runPrefix+r.ID)
		} else {
			_, err = rs.Apply(ctx, r.ID, func(r Run, env Env) (Run, error) { return forget(r, p, env), nil })
		}
		if err != nil {
			return changed, fmt.Errorf("forget %s in run %s: %w", p.Person, r.ID, err)
		}
	}
	for _, chat := range p.Chats {
		minted, err := rs.Records.ListRecords(ctx, chatPrefix(chat))
		for key := range minted {
			if err == nil {
				err = rs.remove(ctx, key)
			}
		}
		if err != nil {
			return changed, err
		}
	}
	return changed, nil
}

// remove removes a record, whatever its value is.
func (rs Runs) remove(ctx context.Context, key string) error {
	for {
		value, err := rs.Records.LoadRecord(ctx, key)
		if err != nil || value == "" {
			return err
		}
		if swapped, err := rs.Records.SwapRecord(ctx, key, value, ""); swapped || err != nil {
			return err
		}
	}
}

// forget removes a person from a run. A run of their own chat ends.
func forget(r Run, p Involvement, env Env) Run {
	own := p.owns(r)
	r.Records = slices.Clone(r.Records)
	for i, e := range r.Records {
		if record, err := e.Parse(); err == nil && (own || p.names(e.Record)) {
			r.Records[i] = Entry{ProofHash: e.ProofHash, Forgotten: &Forgotten{record.Step, record.Previous}}
		}
	}
	r.Approvals = slices.DeleteFunc(slices.Clone(r.Approvals), func(a Approved) bool { return own || a.By == p.Person })
	if own {
		r.endRun(Failed, "", "", env)
		r.Chat, r.Rating, r.Driver = "", nil, nil
	}
	if own || r.EndedBy == p.Person {
		r.EndedBy, r.Reason = "", ""
	}
	if own || r.By == p.Person {
		r.By = ""
	}
	return r
}
