package blocks

import (
	"fmt"

	"nanobot/internal/words"
	"nanobot/terminal"
)

// refuseProtected refuses to change a protected file without asking, and tells the person.
func (x *turn) refuseProtected(c Command) (Result, error) {
	if err := x.sendSilent(terminal.Frame{Text: x.text(words.BlocksNeverChanged, visiblePath(c.Path))}); err != nil {
		return Result{}, err
	}
	return newResult(c.Type, false, words.BlocksProtected, shortSummary(c.Path)), x.t.Emit(terminal.Frame{
		Kind: terminal.Log, Level: "info", Audit: true,
		Text: fmt.Sprintf("approval: %s %s: No by rule (the file is protected)", c.Type, terminal.AuditQuote(c.Path)),
	})
}
