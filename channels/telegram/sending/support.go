package sending

import (
	"sync"

	"go.uber.org/zap"

	"nanobot/channels/telegram/botapi"
)

// The methods of the Bot API that an older server does not know.
const (
	draftMethod    = "sendMessageDraft"
	reactionMethod = "setMessageReaction"
	richMethod     = "sendRichMessage"
)

// support records what the server has refused in this run: methods that it does not know, and chats
// that allow no reactions.
type support struct {
	log *zap.Logger

	mu          sync.Mutex
	unknown     map[string]bool // methods
	noReactions map[int64]bool  // chats
}

// knows reports whether the server may know a method.
func (s *support) knows(method string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.unknown[method]
}

// reactsIn reports whether a chat may allow reactions.
func (s *support) reactsIn(chat int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.noReactions[chat]
}

// refuseReactions records that a chat allows no reactions.
func (s *support) refuseReactions(chat int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.noReactions == nil {
		s.noReactions = map[int64]bool{}
	}
	s.noReactions[chat] = true
}

// recordUnknown records that the server does not know a method, if that is what the error says, and
// reports whether it is.
func (s *support) recordUnknown(method string, err error) bool {
	if !botapi.IsMethodUnknown(err) {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.unknown == nil {
		s.unknown = map[string]bool{}
	}
	if !s.unknown[method] {
		s.unknown[method] = true
		s.log.Info("the Bot API server does not know a method, which is not used again", zap.String("method", method), zap.Error(err))
	}
	return true
}
