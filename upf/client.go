package upf

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// Errors of a [Client].
var (
	ErrNotRunning = errors.New("no UPF answers")
	ErrNotFound   = errors.New("not found")
)

const (
	clientTime      = 30 * time.Second // for a whole answer
	maxAnswerOctets = 64 << 20
)

// Client asks a running UPF through the socket of its local API. It may be used
// by several goroutines at once.
type Client struct {
	socket string
	http   http.Client
}

// NewClient returns a client of the UPF whose api.socket is socket. It connects
// when it is first asked something.
func NewClient(socket string) *Client {
	return &Client{socket: socket, http: http.Client{Timeout: clientTime, Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", socket)
		},
	}}}
}

// SessionQuery selects sessions; its zero value selects all.
type SessionQuery struct {
	UEAddress netip.Addr // one of the session's UE addresses, or in its IPv6 prefix
	TEID      TEID       // one of the session's local TEIDs; 0: any
	SEID      SEID       // of the UP function; 0: any
	Limit     int        // at most so many, 1 to MaxPage; 0: DefaultPage
	Start     string     // SessionPage.Next of the page before; empty: the first page
}

// Page sizes, in sessions.
const (
	DefaultPage = 100
	MaxPage     = 10000
)

// values is q as a query string; [parseQuery] is its inverse.
func (q SessionQuery) values() url.Values {
	v := url.Values{}
	if q.UEAddress.IsValid() {
		v.Set("ue", q.UEAddress.String())
	}
	if q.TEID != 0 {
		v.Set("teid", q.TEID.String())
	}
	if q.SEID != 0 {
		v.Set("seid", q.SEID.String())
	}
	if q.Limit != 0 {
		v.Set("limit", strconv.Itoa(q.Limit))
	}
	if q.Start != "" {
		v.Set("start", q.Start)
	}
	return v
}

// Sessions returns one page of sessions.
func (c *Client) Sessions(ctx context.Context, q SessionQuery) (*SessionPage, error) {
	return get[SessionPage](ctx, c, pathSessions+"?"+q.values().Encode())
}

// Session returns one session with all its rules.
//
// Errors: [ErrNotFound].
func (c *Client) Session(ctx context.Context, seid SEID) (*Session, error) {
	return get[Session](ctx, c, pathSessions+"/"+seid.String())
}

// Associations returns the PFCP associations.
func (c *Client) Associations(ctx context.Context) (*Associations, error) {
	return get[Associations](ctx, c, pathAssociations)
}

// Datapath returns what forwards packets, and what it can do.
func (c *Client) Datapath(ctx context.Context) (*Datapath, error) {
	return get[Datapath](ctx, c, pathDatapath)
}

// Peers returns the next hops that the datapath knows.
func (c *Client) Peers(ctx context.Context) (*Peers, error) {
	return get[Peers](ctx, c, pathPeers)
}

// Drops returns how many packets were dropped for each reason.
func (c *Client) Drops(ctx context.Context) (*Drops, error) {
	return get[Drops](ctx, c, pathDrops)
}

// Config returns the configuration with which the UPF runs.
func (c *Client) Config(ctx context.Context) (*Config, error) {
	return get[Config](ctx, c, pathConfig)
}

// Slices returns the slices, and what is in none.
func (c *Client) Slices(ctx context.Context) (*Slices, error) {
	return get[Slices](ctx, c, pathSlices)
}

// Move lets another datapath forward, and returns when it does.
//
// Errors: [ErrRefused], [ErrForbidden], [errors.ErrUnsupported].
func (c *Client) Move(ctx context.Context, to string) (*Moved, error) {
	path := pathMove + "?" + url.Values{"to": {to}}.Encode()
	return fetch[Moved](ctx, c, &http.Client{Transport: c.http.Transport}, http.MethodPost, path)
}

// Trace calls each with every line of a trace, until ctx is done, each returns an
// error, or the UPF ends, which is no error.
//
// Errors: those of ctx and of each, [ErrNotFound], [ErrForbidden],
// [errors.ErrUnsupported] if the datapath shows no packets.
func (c *Client) Trace(ctx context.Context, q *TraceQuery, each func(*TraceLine) error) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://upf"+pathTrace+"?"+q.values().Encode(), nil)
	if err != nil {
		return err
	}
	endless := http.Client{Transport: c.http.Transport}
	resp, err := endless.Do(req)
	if err != nil {
		return c.explain(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return answerError(resp.StatusCode, io.LimitReader(resp.Body, maxAnswerOctets))
	}
	for lines := json.NewDecoder(resp.Body); ; {
		line := &TraceLine{}
		switch err := lines.Decode(line); {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return nil
		case err != nil:
			return fmt.Errorf("%s: %w", c.socket, err)
		}
		if err := each(line); err != nil {
			return err
		}
	}
}

// get fetches and decodes path.
func get[T any](ctx context.Context, c *Client, path string) (*T, error) {
	return fetch[T](ctx, c, &c.http, http.MethodGet, path)
}

// fetch makes a request and decodes what is answered.
func fetch[T any](ctx context.Context, c *Client, by *http.Client, method, path string) (*T, error) {
	req, err := http.NewRequestWithContext(ctx, method, "http://upf"+path, nil)
	if err != nil {
		return nil, err
	}
	resp, err := by.Do(req)
	if err != nil {
		return nil, c.explain(err)
	}
	defer resp.Body.Close()
	body := io.LimitReader(resp.Body, maxAnswerOctets)
	if resp.StatusCode != http.StatusOK {
		return nil, answerError(resp.StatusCode, body)
	}
	v := new(T)
	if err := json.NewDecoder(body).Decode(v); err != nil {
		return nil, fmt.Errorf("%s: %w", c.socket, err)
	}
	return v, nil
}

// explain turns what dialling says into what to do.
func (c *Client) explain(err error) error {
	switch {
	case errors.Is(err, unix.ECONNREFUSED), errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w at %s: start one (plumb upf --config FILE) or give its api.socket with --socket",
			ErrNotRunning, c.socket)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%s: %w: run as root or as a member of the socket's group", c.socket, fs.ErrPermission)
	}
	var wrapped *url.Error // says only GET http://upf/...
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	return fmt.Errorf("%s: %w", c.socket, err)
}

// answerError is what the UPF says is wrong with the request.
func answerError(status int, body io.Reader) error {
	var problem problem
	if err := json.NewDecoder(body).Decode(&problem); err != nil || problem.Error == "" {
		problem.Error = http.StatusText(status)
	}
	for code, err := range map[int]error{
		http.StatusNotFound: ErrNotFound, http.StatusForbidden: ErrForbidden, http.StatusNotImplemented: errors.ErrUnsupported,
		http.StatusConflict: ErrRefused, http.StatusBadRequest: ErrRequest,
	} {
		if status == code {
			return upfError{err, problem.Error}
		}
	}
	return errors.New(problem.Error)
}

// upfError is an error in the words of the UPF.
type upfError struct {
	err  error
	text string
}

func (a upfError) Error() string { return a.text }

// Unwrap returns which error it is.
func (a upfError) Unwrap() error { return a.err }
