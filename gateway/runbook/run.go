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

// Genesis is the hash that the first record of a run follows: the sha256 of "genesis".
const Genesis = "aeebad4a796fcc2e15dc4c6061b45ed9b373f26adfc798ca7d2d8cc58182718e"

const (
	runVersion = 1
	// nonceLife is how long a nonce is good.
	nonceLife = time.Hour
	// maxFailures is the number of failures from which a person may skip a step.
	maxFailures = 3
)

// Status is the state of a run.
type Status string

// The states of a run. All but Waiting are final.
const (
	Waiting  Status = "waiting" // a step is to be proved
	Complete Status = "complete"
	Failed   Status = "failed"   // aborted
	Declined Status = "declined" // by a person
)

// Who proved a step, if it was no person. A person is named by channel:id.
const (
	ByAgent   = "agent"
	ByGateway = "gateway"
)

// Run is one execution of a runbook. It is a value: a transition returns a changed copy. All of its
// state is in its JSON, so a run that was stored and loaded gives the same answers.
type Run struct {
	Version int       `json:"version"`
	ID      string    `json:"run"`
	Source  Source    `json:"source"`
	Text    string    `json:"text"`           // of the runbook when the run began
	Hash    string    `json:"hash"`           // of that text
	By      string    `json:"by"`             // who began it: agent, gateway or channel:id
	Chat    string    `json:"chat,omitempty"` // the chat that it belongs to; its people prove user_input
	Began   time.Time `json:"began"`
	Status  Status    `json:"status"`
	Reason  string    `json:"reason,omitempty"` // why it ended, unless it is complete
	EndedBy string    `json:"ended_by,omitempty"`
	Ended   time.Time `json:"ended,omitzero"`

	Step      int        `json:"step"` // the present one, or one more than there are
	Issued    Issued     `json:"issued,omitzero"`
	Approvals []Approved `json:"approvals,omitempty"` // of the present step
	Accepted  []Accepted `json:"accepted,omitempty"`
	Records   []Entry    `json:"records,omitempty"`
	Rating    *Rating    `json:"rating,omitempty"`
	// Driver is for who executes the run, such as the message with its buttons; the engine ignores
	// it.
	Driver json.RawMessage `json:"driver,omitempty"`

	book Runbook // read from Text
}

// Issued is the challenge of the present step that was handed out.
type Issued struct {
	Nonce    string    `json:"nonce"`
	Expires  time.Time `json:"expires"`
	Failures int       `json:"failures,omitempty"`
}

// Approved is the approval of one person.
type Approved struct {
	By           string `json:"by"`
	Confirmation string `json:"confirmation"`
	At           string `json:"timestamp"`
}

// Accepted is a step that is done, so that the same solution can be sent again.
type Accepted struct {
	Step      int    `json:"step"`
	Nonce     string `json:"nonce"`
	Previous  string `json:"previous"`             // the hash that the solution carried
	ProofHash string `json:"proof_hash,omitempty"` // of its record, if it has one
}

// Env is what a transition needs from outside: the time, and chance for nonces.
type Env struct {
	Now    time.Time
	Random io.Reader // nil is crypto/rand
}

// now returns the time as it is stored.
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

// Encode returns the run as the text that is stored.
func (r Run) Encode() string { return string(marshal(r)) }

// DecodeRun reads a run that was stored.
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
	if len(mistakes) > 0 || slices.ContainsFunc(r.Accepted, beyond) || book.Hash != r.Hash || r.Step < 1 || r.Step > len(book.Steps)+1 {
		return Run{}, fmt.Errorf("read run %s: %w", r.ID, errDamaged)
	}
	r.book = book
	return r, nil
}

var errDamaged = errors.New("its text is damaged")

// Runbook returns the runbook with the text that the run began with.
func (r Run) Runbook() Runbook { return r.book }

// Present returns the present step, and false if there is none, because all are done.
func (r Run) Present() (Step, bool) {
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

// HasNonce reports whether the run has issued a nonce: that of the present step or of one that is
// done.
func (r Run) HasNonce(nonce string) bool {
	return nonce != "" && (r.Issued.Nonce == nonce || slices.ContainsFunc(r.Accepted, func(a Accepted) bool { return a.Nonce == nonce }))
}

// issue makes a new challenge for the present step.
func (r *Run) issue(env Env) {
	r.Issued = Issued{Nonce: env.randomHex(16), Expires: env.now().Add(nonceLife)}
}

// refresh replaces a challenge that has expired. Its failures are forgotten.
func (r *Run) refresh(env Env) {
	if _, ok := r.Present(); ok && !env.Now.Before(r.Issued.Expires) {
		r.issue(env)
	}
}

// enter makes a step the present one. A run is complete behind its last step, and on it if it asks
// for no proof.
func (r *Run) enter(step int, env Env) {
	r.Step, r.Issued, r.Approvals = step, Issued{}, nil
	present, ok := r.Present()
	if ok {
		r.issue(env)
	}
	if !ok || step == len(r.book.Steps) && !present.asksProof() {
		r.end(Complete, "", "", env)
	}
}

func (r *Run) end(status Status, by, reason string, env Env) {
	if r.Status == Waiting {
		r.Status, r.EndedBy, r.Reason, r.Ended = status, by, reason, env.now()
	}
}

// accept marks the present step as done and enters the next one. The proof hash is empty if nothing
// was recorded.
func (r *Run) accept(previous, proofHash string, env Env) {
	r.Accepted = append(slices.Clip(r.Accepted), Accepted{r.Step, r.Issued.Nonce, previous, proofHash})
	r.enter(r.Step+1, env)
}
