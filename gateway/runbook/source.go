package runbook

import (
	"crypto/sha256"
	"fmt"
	"strconv"
	"strings"

	"nanobot/internal/lazyregexp"
)

// Source identifies the origin of a runbook. The URI of a step depends only on the source and the
// step's position, not on the text.
type Source string

// WorkspaceSource returns the source of a runbook in the workspace's folder, by its file name.
func WorkspaceSource(name string) Source { return Source("workspace/" + name) }

// SharedSource returns the source of a minted runbook that all chats see, by its label.
func SharedSource(label string) Source { return Source("minted/" + label) }

// MintedSource returns the source of the minted runbook of a chat, by its label. The chat is "" for
// runbooks that were minted outside of chats.
func MintedSource(chat, label string) Source { return Source(fmt.Sprintf("owned/%q/%s", chat, label)) }

// IsWorkspace reports whether the runbook is a file of the workspace's folder.
func (s Source) IsWorkspace() bool { return strings.HasPrefix(string(s), string(WorkspaceSource(""))) }

const uriPrefix = "kairos://mem/"

var uriForm = lazyregexp.New(`^kairos://mem/[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

// IsURI reports whether a text has the form of a step's URI.
func IsURI(text string) bool { return uriForm().MatchString(text) }

// StepUUID returns the UUID of a step: version 8 of RFC 9562, derived from a hash.
func (s Source) StepUUID(index int) string {
	h := sha256.Sum256([]byte("nanobot runbook step\x00" + string(s) + "\x00" + strconv.Itoa(index)))
	h[6] = h[6]&0x0f | 0x80
	h[8] = h[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", h[:4], h[4:6], h[6:8], h[8:10], h[10:16])
}

// StepURI returns the URI of a step.
func (s Source) StepURI(index int) string { return uriPrefix + s.StepUUID(index) }

// StepIndex returns the step, of steps in total, that a URI names, or 0.
func (s Source) StepIndex(uri string, steps int) int {
	for i := 1; i <= steps; i++ {
		if strings.EqualFold(s.StepURI(i), uri) {
			return i
		}
	}
	return 0
}
