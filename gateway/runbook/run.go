package runbook

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
)

// Genesis is the hash that precedes the first record of a run: the SHA-256 of "genesis".
const Genesis = "aeebad4a796fcc2e15dc4c6061b45ed9b373f26adfc798ca7d2d8cc58182718e"

const (
	runVersion = 1
	// nonceLifetime is how long a nonce is valid.
	nonceLifetime = time.Hour
	// maxFailures is the number of failures after which a person may skip a step.
	maxFailures = 3
)

// Status is the state of a run.
type Status string

// The states of a run. All but Waiting are final.
const (
	Waiting  Status = "waiting" // waits for the proof of a step
	Complete Status = "complete"
	Failed   Status = "failed"   // aborted
	Declined Status = "declined" // by a person
)

// Authors of a proof other than people, who are named by channel:id.
const (
	ByAgent   = "agent"
	ByGateway = "gateway"
)

// Run is one execution of a runbook. It is a value: a transition returns a changed copy. Its JSON
// has the complete state, so a stored and reloaded run gives the same answers.
type Run struct {
	Version int       `json:"version"`
	ID      string    `json:"run"`
	Source  Source    `json:"source"`
	Text    string    `json:"text"`           // of the runbook at the start of the run
	Hash    string    `json:"hash"`           // of that text
	By      string    `json:"by"`             // agent, gateway or channel:id
	Chat    string    `json:"chat,omitempty"` // the chat of the run, whose people prove user_input
	Began   time.Time `json:"began"`
	Status  Status    `json:"status"`
	Reason  string    `json:"reason,omitempty"` // why it ended, unless complete
	EndedBy string    `json:"ended_by,omitempty"`
	Ended   time.Time `json:"ended,omitzero"`

	Step      int        `json:"step"` // the current step, or one more than there are steps
	Issued    Issued     `json:"issued,omitzero"`
	Approvals []Approved `json:"approvals,omitempty"` // of the current step
	Accepted  []Accepted `json:"accepted,omitempty"`
	Records   []Entry    `json:"records,omitempty"`
	Rating    *Rating    `json:"rating,omitempty"`
	// Driver is for the package that drives the run, such as the message with its buttons. The
	// engine ignores it.
	Driver json.RawMessage `json:"driver,omitempty"`

	book Runbook // parsed from Text
}

// Issued is the challenge that was issued for the current step.
type Issued struct {
	Nonce    string    `json:"nonce"`
	Expires  time.Time `json:"expires"`
	Failures int       `json:"failures,omitempty"`
}

// Approved is the approval of one person.
type Approved struct {
	By           string `json:"by"`
	Name         string `json:"name,omitempty"` // of the person, for display
	Confirmation string `json:"confirmation"`
	At           string `json:"timestamp"`
}

// Accepted is a finished step, stored so that its solution can be repeated.
type Accepted struct {
	Step      int    `json:"step"`
	Nonce     string `json:"nonce"`
	Previous  string `json:"previous"`             // the hash in the solution
	ProofHash string `json:"proof_hash,omitempty"` // of its record, if any
}

// Env is the external input of a transition: the time, and randomness for nonces.
type Env struct {
	Now    time.Time
	Random io.Reader // nil means crypto/rand
}

// now returns the time in the form in which it is stored.
func (e Env) now() time.Time { return e.Now.UTC().Round(0) }

// randomHex returns n random bytes in hex.
func (e Env) randomHex(n int) string {
	source := e.Random
	if source == nil {
		source = rand.Reader
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(source, b); err != nil {
		panic("read random bytes: " + err.Error()) // crypto/rand never fails
	}
	return hex.EncodeToString(b)
}

// Encode returns the run in the form in which it is stored.
func (r Run) Encode() string { return string(mustEncode(r)) }

// DecodeRun parses a stored run.
func DecodeRun(text string) (Run, error) {
	var r Run
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return Run{}, fmt.Errorf("read run: %w", err)
	}
	if r.Version != runVersion {
		return Run{}, fmt.Errorf("read run %s: version %d is unknown", r.ID, r.Version)
	}
	book, mistakes, _ := Parse(r.Text)
	beyond := func(a Accepted) bool { return a.Step < 1 || a.Step > len(book.Steps) }
	if len(mistakes) > 0 || slices.ContainsFunc(r.Accepted, beyond) || book.Hash != r.Hash || r.Step < 1 ||
		r.Step > len(book.Steps)+1 {
		return Run{}, fmt.Errorf("read run %s: %w", r.ID, errDamaged)
	}
	r.book = book
	return r, nil
}

var errDamaged = errors.New("its text is damaged")

// Runbook returns the runbook with its text at the start of the run.
func (r Run) Runbook() Runbook { return r.book }

// CurrentStep returns the current step, and false if all steps are done.
func (r Run) CurrentStep() (Step, bool) {
	if r.Step > len(r.book.Steps) {
		return Step{}, false
	}
	return r.book.Steps[r.Step-1], true
}

// LastHash returns the hash of the last record.
func (r Run) LastHash() string { return lastHash(r.Records) }

func lastHash(records []Entry) string {
	if len(records) == 0 {
		return Genesis
	}
	return records[len(records)-1].ProofHash
}

// HasNonce reports whether the run has issued a nonce, for the current step or a finished one.
func (r Run) HasNonce(nonce string) bool {
	return nonce != "" && (r.Issued.Nonce == nonce ||
		slices.ContainsFunc(r.Accepted, func(a Accepted) bool { return a.Nonce == nonce }))
}

// issueNonce issues a new challenge for the current step.
func (r *Run) issueNonce(env Env) {
	r.Issued = Issued{Nonce: env.randomHex(16), Expires: env.now().Add(nonceLifetime)}
}

// refreshNonce replaces an expired challenge and resets its failures.
func (r *Run) refreshNonce(env Env) {
	if _, ok := r.CurrentStep(); ok && !env.Now.Before(r.Issued.Expires) {
		r.issueNonce(env)
	}
}

// enterStep makes a step the current one. A run is complete after its last step, or on it if that
// needs no proof.
func (r *Run) enterStep(step int, env Env) {
	r.Step, r.Issued, r.Approvals = step, Issued{}, nil
	current, ok := r.CurrentStep()
	if ok {
		r.issueNonce(env)
	}
	if !ok || step == len(r.book.Steps) && !current.needsProof() {
		r.endRun(Complete, "", "", env)
	}
}

func (r *Run) endRun(status Status, by, reason string, env Env) {
	if r.Status == Waiting {
		r.Status, r.EndedBy, r.Reason, r.Ended = status, by, reason, env.now()
	}
}

// acceptStep marks the current step as finished and enters the next one. proofHash is "" if nothing
// was recorded.
func (r *Run) acceptStep(previous, proofHash string, env Env) {
	r.Accepted = append(slices.Clip(r.Accepted), Accepted{r.Step, r.Issued.Nonce, previous, proofHash})
	r.enterStep(r.Step+1, env)
}
