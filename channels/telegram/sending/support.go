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

// support records what the server has refused in this run.
type support struct {
	log     *zap.Logger
	refused sync.Map // keys: names of methods that it does not know, and IDs of chats that allow no reactions
}

// allows reports whether the server may know a method, or a chat may allow reactions.
func (s *support) allows(methodOrChat any) bool {
	_, refused := s.refused.Load(methodOrChat)
	return !refused
}

// refuseReactions records that a chat allows no reactions.
func (s *support) refuseReactions(chat int64) { s.refused.Store(chat, true) }

// recordUnknown records that the server does not know a method, if that is what the error says, and
// reports whether it is.
func (s *support) recordUnknown(method string, err error) bool {
	if !botapi.IsMethodUnknown(err) {
		return false
	}
	if _, known := s.refused.LoadOrStore(method, true); !known {
		s.log.Info("the Bot API server does not know a method, which is not used again", zap.String("method", method),
			zap.Error(err))
	}
	return true
}
