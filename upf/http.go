package upf

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"time"

	"golang.org/x/net/netutil"
)

// Limits of both HTTP servers: a client that is slow, large or many costs the
// UPF a bounded amount of memory and none of its service.
const (
	maxConnections  = 32
	maxHeaderOctets = 8 << 10
	readTime        = 5 * time.Second
	writeTime       = 30 * time.Second
	idleTime        = time.Minute
	shutdownTime    = 2 * time.Second
)

// httpServer serves handler on one listener until it is closed.
type httpServer struct {
	server *http.Server
	addr   net.Addr
	done   chan struct{}
}

// serveHTTP starts to serve; the listener is the server's from then on. What is at
// one of the paths of writes may change something.
func serveHTTP(l net.Listener, handler http.Handler, log *slog.Logger, writes ...string) *httpServer {
	s := &httpServer{addr: l.Addr(), done: make(chan struct{}), server: &http.Server{
		Handler:        readOnly(handler, writes),
		ReadTimeout:    readTime,
		WriteTimeout:   writeTime,
		IdleTimeout:    idleTime,
		MaxHeaderBytes: maxHeaderOctets,
		ConnContext:    rememberCaller,
		ErrorLog:       slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}}
	go func() {
		defer close(s.done)
		if err := s.server.Serve(netutil.LimitListener(l, maxConnections)); !errors.Is(err, http.ErrServerClosed) {
			log.Error("http server stopped", "address", s.addr, "error", err)
		}
	}()
	return s
}

// readOnly lets only requests through that ask for something, but at the paths of
// writes.
func readOnly(next http.Handler, writes []string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead && !slices.Contains(writes, r.URL.Path) {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "read only", http.StatusMethodNotAllowed)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// endless lets an answer take as long as it takes. Without a deadline for reading,
// the end of the connection is seen as soon as it comes.
func endless(w http.ResponseWriter) {
	out := http.NewResponseController(w)
	_ = out.SetWriteDeadline(time.Time{}) // which the connections of this server can
	_ = out.SetReadDeadline(time.Time{})
}

// Close lets requests that are being answered finish for a moment, then ends
// them.
func (s *httpServer) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), shutdownTime)
	defer cancel()
	err := s.server.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = s.server.Close()
	}
	<-s.done
	return err
}
