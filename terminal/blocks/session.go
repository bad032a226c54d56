package blocks

import (
	"slices"
	"time"
)

// session is the state of one task. The folder of the chat has it as JSON.
type session struct {
	ID        string    `json:"sessionId"`
	Task      string    `json:"task"`
	Sequence  int       `json:"sequenceNumber"` // of the newest outbox; 0: there is none yet
	Complete  bool      `json:"isComplete"`
	CreatedAt time.Time `json:"createdAt"`
	UpdatedAt time.Time `json:"updatedAt"`
	// Results are those of the response that is being executed, or else of the last one.
	Results []Result `json:"lastResults"`
	// Reads are the files that the next outbox shows.
	Reads []string `json:"readFileRequests"`

	// Run identifies the turn that works on the session, so that a turn which is run again after a
	// crash finds it.
	Run string `json:"run"`
	// Workspace is the folder in which the session works. An agent with another one neither resumes
	// nor undoes it.
	Workspace string `json:"workspace"`
	// Response is the file in the inbox that is being executed; "": a response is awaited.
	Response string `json:"response,omitempty"`
	// SavedAs is the name that a person has given the response; "": none.
	SavedAs string `json:"savedAs,omitempty"`
	// Begun says that the command after the last result has begun.
	Begun bool `json:"begun,omitempty"`
	// Summary is what DONE said.
	Summary string `json:"summary,omitempty"`
	// Told says that the chat was told that the session is complete.
	Told bool `json:"told,omitempty"`
	// Approved are the types of commands that need no approval any more.
	Approved []CommandType `json:"approved,omitempty"`
	// Said counts the messages that the chat has got.
	Said int `json:"said,omitempty"`
	// Changes are the files that the session has touched.
	Changes []change `json:"changes,omitempty"`
}

func newSession(id, task, run string) *session {
	now := time.Now().UTC()
	return &session{ID: id, Task: task, Run: run, CreatedAt: now, UpdatedAt: now, Results: []Result{}, Reads: []string{}}
}

// worksIn reports whether the session works in a folder. One that does not say where works
// anywhere.
func (s *session) worksIn(dir string) bool { return s.Workspace == "" || s.Workspace == dir }

// begin makes the session execute a response.
func (s *session) begin(r response) {
	s.Response, s.SavedAs = r.name, r.savedAs
	s.Results, s.Reads, s.Begun = []Result{}, []string{}, false
}

// add adds the result of a command.
func (s *session) add(r Result) {
	s.Begun = false
	s.Results = append(s.Results, r)
}

// request queues a file for the next outbox.
func (s *session) request(path string) {
	if !slices.Contains(s.Reads, path) {
		s.Reads = append(s.Reads, path)
	}
}
