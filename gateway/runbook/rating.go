package runbook

import (
	"fmt"
	"time"
)

// Rating is an agent's rating of a run.
type Rating struct {
	URI          string  `json:"uri"`
	Outcome      string  `json:"outcome"` // success or failure
	QualityBonus float64 `json:"quality_bonus"`
	Message      string  `json:"message"`
	RatedAt      string  `json:"rated_at"`
}

// Attested is the result of the tool kairos_attest.
type Attested struct {
	Results     []Rating `json:"results"`
	TotalRated  int      `json:"total_rated"`
	TotalFailed int      `json:"total_failed"`
}

// Attest rates a run. A failure ends an open run; a success is refused while steps are unproved.
// RatedAt is set here.
func Attest(r Run, rating Rating, env Env) (Run, Attested, error) {
	switch {
	case r.Source.StepIndex(rating.URI, len(r.book.Steps)) == 0:
		return r, Attested{}, ErrUnknownURI
	case rating.Outcome != "success" && rating.Outcome != "failure":
		return r, Attested{}, errBadOutcome
	case rating.Message == "":
		return r, Attested{}, errNoMessage
	}
	rating.RatedAt = env.Now.UTC().Format(time.RFC3339)
	if step, ok := r.firstUnproved(); ok && rating.Outcome == "success" {
		rating.Message = fmt.Sprintf("Not accepted: step %d, %s, is not proved.", step.Index, step.Label)
		return r, Attested{Results: []Rating{rating}, TotalFailed: 1}, nil
	}
	r.Rating = &rating
	if rating.Outcome == "failure" {
		r.endRun(Failed, ByAgent, rating.Message, env)
	} else {
		r.endRun(Complete, "", "", env) // the remaining steps need no proof
	}
	return r, Attested{Results: []Rating{rating}, TotalRated: 1}, nil
}

// firstUnproved returns the first step whose proof is missing.
func (r Run) firstUnproved() (Step, bool) {
	for _, s := range r.book.Steps[r.Step-1:] {
		if s.needsProof() {
			return s, true
		}
	}
	return Step{}, false
}
