package config

import (
	"errors"
	"fmt"
	"strconv"
)

// CheckUserID says what is wrong with the id of one user, as the networks number them and allowFrom
// lists them.
func CheckUserID(id string) error {
	if hint, ok := checkID(id); !ok || id == "*" {
		if hint == "" {
			hint = "one person's id is needed"
		}
		return fmt.Errorf("a user's id is a number (%s)", hint)
	}
	// Ids are compared as they are written, so that one with zeros in front would never match.
	if n, err := strconv.ParseUint(id, 10, 64); err != nil || n == 0 || strconv.FormatUint(n, 10) != id {
		return errors.New("no user has this id")
	}
	return nil
}
