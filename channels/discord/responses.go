package discord

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/bwmarrin/discordgo"

	"nanobot/channels"
)

const (
	// commandPrefix distinguishes the ID of a command from the ID of a message.
	commandPrefix = "slash-"
	// maxResponses bounds the remembered interactions.
	maxResponses = 256
	// tokenLifetime is how long an interaction can be answered, a little below Discord's 15
	// minutes.
	tokenLifetime = 14 * time.Minute
)

// interactionResponse is the bot's response to one use of a command or a button.
type interactionResponse struct {
	to         *discordgo.Interaction // with its ID and token only
	asker      snowflake
	receivedAt time.Time
	command    bool
	// private says that Discord shows the response to the asker only. The first answer becomes its
	// content.
	private bool

	acked chan struct{} // closed when Discord has accepted the response or refused it
	// These are valid when acked is closed.
	acknowledged bool
	message      snowflake // of a command: the message that shows it

	mu        sync.Mutex
	content   string          // the nonce of the answer that is the content of the response; "" if there is none
	uncertain map[string]bool // nonces of answers that Discord may have created
}

// await waits until Discord has accepted the response, and reports whether it did.
func (r *interactionResponse) await(ctx context.Context) bool {
	select {
	case <-r.acked:
		return r.acknowledged
	case <-ctx.Done():
		return false
	}
}

// claimContent reports whether an answer is the content of the response. Only the first answer is,
// also when it is sent repeatedly.
func (r *interactionResponse) claimContent(nonce string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.private && r.content == "" {
		r.content = nonce
	}
	return r.content == nonce
}

// awaitsContent reports whether Discord still shows that the bot is thinking.
func (r *interactionResponse) awaitsContent() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.private && r.content == ""
}

// loseContent says that the message of the response no longer exists.
func (r *interactionResponse) loseContent() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.content = "none"
}

func (r *interactionResponse) markUncertain(nonce string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.uncertain == nil {
		r.uncertain = map[string]bool{}
	}
	r.uncertain[nonce] = true
}

func (r *interactionResponse) isUncertain(nonce string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.uncertain[nonce]
}

// responses remembers the latest interactions, so that an answer can reply to the message that
// shows a command, or can be shown to the asker only.
type responses struct {
	mu            sync.Mutex
	byInteraction map[snowflake]*interactionResponse
	order         []snowflake
}

func newResponses() *responses {
	return &responses{byInteraction: map[snowflake]*interactionResponse{}}
}

func (s *responses) add(id snowflake, r *interactionResponse) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.order) == maxResponses {
		delete(s.byInteraction, s.order[0])
		s.order = append(s.order[:0], s.order[1:]...)
	}
	s.byInteraction[id] = r
	s.order = append(s.order, id)
}

// find returns the response to the interaction with this ID; nil if the ID is that of a message, or
// the interaction is no longer remembered.
func (s *responses) find(id string) *interactionResponse {
	number := interactionNumber(id)
	if number == 0 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.byInteraction[number]
}

// interactionNumber returns Discord's ID of an interaction; 0 if the ID is that of a message.
func interactionNumber(id string) snowflake {
	number, ok := strings.CutPrefix(id, commandPrefix)
	if !ok {
		number, ok = channels.ParsePressID(id)
	}
	if !ok {
		return 0
	}
	return parseSnowflake(number)
}
