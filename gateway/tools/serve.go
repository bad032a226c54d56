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

// Serve serves one connection until it ends or ctx does, and closes it. When it returns, nothing of
// the connection runs any more. A client that goes away is no error.
func Serve(ctx context.Context, conn io.ReadWriteCloser, o Options) error {
	if o.Chat != nil && o.Chat.Name() == "" {
		return errors.Join(errors.New("serve tools: the chat has no name"), conn.Close())
	}
	input, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	s := newSession(o)
	s.untilEnd = func(ctx context.Context) (context.Context, context.CancelFunc) {
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
	if err = errors.Join(err, lines.Close()); isGone(err) {
		return nil
	}
	return err
}

// isGone reports whether an error is that the client has closed its end.
func isGone(err error) bool {
	for _, gone := range []error{io.EOF, io.ErrClosedPipe, net.ErrClosed, syscall.EPIPE, syscall.ECONNRESET} {
		if errors.Is(err, gone) {
			return true
		}
	}
	return false
}

// session is a connection that is served.
type session struct {
	o    Options
	chat string // its name, or "" if the connection acts for none
	by   string // who begins its runs
	log  *zap.Logger
	// untilEnd returns a context that ends with the client's input, too: nobody waits for the
	// answer of a person or a command then.
	untilEnd func(context.Context) (context.Context, context.CancelFunc)

	writes   *rate.Limiter // of runbooks and runs, unless Options.AdmitWrite bounds them
	checking chan struct{} // holds a value while a command is executed

	mu    sync.Mutex
	begun map[runbook.Source]begunRun // the last one of each runbook
}

// begunRun is a run that the connection began.
type begunRun struct {
	id    string
	steps int
}

// writesPerMinute is how many runbooks a connection may store and runs begin.
const writesPerMinute = 60

func newSession(o Options) *session {
	s := &session{
		o: o, by: cmp.Or(o.By, runbook.ByAgent), log: cmp.Or(o.Log, zap.NewNop()), checking: make(chan struct{}, 1), begun: map[runbook.Source]begunRun{},
		writes: rate.NewLimiter(rate.Every(time.Minute/writesPerMinute), writesPerMinute),
	}
	if o.Chat != nil {
		s.chat = o.Chat.Name()
	}
	return s
}

// server returns the server of the connection with its tools.
func (s *session) server() *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "nanobot", Title: "nanobot", Version: "1"}, &mcp.ServerOptions{
		Instructions: s.instructions(),
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}}, // which never change
	})
	server.AddReceivingMiddleware(s.recoverPanics)
	for _, t := range s.tools() {
		server.AddTool(t.describe(), s.handle(t))
	}
	return server
}

// recoverPanics keeps a panic from ending the daemon.
func (s *session) recoverPanics(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (result mcp.Result, err error) {
		defer func() {
			if p := recover(); p != nil {
				s.log.Error("panic in a call", zap.String("method", method), zap.Any("panic", p), zap.ByteString("stack", debug.Stack()))
				result, err = nil, errPanic
			}
		}()
		return next(ctx, method, req)
	}
}

var errPanic = errors.New("nanobot made a mistake; its log has the details")

// call is one call of a tool.
type call struct {
	args arguments
	req  *mcp.CallToolRequest
}

// handle returns how the calls of a tool are executed. Its errors are results with isError.
func (s *session) handle(t tool) mcp.ToolHandler {
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		began := time.Now()
		value, err := s.execute(ctx, t, req)
		var input *inputNeeded
		if errors.As(err, &input) {
			return input.result(), nil
		}
		s.report(t.name, began, cmp.Or(err, refusalOf(value)))
		if err == nil {
			return encodeResult(value, false)
		}
		f, fault := explain(err)
		if fault {
			s.log.Error("tool failed", zap.String("tool", t.name), zap.Error(err))
		}
		return encodeResult(f, true)
	}
}

func (s *session) execute(ctx context.Context, t tool, req *mcp.CallToolRequest) (value any, err error) {
	defer func() {
		if p := recover(); p != nil {
			s.log.Error("panic in a tool", zap.String("tool", t.name), zap.Any("panic", p), zap.ByteString("stack", debug.Stack()))
			err = errPanic
		}
	}()
	args, err := readArguments(req.Params.Arguments)
	if err != nil {
		return nil, err
	}
	return t.execute(ctx, call{args, req})
}

// report tells the audit log of a call.
func (s *session) report(tool string, began time.Time, err error) {
	if s.o.Audit != nil {
		s.o.Audit(tool, err)
	}
	s.log.Debug("tool called", zap.String("tool", tool), zap.String("chat", s.chat), zap.Duration("took", time.Since(began)), zap.Error(err))
}

// refusalOf returns the error that the answer of a run says, or nil.
func refusalOf(value any) error {
	if a, ok := value.(runbook.Answer); ok && a.ErrorCode != "" {
		return &failure{Code: a.ErrorCode, Message: a.Message}
	}
	return nil
}

// admit refuses a call if there were too many of its kind.
func (s *session) admitWrite() error {
	if s.o.AdmitWrite != nil {
		var tooMany *TooManyError
		err := s.o.AdmitWrite()
		if errors.As(err, &tooMany) {
			return &failure{Code: rateLimited, Message: tooMany.Reason}
		}
		return err
	}
	r := s.writes.Reserve()
	wait := r.Delay()
	if wait == 0 {
		return nil
	}
	r.Cancel()
	seconds := int(math.Ceil(wait.Seconds()))
	return &failure{Code: rateLimited, Message: fmt.Sprintf("Too many runbooks and runs: at most %d a minute. Wait %d s, then try again.", writesPerMinute, seconds)}
}
