package channelstest

import (
	"context"
	"fmt"

	"nanobot/channels"
)

// sendQuestion sends a message with the buttons Yes and No.
func (fx fixture) sendQuestion(ctx context.Context) error {
	m := fx.newAnswer("which?")
	m.Buttons = []channels.Button{{Label: "Yes", Data: "answer:1"}, {Label: "No", Data: "answer:2"}}
	_, err := fx.planAndSend(ctx, m)
	return err
}

func pressRemovesButtons(ctx context.Context, fx fixture) error {
	if fx.PressButton == nil {
		return errNotApplicable
	}
	c, err := fx.startAndReceiveFirst(ctx)
	defer func() { _ = c.stop() }()
	if err == nil {
		err = fx.sendQuestion(ctx)
	}
	if err == nil {
		err = fx.PressButton("No")
	}
	if err != nil {
		return err
	}
	if !eventually(func() bool { return len(c.received.messages()) == 2 }) {
		return fmt.Errorf("a press is received as %+v", c.received.messages())
	}
	first, press := c.received.messages()[0], c.received.messages()[1]
	if press.Press != "answer:2" || press.Text != "" || press.User.ID != first.User.ID || press.Chat != fx.Chat || press.ID == first.ID {
		return fmt.Errorf("a press is received as %+v", press)
	}
	if !eventually(func() bool { return fx.PressButton("Yes") != nil }) {
		return fmt.Errorf("the buttons stay after a press, which is received as %+v", press)
	}
	return nil
}

func stayingButtonsWorkAgain(ctx context.Context, fx fixture) error {
	if fx.PressButton == nil {
		return errNotApplicable
	}
	c, err := fx.startAndReceiveFirst(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = c.stop() }()
	m := fx.newAnswer("keys")
	m.Buttons = []channels.Button{{Label: "Up", Data: "/key Up", Stays: true}, {Label: "Down", Data: "/key Down", Stays: true}}
	if _, err := fx.planAndSend(ctx, m); err != nil {
		return err
	}
	for i := range 3 {
		if err := fx.PressButton("Up"); err != nil {
			return fmt.Errorf("press for the %d. time: %w", i+1, err)
		}
		n := func() (n int) {
			for _, m := range c.received.messages() {
				if m.Press == "/key Up" {
					n++
				}
			}
			return n
		}
		if !eventually(func() bool { return n() == i+1 }) {
			return fmt.Errorf("%d presses were received as %d", i+1, n())
		}
	}
	return nil
}
