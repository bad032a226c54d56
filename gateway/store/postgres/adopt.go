package postgres

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"sync"

	"nanobot/channels"
	"nanobot/gateway/store"
	processfile "nanobot/gateway/store/processes"
)

// SetProcess records the process of an inbound message's agent.
func (s inbox) SetProcess(id int64, p store.Process) error {
	return wrapError(fmt.Sprintf("record the process of inbound message %d", id), s.local.file.Record(id, p))
}

// foldRow is a pending fold, with the ID of its board and the inbound message.
type foldRow struct {
	store.Fold
	Replaced bool
	In       channels.Incoming
	Key, ID  string
	Inbound  int64
}

func (r foldRow) fold() store.PendingFold {
	chat, _ := channels.ParseChat(r.Key)
	return store.PendingFold{
		Fold: r.Fold, Board: store.Transient{Chat: chat, ID: r.ID, Inbound: r.Inbound, Board: true}, MessageID: r.In.ID,
		Language: r.In.User.Language, Replaced: r.Replaced,
	}
}

// Adopt takes over the work of members that are gone, and that of this member of which it does not
// know.
func (s inbox) Adopt(ctx context.Context) (adopted store.Adopted, err error) {
	const what = "adopt the work of members that are gone"
	// Read the processes first, because an adopted message is not adopted again after a failure.
	recorded, err := s.readProcesses(ctx, what)
	lost := map[string][]int64{"inbounds": s.running.takeLost(), "deliveries": s.sending.takeLost()}
	for more := true; more && err == nil; {
		var answer struct {
			More       bool
			Inbounds   []store.Inbound
			Deliveries []store.Delivery
			Transients []transientRow
			Folds      []foldRow
		}
		err = s.change(ctx, changeRequest{what: what, function: "adopt", found: true, args: lost}, &answer)
		more = answer.More
		for _, d := range answer.Deliveries {
			s.sending.add(d.ID)
		}
		for _, i := range answer.Inbounds {
			s.running.add(i.ID)
			process, known := recorded[i.ID]
			if !known { // it may have begun, on another machine
				process = store.Process{Pid: -1}
			}
			i.Process = process
			adopted.Inbounds = append(adopted.Inbounds, i)
		}
		for _, f := range answer.Folds {
			adopted.Folds = append(adopted.Folds, f.fold())
		}
		adopted.Deliveries = append(adopted.Deliveries, answer.Deliveries...)
		adopted.Transients = append(adopted.Transients, transientsOf(answer.Transients)...)
	}
	adopted.Transients = slices.DeleteFunc(adopted.Transients, func(t store.Transient) bool {
		return slices.ContainsFunc(adopted.Folds, func(f store.PendingFold) bool { return f.Board == t })
	})
	slices.SortFunc(adopted.Inbounds, func(a, b store.Inbound) int { return cmp.Compare(a.ID, b.ID) })
	slices.SortFunc(adopted.Deliveries, func(a, b store.Delivery) int { return cmp.Compare(a.ID, b.ID) })
	slices.SortStableFunc(adopted.Transients, func(a, b store.Transient) int { return cmp.Compare(a.Inbound, b.Inbound) })
	slices.SortFunc(adopted.Folds, func(a, b store.PendingFold) int {
		return cmp.Compare(a.Board.Inbound, b.Board.Inbound)
	})
	if !reflect.DeepEqual(adopted, store.Adopted{}) {
		return adopted, nil // it is not adopted again, and the next beat finds the rest
	}
	return adopted, err
}

// processes are the records of the processes on this machine.
type processes struct {
	file   *processfile.File // nil: of a command, which starts none
	mu     sync.Mutex
	loaded bool
}

// processesFile is the name of the file of the process records.
const processesFile = "agents.txt"

func (p *processes) open(o Options) (err error) {
	if o.Command {
		return nil
	}
	if err = os.MkdirAll(o.Dir, 0o700); err == nil {
		p.file, err = processfile.Open(filepath.Join(o.Dir, processesFile))
	}
	return wrapError("open the process records", err)
}

func (p *processes) close() error {
	if p.file == nil {
		return nil
	}
	return p.file.Close()
}

// fill sets the processes of running messages that members of this folder have claimed. Those of
// other messages in the file have ended when it is called first.
func (p *processes) fill(running []store.Inbound) (err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.loaded {
		return p.file.Fill(running)
	}
	err = p.file.Load(running)
	p.loaded = err == nil
	return err
}

// readProcesses returns the processes of the running messages that members of this folder have
// claimed.
func (s inbox) readProcesses(ctx context.Context, what string) (map[int64]store.Process, error) {
	running, err := readAll[store.Inbound](ctx, s.state, what, `SELECT inbound_json(i) FROM inbox i JOIN member m ON m.id = i.owner
		WHERE i.owner <> '' AND m.folder = $1`, s.folder)
	if err == nil {
		err = wrapError(what, s.local.fill(running))
	}
	all := map[int64]store.Process{}
	for _, i := range running {
		all[i.ID] = i.Process
	}
	return all, err
}
