package outbox

import (
	"nanobot/channels"
	"nanobot/gateway/press"
)

// AddChoices puts the texts that an agent or the operator offers under a message as buttons.
// Sequence must be set. Another attempt at the same message makes the same buttons.
func (m *Message) AddChoices(labels []string) {
	offer := press.Offer{Inbound: m.Inbound, Sequence: m.Sequence, Text: m.Text, Labels: labels}
	for i, data := range offer.Say() {
		m.Buttons = append(m.Buttons, channels.Button{Label: labels[i], Data: data})
	}
}
