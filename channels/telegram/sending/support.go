package sending

import (
	"errors"
	"net/http"
	"sync"
	"time"

	"go.uber.org/zap"

	"nanobot/channels/telegram/botapi"
)

// The methods of the Bot API that an older server does not know.
const (
	draftMethod    = "sendMessageDraft"
	reactionMethod = "setMessageReaction"
	richMethod     = "sendRichMessage"
)

const (
	// maxFailures is how often in a row a server may fail to carry out a new method, which then is
	// not used for failurePause.
	maxFailures, failurePause = 2, time.Hour
)

// support records what the server has refused in this run.
type support struct {
	log     *zap.Logger
	refused sync.Map // keys: names of methods that it does not know, and IDs of chats that allow no reactions

	mu       sync.Mutex
	failures map[string]failures // by name of the method
}

// failures are the calls of a method since its last success that the server has failed to carry
// out.
type failures struct {
	count int
	last  time.Time
}

// allows reports whether the server may know a method, or a chat may allow reactions.
func (s *support) allows(methodOrChat any) bool {
	_, refused := s.refused.Load(methodOrChat)
	return !refused
}

// mayUse reports whether the server may know a new method, and did not fail to carry it out just
// now.
func (s *support) mayUse(method string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	failed := s.failures[method]
	return (failed.count < maxFailures || time.Since(failed.last) > failurePause) && s.allows(method)
}

// countResult counts the failures of a new method; "" is any other. A server that is only half up
// to date can fail instead of saying that it does not know the method.
func (s *support) countResult(method string, err error) {
	var apiErr *botapi.Error
	isFailure := errors.As(err, &apiErr) && apiErr.Code >= http.StatusInternalServerError
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err == nil && method != "":
		delete(s.failures, method)
	case isFailure && method == "": // the server does not fail because of a new method
		clear(s.failures)
	case isFailure:
		count := s.failures[method].count + 1
		s.failures[method] = failures{count, time.Now()}
		if count == maxFailures {
			s.log.Warn("the Bot API server fails to carry out a method, which is not used for a while",
				zap.String("method", method), zap.Error(err))
		}
	}
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
