package sqlite_test

import (
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	driversqlite "modernc.org/sqlite"

	"nanobot/gateway/store/sqlite"
	"nanobot/internal/killtest"
	"nanobot/internal/musttest"
)

// statementEnd matches the end of a statement of a migration, which is at the end of a line.
// Statements within a trigger are part of the trigger's statement.
var statementEnd = regexp.MustCompile(`;\n(\n|--|[A-DF-Z])|;\n?$`)

// migrateUntilKilled is the main function of the child: it migrates a state and kills itself after
// the statement with the given number. 0 means never; then the number of statements is printed.
func migrateUntilKilled(dir, number string) int {
	at, err := strconv.Atoi(number)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	var done atomic.Int64
	err = driversqlite.RegisterScalarFunction("statement_done", 0, func(*driversqlite.FunctionContext, []driver.Value) (driver.Value, error) {
		if done.Add(1) == int64(at) {
			return nil, syscall.Kill(os.Getpid(), syscall.SIGKILL)
		}
		return nil, nil
	})
	if err == nil {
		err = sqlite.Migrate(ctx, dir, func(query string) string {
			if !strings.Contains(query, "TABLE") && !strings.Contains(query, "PRAGMA user_version =") {
				return query
			}
			return statementEnd.ReplaceAllStringFunc(strings.TrimRight(query, "; \n")+";", func(end string) string {
				return strings.Replace(end, ";", ";\nSELECT statement_done();", 1)
			})
		})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println(done.Load())
	return 0
}

// dumpDatabase returns the contents of a database as text.
func dumpDatabase(t *testing.T, dir string) string {
	t.Helper()
	db := musttest.Get(sql.Open("sqlite", "file:"+filepath.Join(dir, sqlite.Database)+"?mode=ro"))(t)
	defer db.Close()
	var lines []string
	for _, name := range queryStrings(t, db, "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name") {
		columns := strings.Join(queryStrings(t, db, "SELECT 'quote(' || name || ')' FROM pragma_table_info('"+name+"') ORDER BY cid"), " || ', ' || ")
		for _, row := range queryStrings(t, db, "SELECT "+columns+" FROM "+name) {
			lines = append(lines, name+": "+row)
		}
	}
	lines = append(lines, queryStrings(t, db, "SELECT coalesce(sql, '') FROM sqlite_schema")...)
	lines = append(lines, queryStrings(t, db, "SELECT user_version FROM pragma_user_version")...)
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func queryStrings(t *testing.T, db *sql.DB, query string) (all []string) {
	t.Helper()
	found, err := db.Query(query)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer found.Close()
	for found.Next() {
		var row string
		if err := found.Scan(&row); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		all = append(all, row)
	}
	musttest.Do(t, found.Err())
	return all
}

func TestAMigrationKilledAtAnyStatementIsCompleteAfterTheNextStart(t *testing.T) {
	exe := musttest.Get(os.Executable())(t)
	step := killtest.Rounds(t, 9, 1) // each run of the CI tests a part of the statements, which differs from run to run
	first := 1 + os.Getpid()%step
	old := "../../../cmd/nanobot/testdata/state-v7/state"
	migrate := func(dir string, at int) (string, error) {
		musttest.Do(t, os.CopyFS(dir, os.DirFS(old)))
		cmd := exec.Command(exe)
		cmd.Env = append(os.Environ(), "NANOBOT_TEST_MIGRATE="+dir, "NANOBOT_TEST_KILL_AT="+strconv.Itoa(at))
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		return strings.TrimSpace(string(out)), err
	}
	whole := t.TempDir()
	said := musttest.Get(migrate(whole, 0))(t)
	statements, err := strconv.Atoi(said)
	if err != nil || statements < 20 {
		t.Fatalf("the migration has %q statements (%v)", said, err)
	}
	want := dumpDatabase(t, whole)
	for at := first; at <= statements; at += step {
		dir := t.TempDir()
		_, err := migrate(dir, at)
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
			t.Fatalf("at statement %d the child was not killed: %v", at, err)
		}
		closeStore(t, openStore(t, dir, sqlite.Options{}))
		if got := dumpDatabase(t, dir); got != want {
			t.Fatalf("killed at statement %d of %d it is\n%s\nwant\n%s", at, statements, got, want)
		}
	}
	t.Logf("%d statements", statements)
}
