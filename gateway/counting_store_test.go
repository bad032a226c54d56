package gateway_test

import (
	"context"
	"encoding/json"
	"os"
	"sync"
	"time"

	"nanobot/channels"
	"nanobot/gateway/store"
)

// countingStore counts the calls of a store. It embeds nothing, so that a new method of the
// contract is counted, too.
type countingStore struct {
	inner store.Store

	mu    sync.Mutex
	calls []string // names of the methods, in order
}

var _ store.Store = (*countingStore)(nil)

func (c *countingStore) AdmitTurn(ctx context.Context, id int64, quotas []store.Quota, zone *time.Location) (store.Admission, error) {
	c.count("AdmitTurn")
	return c.inner.AdmitTurn(ctx, id, quotas, zone)
}

func (c *countingStore) count(method string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls = append(c.calls, method)
}

// takeCalls returns the calls since the last takeCalls.
func (c *countingStore) takeCalls() (calls []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	calls, c.calls = c.calls, nil
	return calls
}

func (c *countingStore) Accept(ctx context.Context, code string, ttl time.Duration) (store.Pairing, bool, error) {
	c.count("Accept")
	return c.inner.Accept(ctx, code, ttl)
}

func (c *countingStore) Account(ctx context.Context, name string, accounted time.Time, all []store.Occurrence) error {
	c.count("Account")
	return c.inner.Account(ctx, name, accounted, all)
}

func (c *countingStore) AddTransient(ctx context.Context, b store.Transient) error {
	c.count("AddTransient")
	return c.inner.AddTransient(ctx, b)
}

func (c *countingStore) Admit(ctx context.Context, p store.Person, ttl time.Duration) (store.Pairing, bool, error) {
	c.count("Admit")
	return c.inner.Admit(ctx, p, ttl)
}

func (c *countingStore) Adopt(ctx context.Context) (store.Adopted, error) {
	c.count("Adopt")
	return c.inner.Adopt(ctx)
}

func (c *countingStore) Allowed(ctx context.Context, channel string, user string) (bool, error) {
	c.count("Allowed")
	return c.inner.Allowed(ctx, channel, user)
}

func (c *countingStore) Ask(ctx context.Context, q store.Question, l store.Outbound) error {
	c.count("Ask")
	return c.inner.Ask(ctx, q, l)
}

func (c *countingStore) AsksSecret(ctx context.Context, chat channels.Chat, receipt string) (bool, error) {
	c.count("AsksSecret")
	return c.inner.AsksSecret(ctx, chat, receipt)
}

func (c *countingStore) Beat(ctx context.Context, lead bool) (store.Beat, error) {
	c.count("Beat")
	return c.inner.Beat(ctx, lead)
}

func (c *countingStore) BusyUnpaired(ctx context.Context, channel string) ([]string, error) {
	c.count("BusyUnpaired")
	return c.inner.BusyUnpaired(ctx, channel)
}

func (c *countingStore) Cancel(ctx context.Context, chat channels.Chat, id int64) (int, error) {
	c.count("Cancel")
	return c.inner.Cancel(ctx, chat, id)
}

func (c *countingStore) ChangeMessage(ctx context.Context, a store.ChangeRequest) (store.ChangeResult, error) {
	c.count("ChangeMessage")
	return c.inner.ChangeMessage(ctx, a)
}

func (c *countingStore) ChatOfToken(ctx context.Context, token string) (channels.Chat, bool, error) {
	c.count("ChatOfToken")
	return c.inner.ChatOfToken(ctx, token)
}

func (c *countingStore) ChatsToSend(ctx context.Context, after string, n int) ([]channels.Chat, error) {
	c.count("ChatsToSend")
	return c.inner.ChatsToSend(ctx, after, n)
}

func (c *countingStore) Claim(ctx context.Context, c1 store.ClaimRequest) ([]store.Inbound, error) {
	c.count("Claim")
	return c.inner.Claim(ctx, c1)
}

