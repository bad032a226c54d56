package channels

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"nanobot/config"
)

// WarnAccess warns of an access list that admits everybody. An empty one is normal: people are
// paired.
func WarnAccess(at config.Scope, allowFrom []string) []string {
	if slices.Contains(allowFrom, "*") {
		return []string{at.Key("allowFrom") + ` has "*": everybody can talk to the bot`}
	}
	return nil
}

// CheckToken reports an enabled channel without a token.
func CheckToken(at config.Scope, enabled bool, token config.Secret) []config.Problem {
	if !enabled || token != "" {
		return nil
	}
	return []config.Problem{{
		Path: []string{"token"}, Cause: []string{"enabled"},
		Text: fmt.Sprintf("must be set, because %s is true", at.Key("enabled")),
	}}
}

// CheckNumericList checks the access list of a network whose user IDs are numbers.
func CheckNumericList(allowFrom []string) []config.Problem {
	var all []config.Problem
	for i, id := range allowFrom {
		if hint, ok := checkNumeric(id); !ok && id != "*" {
			all = append(all, config.Problem{
				Path: []string{"allowFrom", strconv.Itoa(i)}, Text: `must be a numeric user ID or "*"`, Hint: hint,
				HideValue: config.LooksLikeSecret(id),
			})
		}
	}
	return all
}

// CheckNumericID returns an error if id is not the ID of one user on a network with numeric IDs.
func CheckNumericID(id string) error {
	if hint, ok := checkNumeric(id); !ok {
		if hint == "" || id == "*" {
			hint = "the ID of one person is needed"
		}
		return fmt.Errorf("a user ID is a number (%s)", hint)
	}
	// IDs are compared as text, so an ID with leading zeros would never match.
	if n, err := strconv.ParseUint(id, 10, 64); err != nil || n == 0 || strconv.FormatUint(n, 10) != id {
		return errors.New("no user has this ID")
	}
	return nil
}

// checkNumeric accepts only numbers. A username can change hands, so it identifies nobody.
func checkNumeric(id string) (hint string, ok bool) {
	digits := strings.TrimPrefix(id, "-")
	switch number := digits != "" && strings.Trim(digits, "0123456789") == ""; {
	case id == "":
		return "", false
	case number && digits == id:
		return "", true
	case number:
		return "that is the ID of a group; list the people", false
	}
	return "usernames can change hands", false
}
