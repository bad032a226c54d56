package tools

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"runtime/debug"
	"sync"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/zap"
	"golang.org/x/time/rate"

	"nanobot/gateway/runbook"
)

// Serve serves one connection until it or ctx ends, and closes it. When it returns, all goroutines
// of the connection have ended. A client that disconnects is no error.
func Serve(ctx context.Context, conn io.ReadWriteCloser, o Options) error {
	if o.Chat != nil && o.Chat.Name() == "" {
		return errors.Join(errors.New("serve tools: the chat has no name"), conn.Close())
	}
	input, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	s := newSession(o)
	s.untilInputEnds = func(ctx context.Context) (context.Context, context.CancelFunc) {
		ctx, cancel := context.WithCancel(ctx)
		stop := context.AfterFunc(input, cancel)
		return ctx, func() { stop(); cancel() }
	}
	lines := newLineConn(conn, end)
	served, err := s.server().Connect(ctx, lines, nil)
	if err != nil {
		return errors.Join(err, lines.Close())
	}
	closed := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(closed)
		_ = lines.Close()
	})
	err = served.Wait()
	if !stop() {
		<-closed
	}
	if err = errors.Join(err, lines.Close()); isClientGone(err) {
		return nil
	}
	return err
}

// isClientGone reports whether an error means that the client has disconnected.
func isClientGone(err error) bool {
	for _, gone := range []error{io.EOF, io.ErrClosedPipe, net.ErrClosed, syscall.EPIPE, syscall.ECONNRESET} {
		if errors.Is(err, gone) {
			return true
		}
	}
	return false
}

// session is a connection that is being served.
type session struct {
	options Options
	chat    string // channel:id, or "" if the connection acts for no chat
	by      string // author of its runs
	log     *zap.Logger
	// untilInputEnds returns a context that also ends with the client's input, because nobody waits
	// for the answer of a person or a command then.
	untilInputEnds func(context.Context) (context.Context, context.CancelFunc)

	writeLimit  *rate.Limiter // limits runbooks and runs, unless Options.AdmitWrites does
	commandSlot chan struct{} // has a value while a command is running

	mu       sync.Mutex
	lastRuns map[runbook.Source]startedRun // the last run of each runbook
}

// startedRun is a run that the connection has started.
type startedRun struct {
	id    string
	steps int
}

// writesPerMinute limits the runbooks that a connection stores and the runs that it starts.
const writesPerMinute = 60

func newSession(o Options) *session {
	s := &session{
		options: o, by: cmp.Or(o.By, runbook.ByAgent), log: cmp.Or(o.Log, zap.NewNop()), commandSlot: make(chan struct{}, 1),
		lastRuns:   map[runbook.Source]startedRun{},
		writeLimit: rate.NewLimiter(rate.Every(time.Minute/writesPerMinute), writesPerMinute),
	}
	if o.Chat != nil {
		s.chat = o.Chat.Name()
	}
	return s
}

// server returns the MCP server of the connection with its tools.
func (s *session) server() *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "nanobot", Title: "nanobot", Version: "1"}, &mcp.ServerOptions{
		Instructions: s.instructions(),
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}}, // the tools never change
	})
	server.AddReceivingMiddleware(s.recoverPanics)
	for _, t := range s.tools() {
		server.AddTool(t.describe(), s.toolHandler(t))
	}
	return server
}

// recoverPanics keeps a panic from ending the daemon.
func (s *session) recoverPanics(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (result mcp.Result, err error) {
		defer func() {
			if p := recover(); p != nil {
				s.log.Error("panic in a call", zap.String("method", method), zap.Any("panic", p),
					zap.ByteString("stack", debug.Stack()))
				result, err = nil, errPanic
			}
		}()
		return next(ctx, method, req)
	}
}

var errPanic = errors.New("internal error in nanobot; its log has the details")

// call is one call of a tool.
type call struct {
	args *arguments
	req  *mcp.CallToolRequest
}

// toolHandler returns the handler for calls of a tool. Errors become results with isError.
func (s *session) toolHandler(t tool) mcp.ToolHandler {
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		began := time.Now()
		value, err := s.execute(ctx, t, req)
		var input *inputRequired
		if errors.As(err, &input) {
			return input.result(), nil
		}
		s.reportCall(t.name, began, cmp.Or(err, answerError(value)))
		if err == nil {
			return encodeResult(value, false)
		}
		f, fault := toFailure(err)
		if fault {
			s.log.Error("tool failed", zap.String("tool", t.name), zap.Error(err))
		}
		return encodeResult(f, true)
	}
}

func (s *session) execute(ctx context.Context, t tool, req *mcp.CallToolRequest) (value any, err error) {
	defer func() {
		if p := recover(); p != nil {
			s.log.Error("panic in a tool", zap.String("tool", t.name), zap.Any("panic", p),
				zap.ByteString("stack", debug.Stack()))
			err = errPanic
		}
	}()
	args := readArguments(req.Params.Arguments)
	if args.err != nil {
		return nil, args.err
	}
	return t.execute(ctx, call{args, req})
}

// reportCall records a call in the audit log.
func (s *session) reportCall(tool string, began time.Time, err error) {
	if s.options.Audit != nil {
		s.options.Audit(tool, err)
	}
	s.log.Debug("tool called", zap.String("tool", tool), zap.String("chat", s.chat),
		zap.Duration("took", time.Since(began)), zap.Error(err))
}

// answerError returns the error in the answer of a run, or nil.
func answerError(value any) error {
	if a, ok := value.(runbook.Answer); ok && a.ErrorCode != "" {
		return &failure{Code: a.ErrorCode, Message: a.Message}
	}
	return nil
}

// admitWrites refuses to store runbooks or start a run above the rate limit.
func (s *session) admitWrites(n int) error {
	if s.options.AdmitWrites != nil {
		var limited *RateLimitError
		err := s.options.AdmitWrites(n)
		if errors.As(err, &limited) {
			return &failure{Code: rateLimited, Message: limited.Reason}
		}
		return err
	}
	r := s.writeLimit.ReserveN(time.Now(), n)
	wait := r.Delay()
	if wait == 0 {
		return nil
	}
	r.Cancel()
	seconds := int(math.Ceil(wait.Seconds()))
	return &failure{
		Code: rateLimited,
		Message: fmt.Sprintf("Too many runbooks and runs: at most %d a minute. Wait %d s, then try again.", writesPerMinute,
			seconds),
	}
}