func (c *countingStore) Close() error {
	c.count("Close")
	return c.inner.Close()
}

func (c *countingStore) CountDeliveries(ctx context.Context, inbounds []int64) (map[int64]map[store.State]int, error) {
	c.count("CountDeliveries")
	return c.inner.CountDeliveries(ctx, inbounds)
}

func (c *countingStore) CountPending(ctx context.Context, chat channels.Chat) (int, error) {
	c.count("CountPending")
	return c.inner.CountPending(ctx, chat)
}

func (c *countingStore) Cursor(ctx context.Context, channel string) (string, error) {
	c.count("Cursor")
	return c.inner.Cursor(ctx, channel)
}

func (c *countingStore) Deliveries(ctx context.Context, inbound int64) ([]store.Delivery, error) {
	c.count("Deliveries")
	return c.inner.Deliveries(ctx, inbound)
}

func (c *countingStore) Dismiss(ctx context.Context, p store.Person) error {
	c.count("Dismiss")
	return c.inner.Dismiss(ctx, p)
}

func (c *countingStore) Dismissed(ctx context.Context) ([]int64, []int64, error) {
	c.count("Dismissed")
	return c.inner.Dismissed(ctx)
}

func (c *countingStore) Drain(ctx context.Context, name string) (bool, error) {
	c.count("Drain")
	return c.inner.Drain(ctx, name)
}

func (c *countingStore) DropParts(ctx context.Context, chat channels.Chat, group string) error {
	c.count("DropParts")
	return c.inner.DropParts(ctx, chat, group)
}

func (c *countingStore) DropTransient(ctx context.Context, b store.Transient) error {
	c.count("DropTransient")
	return c.inner.DropTransient(ctx, b)
}

func (c *countingStore) EndFold(ctx context.Context, board store.Transient) error {
	c.count("EndFold")
	return c.inner.EndFold(ctx, board)
}

func (c *countingStore) Enqueue(ctx context.Context, l store.Outbound) (store.Delivery, bool, error) {
	c.count("Enqueue")
	return c.inner.Enqueue(ctx, l)
}

func (c *countingStore) EraseAnswer(ctx context.Context, id string) error {
	c.count("EraseAnswer")
	return c.inner.EraseAnswer(ctx, id)
}

func (c *countingStore) EraseText(ctx context.Context, id int64) ([]store.Transient, error) {
	c.count("EraseText")
	return c.inner.EraseText(ctx, id)
}

func (c *countingStore) Fetch(ctx context.Context, name string) (string, error) {
	c.count("Fetch")
	return c.inner.Fetch(ctx, name)
}

func (c *countingStore) Finish(ctx context.Context, id int64, state store.State, out store.Outcome, with ...int64) (bool, error) {
	c.count("Finish")
	return c.inner.Finish(ctx, id, state, out, with...)
}

func (c *countingStore) ForgetMessage(ctx context.Context, p store.Person) error {
	c.count("ForgetMessage")
	return c.inner.ForgetMessage(ctx, p)
}

func (c *countingStore) Greet(ctx context.Context, p store.Person, parts []channels.Outgoing) (bool, error) {
	c.count("Greet")
	return c.inner.Greet(ctx, p, parts)
}

func (c *countingStore) Hints() <-chan struct{} {
	c.count("Hints")
	return c.inner.Hints()
}

func (c *countingStore) History(ctx context.Context, chat channels.Chat, turns int, without int64) ([]store.Entry, error) {
	c.count("History")
	return c.inner.History(ctx, chat, turns, without)
}

func (c *countingStore) Inbound(ctx context.Context, id int64) (store.Inbound, bool, error) {
	c.count("Inbound")
	return c.inner.Inbound(ctx, id)
}

func (c *countingStore) InitRecords(ctx context.Context, unless string, values map[string]string) (bool, error) {
	c.count("InitRecords")
	return c.inner.InitRecords(ctx, unless, values)
}

