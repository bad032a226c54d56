package view

import (
	"fmt"
	"strings"

	"nanobot/terminal"
)

// Cost is the price of a session so far.
type Cost struct {
	Amount   float64 `json:"amount"`
	Currency string  `json:"currency"` // "": unknown
}

// smallestCost is the smallest amount that is more than 0.00 in a text.
const smallestCost = 0.005

// Number returns the cost as a number with its currency if that is known, such as 0.37 USD; "": it
// is unknown or nothing.
func (c Cost) Number() string {
	number := fmt.Sprintf("%.2f", c.Amount)
	switch {
	case c.Amount <= 0:
		return ""
	case c.Amount < smallestCost:
		number = "<0.01"
	}
	return strings.TrimSpace(number + " " + terminal.OneLine(c.Currency, 8))
}

// since returns the cost since an earlier time as people read it; "" if it is unknown or nothing.
// An amount that became smaller counts from zero: some agents count per process.
func (c Cost) since(before Cost) string {
	if c.Currency == before.Currency && before.Amount <= c.Amount {
		c.Amount -= before.Amount
	}
	number, inDollars := strings.CutSuffix(c.Number(), " USD")
	small := strings.TrimPrefix(number, "<")
	switch {
	case terminal.OneLine(c.Currency, 8) == "":
		return ""
	case !inDollars:
		return number
	case small != number:
		return "<$" + small
	}
	return "$" + number
}

// SetCost sets the cost of the session when the turn begins; nil: unknown.
func (v *View) SetCost(before *Cost) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.costBefore = before; before != nil {
		v.cost = *before
	}
}
