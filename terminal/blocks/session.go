package blocks

import (
	"slices"
	"time"

	"nanobot/terminal/steps"
)

// session is the state of one task, stored as JSON in the chat's folder.
type session struct {
	ID        string    `json:"sessionId"`
	Task      string    `json:"task"`
	Sequence  int       `json:"sequenceNumber"` // of the newest outbox; 0 before the first
	Complete  bool      `json:"isComplete"`
	CreatedAt time.Time `json:"createdAt"`
	UpdatedAt time.Time `json:"updatedAt"`
	// Results are those of the response that is being executed, or of the last one.
	Results []Result `json:"lastResults"`
	// RequestedFiles are the files that the next outbox shows.
	RequestedFiles []string `json:"readFileRequests"`

	// Earlier has a line for each result of the rounds before the last one.
	Earlier []string `json:"earlierRounds,omitempty"`

	// Run identifies the turn that works on the session, so that a turn repeated after a crash
	// finds it.
	Run string `json:"run"`
	// Workspace is the folder of the session. An agent with another workspace neither resumes nor
	// undoes it.
	Workspace string `json:"workspace"`
	// Response is the file in the inbox that is being executed; "" while a response is awaited.
	Response string `json:"response,omitempty"`
	// SavedAs is the name that a person has given the response file; "" if none.
	SavedAs string `json:"savedAs,omitempty"`
	// Started means that the command after the last result has started.
	Started bool `json:"begun,omitempty"`
	// Last is how the last command ended.
	Last steps.State `json:"lastState,omitempty"`
	// Summary is the text of DONE.
	Summary string `json:"summary,omitempty"`
	// Reported means that the chat knows that the session is complete.
	Reported bool `json:"told,omitempty"`
	// Approved are the command types that no longer need approval.
	Approved []CommandType `json:"approved,omitempty"`
	// MessagesSent counts the messages that were sent to the chat.
	MessagesSent int `json:"said,omitempty"`
	// Changes are the files that the session has touched.
	Changes []change `json:"changes,omitempty"`
}

func newSession(id, task, run string) *session {
	now := time.Now().UTC()
	return &session{
		ID: id, Task: task, Run: run, CreatedAt: now, UpdatedAt: now, Results: []Result{},
		RequestedFiles: []string{},
	}
}

// worksIn reports whether the session belongs to a workspace. A session without a workspace belongs
// to any.
func (s *session) worksIn(dir string) bool { return s.Workspace == "" || s.Workspace == dir }

// startResponse starts the execution of a response.
func (s *session) startResponse(r response) {
	s.summarizeRound()
	s.Response, s.SavedAs = r.name, r.savedAs
	s.Results, s.RequestedFiles, s.Started = []Result{}, []string{}, false
}

// addResult adds the result of a command.
func (s *session) addResult(r Result) {
	s.Started = false
	s.Results = append(s.Results, r)
	if r.Type != Message && r.Type != Done {
		s.Last = r.state()
	}
}

// requestFile adds a file to the next outbox.
func (s *session) requestFile(path string) {
	if !slices.Contains(s.RequestedFiles, path) {
		s.RequestedFiles = append(s.RequestedFiles, path)
	}
}