func (c *countingStore) IsResendable(ctx context.Context, chat channels.Chat, id int64) (bool, error) {
	c.count("IsResendable")
	return c.inner.IsResendable(ctx, chat, id)
}

func (c *countingStore) Known(ctx context.Context, chat channels.Chat, id string) (bool, error) {
	c.count("Known")
	return c.inner.Known(ctx, chat, id)
}

func (c *countingStore) ListMembers(ctx context.Context) ([]store.MemberStatus, error) {
	c.count("ListMembers")
	return c.inner.ListMembers(ctx)
}

func (c *countingStore) ListRecords(ctx context.Context, prefix string) (map[string]string, error) {
	c.count("ListRecords")
	return c.inner.ListRecords(ctx, prefix)
}

func (c *countingStore) LoadDetails(ctx context.Context, inbound int64) (string, error) {
	c.count("LoadDetails")
	return c.inner.LoadDetails(ctx, inbound)
}

func (c *countingStore) LoadRecord(ctx context.Context, key string) (string, error) {
	c.count("LoadRecord")
	return c.inner.LoadRecord(ctx, key)
}

func (c *countingStore) MarkStopped(ctx context.Context, chat channels.Chat, id int64) error {
	c.count("MarkStopped")
	return c.inner.MarkStopped(ctx, chat, id)
}

func (c *countingStore) Member() string {
	c.count("Member")
	return c.inner.Member()
}

func (c *countingStore) Message(ctx context.Context, chat channels.Chat, id string) (store.Inbound, bool, error) {
	c.count("Message")
	return c.inner.Message(ctx, chat, id)
}

func (c *countingStore) NextClaim(ctx context.Context, c1 store.ClaimRequest) (time.Duration, bool, error) {
	c.count("NextClaim")
	return c.inner.NextClaim(ctx, c1)
}

func (c *countingStore) NextDelivery(ctx context.Context, chat channels.Chat, after int64) (store.Delivery, bool, error) {
	c.count("NextDelivery")
	return c.inner.NextDelivery(ctx, chat, after)
}

func (c *countingStore) Occurrences(ctx context.Context, name string, n int) ([]store.Occurrence, error) {
	c.count("Occurrences")
	return c.inner.Occurrences(ctx, name, n)
}

func (c *countingStore) OldestPendingSince(ctx context.Context) (time.Time, error) {
	c.count("OldestPendingSince")
	return c.inner.OldestPendingSince(ctx)
}

func (c *countingStore) OpenQuestions(ctx context.Context, chat channels.Chat) ([]store.Question, error) {
	c.count("OpenQuestions")
	return c.inner.OpenQuestions(ctx, chat)
}

func (c *countingStore) Pairings(ctx context.Context) ([]store.Pairing, error) {
	c.count("Pairings")
	return c.inner.Pairings(ctx)
}

func (c *countingStore) PairingsToGreet(ctx context.Context, p store.Person) ([]store.Pairing, error) {
	c.count("PairingsToGreet")
	return c.inner.PairingsToGreet(ctx, p)
}

func (c *countingStore) Parts(ctx context.Context, channel string) ([]channels.Incoming, error) {
	c.count("Parts")
	return c.inner.Parts(ctx, channel)
}

func (c *countingStore) Prove(ctx context.Context, request store.ProofRequest) (store.Proof, error) {
	c.count("Prove")
	return c.inner.Prove(ctx, request)
}

func (c *countingStore) Prune(ctx context.Context, keep store.Retention) error {
	c.count("Prune")
	return c.inner.Prune(ctx, keep)
}

func (c *countingStore) PruneCodes(ctx context.Context, life time.Duration) error {
	c.count("PruneCodes")
	return c.inner.PruneCodes(ctx, life)
}

func (c *countingStore) Question(ctx context.Context, id string) (store.Question, bool, error) {
	c.count("Question")
	return c.inner.Question(ctx, id)
}

