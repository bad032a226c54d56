package outbox

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"nanobot/channels"
)

// ChoicePress is the prefix of the data of buttons that an agent has put under a message. The
// numbers of the inbound message and of the agent's message, a hash of that message, and the number
// of the button follow.
const ChoicePress = "say:"

// AddChoices puts the texts that an agent offers under a message as buttons. Sequence must be set.
// Another attempt at the same message makes the same buttons.
func (m *Message) AddChoices(labels []string) {
	if len(labels) == 0 {
		return
	}
	sum := sha256.Sum256([]byte(m.Text + "\x00" + strings.Join(labels, "\x00")))
	for i, label := range labels {
		m.Buttons = append(m.Buttons, channels.Button{
			Label: label, Data: fmt.Sprintf("%s%d:%d:%s:%d", ChoicePress, m.Inbound, m.Sequence, hex.EncodeToString(sum[:6]), i+1),
		})
	}
}

// Choice is a pressed button of AddChoices.
type Choice struct {
	Inbound int64  // the inbound message that the agent has answered
	Message string // names the agent's message; all its buttons have the same
}

// ParseChoice parses the data of a pressed button. It reports false for other buttons.
func ParseChoice(press string) (Choice, bool) {
	data, ok := strings.CutPrefix(press, ChoicePress)
	if !ok {
		return Choice{}, false
	}
	inbound, _, _ := strings.Cut(data, ":")
	id, _ := strconv.ParseInt(inbound, 10, 64)                                       // 0 is the ID of no message
	return Choice{Inbound: id, Message: press[:strings.LastIndex(press, ":")]}, true // the prefix has a colon
}
