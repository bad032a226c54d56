package channelstest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"nanobot/channels"
)

// checkFindings checks that findings are complete and contain no secret.
func (fx fixture) checkFindings(found []channels.Finding) error {
	if len(found) == 0 {
		return errors.New("there is no finding")
	}
	for _, f := range found {
		switch {
		case f.Check == "" || f.Detail == "" || !slices.Contains([]channels.Verdict{channels.Good, channels.Doubtful, channels.Bad}, f.Status):
			return fmt.Errorf("the finding %+v is incomplete", f)
		case f.Status != channels.Good && f.Fix == "":
			return fmt.Errorf("the finding %+v does not say what to do", f)
		}
		for _, secret := range fx.Secrets {
			if strings.Contains(f.Detail+f.Fix, secret) {
				return fmt.Errorf("the finding %s contains a secret", f.Check)
			}
		}
	}
	return nil
}

// examine calls Examine and checks its findings.
func (fx fixture) examine(ctx context.Context, e channels.ExamineOptions) (found []channels.Finding, err error) {
	x, err := optionalInterface[channels.Examiner](fx, "Restart", "Disconnect", "Secrets")
	if err != nil {
		return nil, err
	}
	if !returnsInTime(func() { defer recoverAsError(&err); found = x.Examine(ctx, e) }) {
		return nil, errors.New("Examine does not return")
	}
	if err != nil {
		return nil, err
	}
	return found, fx.checkFindings(found)
}

// badFindings returns the findings whose status is Bad.
func badFindings(found []channels.Finding) (out []channels.Finding) {
	for _, f := range found {
		if f.Status == channels.Bad {
			out = append(out, f)
		}
	}
	return out
}

func examineChangesNothing(ctx context.Context, fx fixture) error {
	fx.UserSends("first")
	before := len(fx.Sent())
	found, err := fx.examine(ctx, channels.ExamineOptions{})
	if err != nil {
		return err
	}
	if bad := badFindings(found); len(bad) > 0 {
		return fmt.Errorf("the network works, and Examine finds %+v", bad)
	}
	if sent := fx.Sent(); len(sent) > before {
		return fmt.Errorf("Examine sends %+v", sent[before:])
	}
	c := fx.withChannel(fx.Restart()).startCollecting(ctx)
	defer func() { _ = c.stop() }()
	return c.waitForText("first")
}

func examineFindsOutage(ctx context.Context, fx fixture) error {
	if _, err := optionalInterface[channels.Examiner](fx, "Disconnect"); err != nil {
		return err
	}
	fx.Disconnect()
	found, err := fx.examine(ctx, channels.ExamineOptions{})
	if err != nil {
		return err
	}
	if len(badFindings(found)) == 0 {
		return fmt.Errorf("the network cannot be reached, and Examine finds %+v", found)
	}
	return nil
}

func examineDisturbsNothing(ctx context.Context, fx fixture) error {
	if _, err := optionalInterface[channels.Examiner](fx, "Restart"); err != nil {
		return err
	}
	doctor := fx.withChannel(fx.Restart()) // another process with the same settings
	c, err := fx.startAndReceiveFirst(ctx)
	defer func() { _ = c.stop() }()
	if err != nil {
		return err
	}
	found, err := doctor.examine(ctx, channels.ExamineOptions{Running: true})
	if err != nil {
		return err
	}
	if bad := badFindings(found); len(bad) > 0 {
		return fmt.Errorf("the network works, and Examine finds %+v", bad)
	}
	fx.UserSends("second")
	if err := c.waitForText("second"); err != nil {
		return err
	}
	if healthy, ok := fx.Channel.(channels.HealthReporter); ok && healthy.Health() != nil {
		return fmt.Errorf("after Examine the running channel's health is %w", healthy.Health())
	}
	return c.stopCleanly()
}
