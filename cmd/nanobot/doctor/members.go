package doctor

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"nanobot/cmd/nanobot/format"
	"nanobot/gateway/store"
	"nanobot/gateway/store/postgres"
)

// checkDatabase checks the shared store, the members that use it and the folder that they share.
func (d *doctor) checkDatabase(ctx context.Context) {
	if d.cfg.Gateway.Store == "" {
		return
	}
	fix := fmt.Sprintf("correct gateway.store and gateway.storePassword in %s, or the server; to try it from here: "+
		"psql %s", d.Path, format.ShellWord(d.cfg.Gateway.Store))
	if d.user.UID != 0 {
		fix += "; this is root, so run it as the daemon's user if the server asks the system who connects (peer)"
	}
	o, err := d.Database(d.cfg)
	var server postgres.Server
	if err == nil {
		server, err = postgres.Examine(ctx, o)
	}
	if err != nil {
		d.add("postgres", bad(err.Error(), fix))
		return
	}
	d.add("postgres", assessServer(server))
	d.add("standby", assessStandby(server))
	p, problem := d.writeProbe() // before there are connections, because it may be done as another user
	defer func() { _ = d.user.Do(func() { _ = os.Remove(p.path) }) }()
	o.Command = true
	s, err := postgres.Open(ctx, o)
	if errors.Is(err, fs.ErrNotExist) {
		d.add("members", good("no member has ever started"))
		return
	}
	if err != nil {
		d.add("postgres", bad(err.Error(), fix))
		return
	}
	all, err := s.ListMembers(ctx)
	if err == nil {
		all = slices.DeleteFunc(all, func(m store.MemberStatus) bool { return m.State == store.Gone })
		d.membersUp = len(all) > 0
		d.add("members", assessMembers(all))
		d.add("mount", d.checkMount(ctx, s, p, problem))
		d.add("state", d.checkSpool(ctx, s))
	}
	if err = errors.Join(err, s.Close()); err != nil {
		d.add("postgres", bad(err.Error(), fix))
	}
}

// maxAhead is the largest difference of clocks that nobody notices in the times of messages.
const maxAhead = 2 * time.Second

// assessServer assesses the settings of the database server.
func assessServer(s postgres.Server) (found findings) {
	if s.Fsync != "on" {
		found = append(found, bad("fsync is "+s.Fsync+", so a crash of the database's machine may destroy the state",
			"set fsync = on in postgresql.conf")...)
	}
	if s.Commit == "off" {
		found = append(found, bad("synchronous_commit is off, so a crash of the database may forget acknowledged messages",
			"set synchronous_commit = on, also for the database and the user (ALTER DATABASE, ALTER ROLE)")...)
	}
	if s.Free < s.Needed {
		found = append(found, doubtful(fmt.Sprintf("connections left: %d, and a member uses up to %d", s.Free, s.Needed),
			"raise max_connections in postgresql.conf, or end other programs that use this server")...)
	}
	if s.Ahead.Abs() > maxAhead+s.Precision {
		found = append(found, doubtful(fmt.Sprintf("the clock of the database differs from that of this machine by %s",
			s.Ahead.Abs().Round(time.Second)),
			"set the clocks by NTP on both machines; timedatectl shows whether it is on")...)
	}
	return append(found, good("version %s, fsync %s, synchronous_commit %s, connections left: %d, clock difference %s",
		s.Version, s.Fsync, s.Commit, s.Free, s.Ahead.Abs().Round(time.Millisecond))...)
}

// assessStandby says whether a failover of the database loses messages.
func assessStandby(s postgres.Server) findings {
	if s.Standbys != "" && s.Commit != "off" && s.Commit != "local" {
		return good("each change waits for a synchronous standby (synchronous_standby_names is %s)", s.Standbys)
	}
	return doubtful("there is no synchronous standby, so a failover may forget acknowledged messages",
		"set synchronous_standby_names on the server, with synchronous_commit = on, unless nothing fails over or its "+
			"storage is replicated")
}

// assessMembers compares the live members.
func assessMembers(all []store.MemberStatus) (found findings) {
	list := func(describe func(store.MemberStatus) string) string {
		var texts []string
		for _, m := range all {
			texts = append(texts, m.Name+" "+describe(m))
		}
		return strings.Join(texts, ", ")
	}
	differ := func(value func(store.MemberStatus) string) bool {
		return slices.ContainsFunc(all, func(m store.MemberStatus) bool { return value(m) != value(all[0]) })
	}
	version := func(m store.MemberStatus) string { return m.Version }
	digest := func(m store.MemberStatus) string { return m.Config }
	if differ(version) {
		found = append(found, doubtful("members have different versions: "+list(version),
			"install the same version everywhere, and restart the members one after the other")...)
	}
	if differ(digest) {
		found = append(found, doubtful("members use different configs (digests: "+list(digest)+")",
			"make the configs the same, except gateway.member, gateway.stateDir, log, audit and the addresses of http, and "+
				"reload or restart the members")...)
	}
	switch {
	case len(all) == 0:
		return good("none is up")
	case found == nil:
		return good("%s; their versions and configs are the same", list(func(m store.MemberStatus) string {
			if m.Leader {
				return "is " + string(m.State) + " and receives"
			}
			return "is " + string(m.State)
		}))
	}
	return found
}

// probe is a file in the shared folder.
type probe struct{ path, content string }

// writeProbe writes a file into the shared folder, with the permissions of the daemon.
func (d *doctor) writeProbe() (p probe, err error) {
	p = probe{filepath.Join(d.cfg.SharedDir(), "doctor-"+rand.Text()), rand.Text()}
	failed := d.user.Do(func() {
		var f *os.File
		if f, err = os.OpenFile(p.path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600); err == nil {
			_, err = f.WriteString(p.content)
			err = errors.Join(err, f.Close())
		}
	})
	return p, errors.Join(err, failed)
}

// checkMount checks that other members read what is written into the shared folder here.
func (d *doctor) checkMount(ctx context.Context, s *postgres.Store, p probe, problem error) findings {
	fix := "mount the same folder as the workspace " + d.cfg.Workspace +
		" on the machines of all members, with the same user IDs"
	if errors.Is(problem, fs.ErrNotExist) && !d.membersUp {
		return good("%s will be created at the first start", d.cfg.SharedDir())
	}
	if problem != nil {
		return bad("cannot write to the folder that members share: "+problem.Error(), fix)
	}
	readers, others, err := s.AwaitReaders(ctx, filepath.Base(p.path), p.content)
	self := func(name string) bool { return name == d.cfg.Gateway.Member.Name }
	readers = slices.DeleteFunc(readers, self)
	switch {
	case err != nil:
		return bad(err.Error(), fix)
	case len(others) > 0:
		return bad(fmt.Sprintf("a file that was written to %s here was not read by %s", d.cfg.SharedDir(),
			strings.Join(others, ", ")), fix)
	case len(readers) == 0:
		return good("%s is writable; no other member is up, so nobody else could read the file that was written to it",
			d.cfg.SharedDir())
	}
	return good("a file that was written to %s here was read by %s", d.cfg.SharedDir(), strings.Join(readers, ", "))
}
