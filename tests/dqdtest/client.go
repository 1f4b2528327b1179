package dqdtest

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"time"

	"dqd/tests/script"
)

// Client is one connection that sends a command and waits for its reply.
type Client struct {
	net.Conn
	in *bufio.Reader
}

// Dial opens a connection.
func Dial(addr string) (*Client, error) {
	conn, err := net.DialTimeout("tcp", addr, Deadline)
	if err != nil {
		return nil, err
	}
	return &Client{conn, bufio.NewReader(conn)}, nil
}

// Do sends a command and returns its reply. An error reply is a reply.
func (c *Client) Do(args ...string) (script.Value, error) {
	if err := c.Send(args...); err != nil {
		return script.Value{}, err
	}
	return c.Receive(Deadline)
}

// Send sends a command.
func (c *Client) Send(args ...string) error {
	return c.Raw(script.AppendCommand(nil, args...))
}

// Raw sends bytes as they are.
func (c *Client) Raw(b []byte) error {
	c.SetWriteDeadline(time.Now().Add(Deadline))
	_, err := c.Conn.Write(b)
	return err
}

// Receive returns the next reply.
func (c *Client) Receive(deadline time.Duration) (script.Value, error) {
	c.SetReadDeadline(time.Now().Add(deadline))
	return script.ReadValue(c.in)
}

// Must is Do for replies that are no errors; one that is becomes a *ReplyError.
func (c *Client) Must(args ...string) (script.Value, error) {
	v, err := c.Do(args...)
	if err != nil {
		return v, fmt.Errorf("%s: %w", args[0], err)
	}
	if v.Kind == script.KindError {
		return v, &ReplyError{args[0], v.Text}
	}
	return v, nil
}

// ReplyError is an error reply where none was expected.
type ReplyError struct{ Command, Text string }

func (e *ReplyError) Error() string { return e.Command + " answers " + e.Text }

// WaitFor calls condition until it returns nil, or an error made by Stop, or
// the deadline has passed; then it returns the condition's last error.
func WaitFor(deadline time.Duration, condition func() error) error {
	end := time.Now().Add(deadline)
	pause := time.Millisecond
	for {
		err := condition()
		if err == nil {
			return nil
		}
		var final stop
		if errors.As(err, &final) {
			return final.error
		}
		if time.Now().After(end) {
			return fmt.Errorf("not within %v: %w", deadline, err)
		}
		time.Sleep(pause)
		pause = min(2*pause, 50*time.Millisecond)
	}
}

// Stop wraps an error that no further waiting will mend.
func Stop(err error) error { return stop{err} }

type stop struct{ error }
