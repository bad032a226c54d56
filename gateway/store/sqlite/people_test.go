package sqlite_test

import (
	"database/sql"
	"path/filepath"
	"slices"
	"testing"

	"nanobot/gateway/store/prepared"
	"nanobot/gateway/store/sqlite"
	"nanobot/internal/musttest"
)

// Tables without something of a person: positions in networks, IDs of received messages, chats in
// line, secrets that end with access, when codes were made, and the index of searches, which
// triggers maintain.
var impersonal = []string{"cursor", "seen", "line", "token", "code_made", "sqlite_sequence", "search"}

func TestEveryTableIsForgottenOrHasNothingOfAPerson(t *testing.T) {
	dir := t.TempDir()
	closeStore(t, openStore(t, dir, sqlite.Options{}))
	db := musttest.Get(sql.Open("sqlite", "file:"+filepath.Join(dir, "nanobot.db")))(t)
	defer db.Close()
	rows := musttest.Get(db.Query(`SELECT name FROM sqlite_schema WHERE type = 'table'
		AND name NOT IN (SELECT name FROM pragma_table_list WHERE type = 'shadow')`))(t)
	defer rows.Close()
	n := 0
	for ; rows.Next(); n++ {
		var name string
		musttest.Do(t, rows.Scan(&name))
		if !slices.Contains(impersonal, name) &&
			!slices.ContainsFunc(prepared.PersonTables, func(p prepared.PersonTable) bool { return p.Table == name }) {
			t.Errorf("the table %s is not in prepared.PersonTables", name)
		}
	}
	if n < 20 {
		t.Errorf("there are only %d tables", n)
	}
}
