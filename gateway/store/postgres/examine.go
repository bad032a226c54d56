package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sys/unix"
)

// Server is what an operator wants to know of the database server.
type Server struct {
	Version  string
	Fsync    string // the settings of these names
	Commit   string // synchronous_commit
	Standbys string // synchronous_standby_names
	Free     int    // connections that are left
	Needed   int    // connections that a member uses at most
	// Ahead is how far the server's clock is ahead of this machine's, and Precision how exactly
	// that is known.
	Ahead, Precision time.Duration
}

// Examine asks the server about itself. It needs no state.
func Examine(ctx context.Context, o Options) (found Server, err error) {
	c, err := ConnConfig(o)
	if err != nil {
		return found, err
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("gateway.store: %w", explainError(err, c))
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, o.TTL)
	defer cancel()
	conn, err := pgx.ConnectConfig(ctx, c)
	if err != nil {
		return found, err
	}
	defer func() { _ = conn.Close(ctx) }()
	var text []byte
	var now int64
	began := time.Now()
	err = conn.QueryRow(ctx, "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint").Scan(&now)
	if err != nil {
		return found, err
	}
	took := time.Since(began)
	err = conn.QueryRow(ctx, `SELECT json_build_object('version', current_setting('server_version'),
		'fsync', current_setting('fsync'), 'commit', current_setting('synchronous_commit'),
		'standbys', current_setting('synchronous_standby_names'),
		'free', current_setting('max_connections')::integer - current_setting('superuser_reserved_connections')::integer
			- coalesce(current_setting('reserved_connections', true), '0')::integer
			- (SELECT sum(numbackends) FROM pg_stat_database))`).Scan(&text)
	if err == nil {
		err = json.Unmarshal(text, &found)
	}
	found.Needed, found.Ahead, found.Precision = maxConns+2, time.UnixMicro(now).Sub(began.Add(took/2)), took/2
	return found, err
}

// AwaitReaders has all members read a file of the folder that they share, which is the one above
// the spool. It returns the names of the members that have read this content, and of those that
// have not done so within their TTL.
func (s *state) AwaitReaders(ctx context.Context, file, content string) (readers, others []string, err error) {
	const what = "have members read a file"
	if _, err := readValue[bool](ctx, s, what, "SELECT to_json(ask_readers($1))", file); err != nil {
		return nil, nil, err
	}
	defer func() {
		_, _ = readValue[bool](context.WithoutCancel(ctx), s, what,
			"DELETE FROM probe WHERE file = $1 RETURNING 'true'::json", file)
	}()
	s.hint()
	now := s.now
	if now == nil {
		now = time.Now
	}
	for until := now().Add(s.ttl); ; {
		last := now().After(until) // read once more after that, because this process may have stood still
		all, err := readAll[struct{ Name, Content string }](ctx, s, what,
			`SELECT json_build_object('name', m.name, 'content', p.content)
			FROM probe p JOIN member m ON m.id = p.member WHERE p.file = $1 ORDER BY m.name`, file)
		readers, others = nil, nil
		for _, m := range all {
			if m.Content == content {
				readers = append(readers, m.Name)
			} else {
				others = append(others, m.Name)
			}
		}
		if err != nil || len(others) == 0 || last || !pause(ctx, hintPause) {
			return readers, others, err
		}
	}
}

// readFiles tells AwaitReaders the content of files. A file that is missing may be seen at the next
// beat: network file systems remember for some seconds what was in a folder.
func (s *state) readFiles(ctx context.Context, files []string) {
	defer s.readingFiles.Store(false)
	for _, name := range files {
		f, err := os.OpenFile(filepath.Join(s.shared, filepath.Base(name)), os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0)
		if err != nil {
			continue
		}
		content, _ := io.ReadAll(io.LimitReader(f, 100))
		_ = f.Close()
		_ = s.read(ctx, func(ctx context.Context) error {
			_, err := s.pool.Exec(ctx, "UPDATE probe SET content = $1 WHERE file = $2 AND member = $3", string(content), name,
				s.member)
			return err
		})
	}
}
