package turn

import (
	"nanobot/gateway/store"
	"nanobot/internal/words"
	"nanobot/terminal"
)

// restartText tells a person that a turn was cut off, and how it is continued or run again.
func (s *Stage) restartText(w words.Words, inbound store.Inbound) string {
	_, agent := s.settings.Load().agentFor(inbound)
	if r, ok := agent.Runner.(interface{ Controls() []terminal.Command }); ok {
		for _, c := range r.Controls() {
			if c.Resumes {
				return w.Text(words.RestartedResumable, "/"+c.Name)
			}
		}
	}
	return w.Text(words.Restarted)
}
