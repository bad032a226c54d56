package history

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"nanobot/channels"
)

// ErrNameTaken says that a name is that of another person, or identifies one.
var ErrNameTaken = errors.New("another person has this name")

// operatorID is the ID of operators who have no name of their own.
const operatorID = "operator"

// cleanLine returns a text that a person has chosen on one line, without control characters.
func cleanLine(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && !unicode.IsSpace(r) {
			return -1
		}
		return r
	}, text)
	return truncateTitle(channels.SanitizeBidiText(strings.Join(strings.Fields(text), " ")))
}

// foldName returns what names that look alike have in common: they may differ in case, width,
// composition and invisible characters.
func foldName(name string) string {
	return strings.ToLower(strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) ||
			unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) {
			return -1
		}
		return r
	}, norm.NFKC.String(name)))
}

// SetName sets the name of a person, which their later messages and answers carry, and returns it
// as it is stored; "" removes it.
func (h *History) SetName(ctx context.Context, person, name string) (string, error) {
	name = cleanLine(name)
	folded := foldName(name)
	if folded == "" {
		name = ""
	}
	return name, h.writer.submit(ctx, func(tx *sql.Tx) (*Event, error) {
		var taken bool
		err := tx.QueryRow(`SELECT EXISTS (SELECT 1 FROM people WHERE folded = $1 AND id <> $2)
			OR EXISTS (SELECT 1 FROM chats WHERE lower(owner) = $1 AND owner <> $2)`, folded, person).Scan(&taken)
		switch {
		case err != nil:
		case taken, folded == operatorID && person != operatorID:
			return nil, refusal{ErrNameTaken}
		case name == "":
			_, err = tx.Exec("DELETE FROM people WHERE id = $1", person)
		default:
			_, err = tx.Exec(`INSERT INTO people (id, name, folded) VALUES ($1, $2, $3)
				ON CONFLICT (id) DO UPDATE SET name = excluded.name, folded = excluded.folded`, person, name, folded)
		}
		if err != nil {
			return nil, fmt.Errorf("write name: %w", err)
		}
		return nil, nil
	})
}

// Name returns the name of a person; "": they have set none.
func (h *History) Name(ctx context.Context, person string) (string, error) {
	return scanName(h.read.QueryRowContext(ctx, selectName, person))
}

const selectName = "SELECT name FROM people WHERE id = $1"

func scanName(row *sql.Row) (name string, err error) {
	if err = row.Scan(&name); errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	if err != nil {
		err = fmt.Errorf("read name: %w", err)
	}
	return name, err
}
