package runbook

import (
	"fmt"
	"time"
)

// Rating is what an agent thinks of a run.
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

// Attest rates a run. A failure ends an open run; a success is not believed while steps are
// unproved. RatedAt is set here.
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
	if step, ok := r.unproved(); ok && rating.Outcome == "success" {
		rating.Message = fmt.Sprintf("Not accepted: step %d, %s, is not proved.", step.Index, step.Label)
		return r, Attested{Results: []Rating{rating}, TotalFailed: 1}, nil
	}
	r.Rating = &rating
	if rating.Outcome == "failure" {
		r.end(Failed, ByAgent, rating.Message, env)
	} else {
		r.end(Complete, "", "", env) // the steps that are left ask for no proof
	}
	return r, Attested{Results: []Rating{rating}, TotalRated: 1}, nil
}

// unproved returns the first step whose proof is missing.
func (r Run) unproved() (Step, bool) {
	for _, s := range r.book.Steps[r.Step-1:] {
		if s.asksProof() {
			return s, true
		}
	}
	return Step{}, false
}
