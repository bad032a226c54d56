package discordtest

import (
	"errors"
	"fmt"
	"slices"
)

// UserPresses has a user press a button, or choose values of a select menu, of a message that the bot
// shows.
func (s *Server) UserPresses(user, message, customID string, values ...string) (made Interaction, err error) {
	s.update(func() {
		ch, m := s.findAnywhere(message)
		if m == nil {
			err = fmt.Errorf("press: no message %s is shown", message)
			return
		}
		i := slices.IndexFunc(m.Buttons(), func(c Component) bool { return c.CustomID == customID && customID != "" })
		if i < 0 {
			err = fmt.Errorf("press: message %s has no %q", message, customID)
			return
		}
		c := m.Buttons()[i]
		if err = c.takes(values); err != nil {
			return
		}
		data := map[string]any{"custom_id": customID, "component_type": c.Type}
		if c.Type != Button {
			data["values"] = values
		}
		made = s.interact(ch, user, data, &interaction{kind: press, on: m, Interaction: Interaction{CustomID: customID}})
	})
	return made, err
}

// takes says why a component cannot be used so.
func (c Component) takes(values []string) error {
	least, most := c.bounds()
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

func (s *Server) findAnywhere(message string) (*channel, *Message) {
	for _, ch := range s.channels {
		if m := ch.find(message); m != nil {
			return ch, m
		}
	}
	return nil, nil
}
