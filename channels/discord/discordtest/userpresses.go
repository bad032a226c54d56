package discordtest

import (
	"errors"
	"fmt"
	"slices"
)

// UserPresses makes a user press a button, or choose values of a select menu, under a message of
// the bot.
func (s *Server) UserPresses(user, message, customID string, values ...string) (made Interaction, err error) {
	s.Update(func() {
		ch, m := s.findMessage(message)
		if m == nil {
			err = fmt.Errorf("press: no message %s is shown", message)
			return
		}
		if m.VisibleTo != "" && m.VisibleTo != user {
			err = fmt.Errorf("press: %s does not see the message %s", user, message)
			return
		}
		i := slices.IndexFunc(m.Buttons(), func(c Component) bool { return c.CustomID == customID && customID != "" })
		if i < 0 {
			err = fmt.Errorf("press: message %s has no %q", message, customID)
			return
		}
		c := m.Buttons()[i]
		if err = c.checkValues(values); err != nil {
			return
		}
		data := map[string]any{"custom_id": customID, "component_type": c.Type}
		if c.Type != Button {
			data["values"] = values
		}
		made = s.createInteraction(ch, user, data, &interaction{kind: componentPress, message: m, Interaction: Interaction{CustomID: customID}})
	})
	return made, err
}

// checkValues returns an error if a component does not accept these values.
func (c Component) checkValues(values []string) error {
	least, most := c.valueBounds()
	switch {
	case c.Disabled:
		return fmt.Errorf("press: %q is disabled", c.CustomID)
	case c.Type == Button && len(values) > 0:
		return errors.New("press: a button takes no values")
	case c.Type != Button && (len(values) < least || len(values) > most):
		return fmt.Errorf("press: %q takes %d to %d values", c.CustomID, least, most)
	}
	for _, v := range values {
		if c.Type == StringSelect && !slices.ContainsFunc(c.Options, func(o Option) bool { return o.Value == v }) {
			return fmt.Errorf("press: %q has no option %q", c.CustomID, v)
		}
	}
	return nil
}

func (s *Server) findMessage(message string) (*channel, *Message) {
	for _, ch := range s.channels {
		if m := ch.find(message); m != nil {
			return ch, m
		}
	}
	return nil, nil
}