func (c *countingStore) Queue(ctx context.Context, chat channels.Chat, n int) ([]store.Inbound, error) {
	c.count("Queue")
	return c.inner.Queue(ctx, chat, n)
}

func (c *countingStore) ReadChat(ctx context.Context, chat channels.Chat, memories ...string) (store.ChatState, error) {
	c.count("ReadChat")
	return c.inner.ReadChat(ctx, chat, memories...)
}

func (c *countingStore) Recall(ctx context.Context, chat channels.Chat, key string) (string, error) {
	c.count("Recall")
	return c.inner.Recall(ctx, chat, key)
}

func (c *countingStore) Receive(ctx context.Context, a store.ReceiveRequest) (store.ReceiveResult, error) {
	c.count("Receive")
	return c.inner.Receive(ctx, a)
}

func (c *countingStore) Recent(ctx context.Context, chat channels.Chat, n int) ([]store.Inbound, error) {
	c.count("Recent")
	return c.inner.Recent(ctx, chat, n)
}

func (c *countingStore) Remember(ctx context.Context, chat channels.Chat, key string, value string) error {
	c.count("Remember")
	return c.inner.Remember(ctx, chat, key, value)
}

func (c *countingStore) RemoveSchedule(ctx context.Context, name string) (bool, error) {
	c.count("RemoveSchedule")
	return c.inner.RemoveSchedule(ctx, name)
}

func (c *countingStore) ReplaceFold(ctx context.Context, inbound int64) error {
	c.count("ReplaceFold")
	return c.inner.ReplaceFold(ctx, inbound)
}

func (c *countingStore) RequestPairing(ctx context.Context, r store.PairingRequest) (store.PairingResult, error) {
	c.count("RequestPairing")
	return c.inner.RequestPairing(ctx, r)
}

func (c *countingStore) Requeue(ctx context.Context, id int64, unbegun bool) error {
	c.count("Requeue")
	return c.inner.Requeue(ctx, id, unbegun)
}

func (c *countingStore) Restart(ctx context.Context, id int64) error {
	c.count("Restart")
	return c.inner.Restart(ctx, id)
}

func (c *countingStore) Revoke(ctx context.Context, p store.Person, dismiss bool) (bool, error) {
	c.count("Revoke")
	return c.inner.Revoke(ctx, p, dismiss)
}

func (c *countingStore) Running(ctx context.Context, chat channels.Chat) (store.Inbound, bool, error) {
	c.count("Running")
	return c.inner.Running(ctx, chat)
}

func (c *countingStore) SaveCopy(ctx context.Context, file *os.File, limit int64) (string, error) {
	c.count("SaveCopy")
	return c.inner.SaveCopy(ctx, file, limit)
}

func (c *countingStore) SaveDetails(ctx context.Context, inbound int64, text string) error {
	c.count("SaveDetails")
	return c.inner.SaveDetails(ctx, inbound, text)
}

func (c *countingStore) SaveRecords(ctx context.Context, values map[string]string) error {
	c.count("SaveRecords")
	return c.inner.SaveRecords(ctx, values)
}

func (c *countingStore) SaveSchedule(ctx context.Context, s1 store.Schedule, most int) (bool, error) {
	c.count("SaveSchedule")
	return c.inner.SaveSchedule(ctx, s1, most)
}

func (c *countingStore) Schedules(ctx context.Context) ([]store.Schedule, error) {
	c.count("Schedules")
	return c.inner.Schedules(ctx)
}

func (c *countingStore) Search(ctx context.Context, f store.SearchFilter) ([]store.Found, error) {
	c.count("Search")
	return c.inner.Search(ctx, f)
}

func (c *countingStore) SetCursor(ctx context.Context, channel string, cursor string) error {
	c.count("SetCursor")
	return c.inner.SetCursor(ctx, channel, cursor)
}

func (c *countingStore) SetProcess(id int64, p store.Process) error {
	c.count("SetProcess")
	return c.inner.SetProcess(id, p)
}

func (c *countingStore) Settle(ctx context.Context, id int64, s1 store.Settlement) (bool, error) {
	c.count("Settle")
	return c.inner.Settle(ctx, id, s1)
}

func (c *countingStore) SettlePending(ctx context.Context, id int64) error {
	c.count("SettlePending")
	return c.inner.SettlePending(ctx, id)
}

func (c *countingStore) StorePart(ctx context.Context, in channels.Incoming) error {
	c.count("StorePart")
	return c.inner.StorePart(ctx, in)
}

func (c *countingStore) SumUsage(ctx context.Context, by store.UsageKey, f store.UsageFilter) ([]store.UsageSum, error) {
	c.count("SumUsage")
	return c.inner.SumUsage(ctx, by, f)
}

func (c *countingStore) SwapRecord(ctx context.Context, key string, old string, value string) (bool, error) {
	c.count("SwapRecord")
	return c.inner.SwapRecord(ctx, key, old, value)
}

func (c *countingStore) Trace(ctx context.Context, inbound int64) (string, error) {
	c.count("Trace")
	return c.inner.Trace(ctx, inbound)
}

func (c *countingStore) Transients(ctx context.Context) ([]store.Transient, error) {
	c.count("Transients")
	return c.inner.Transients(ctx)
}

func (c *countingStore) Turns(ctx context.Context, f store.TurnFilter) ([]store.Inbound, error) {
	c.count("Turns")
	return c.inner.Turns(ctx, f)
}

func (c *countingStore) UnansweredQuestions(ctx context.Context, chat channels.Chat, inbound int64) ([]store.Question, error) {
	c.count("UnansweredQuestions")
	return c.inner.UnansweredQuestions(ctx, chat, inbound)
}

func (c *countingStore) Undelivered(ctx context.Context, chat channels.Chat, n int) ([]store.Delivery, error) {
	c.count("Undelivered")
	return c.inner.Undelivered(ctx, chat, n)
}

func (c *countingStore) Withdraw(ctx context.Context, id string) (bool, error) {
	c.count("Withdraw")
	return c.inner.Withdraw(ctx, id)
}

func (c *countingStore) FolderName(ctx context.Context) (string, error) {
	c.count("FolderName")
	return c.inner.FolderName(ctx)
}

func (c *countingStore) CheckWritable(ctx context.Context) error {
	c.count("CheckWritable")
	return c.inner.CheckWritable(ctx)
}

func (c *countingStore) Forward(ctx context.Context, in channels.Incoming) error {
	c.count("Forward")
	return c.inner.Forward(ctx, in)
}

func (c *countingStore) Forwarded(ctx context.Context, n int) ([]store.Forwarded, error) {
	c.count("Forwarded")
	return c.inner.Forwarded(ctx, n)
}

func (c *countingStore) DropForwarded(ctx context.Context, id int64) error {
	c.count("DropForwarded")
	return c.inner.DropForwarded(ctx, id)
}

func (c *countingStore) Release(ctx context.Context, chats []string) error {
	c.count("Release")
	return c.inner.Release(ctx, chats)
}

func (c *countingStore) PrivateChats(ctx context.Context, p store.Person) ([]channels.Chat, error) {
	c.count("PrivateChats")
	return c.inner.PrivateChats(ctx, p)
}

func (c *countingStore) ReadPerson(ctx context.Context, d store.PersonData) (map[string][]json.RawMessage, error) {
	c.count("ReadPerson")
	return c.inner.ReadPerson(ctx, d)
}

func (c *countingStore) ForgetPerson(ctx context.Context, d store.PersonData) (map[string]int, error) {
	c.count("ForgetPerson")
	return c.inner.ForgetPerson(ctx, d)
}

func (c *countingStore) EraseRemoved(ctx context.Context) error {
	c.count("EraseRemoved")
	return c.inner.EraseRemoved(ctx)
}
