package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"syscall"
	"time"

	"dqd/persist"
	"dqd/server"
)

// shutdownTime is granted to the clients when the process is asked to end, endTime to
// them and to log and state.
const (
	shutdownTime = 10 * time.Second
	endTime      = 20 * time.Second
)

// leastFiles is the limit of open files below which no node starts: the stores would
// run out of them at work, which ends the process.
const leastFiles = 256

// What the stores may have open of all the files that the process may: tables of
// the state, and some more for the log and for what is being written.
const (
	mostTables = 4096
	otherFiles = 128
)

// filesOf divides the open files that the process may have: tables, and clients.
func filesOf(limit int64) (tables, clients int) {
	if limit == 0 {
		return mostTables, math.MaxInt
	}
	tables = int(min(limit/2, mostTables+otherFiles)) - otherFiles
	return max(tables, 64), max(int(limit)-tables-otherFiles, 32)
}

// serve is the sub-command: it starts a node, says where it listens, and stops it
// at SIGTERM or SIGINT. A second signal ends the process at once.
func serve(args []string, stdout, stderr io.Writer) int {
	c, err := readConfig(args, os.Environ())
	if err != nil {
		return usageError(stderr, err)
	}
	// What is given by the environment is given on purpose. Go looks at sockets when a
	// processor of its is idle, or every 10 ms: two more than there are cores let the
	// timer's thread wait in the kernel, and a client be heard while merges and scans
	// have all cores. More than that made deliveries later.
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + 2)
	}
	tuneMalloc()
	sizes := sizesOf(c.Memory)
	if os.Getenv("GOGC") == "" {
		collectSeldom(sizes.leastHeap)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(c.Memory - sizes.outside())
	}
	c.LogLevel.Set(c.Level)
	log := slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: c.LogLevel}))
	if limit := openFiles(); limit > 0 {
		if limit < leastFiles {
			fmt.Fprintf(stderr, "dqd: the limit of open files is %d: %d are needed at least; raise it with ulimit -n, or LimitNOFILE in a unit of systemd\n", limit, leastFiles)
			return exitFail
		}
		_, c.MostClients = filesOf(limit)
		if c.MaxClients > c.MostClients {
			log.Warn("maxclients is lowered to what the limit of open files allows: raise it with ulimit -n", "maxclients", c.MostClients, "wanted", c.MaxClients)
			c.MaxClients = c.MostClients
		}
	}
	if warning := c.open(); warning != "" {
		log.Warn(warning, "bind", c.Bind)
	}
	manager, err := newNotifier(os.Getenv, os.Getpid(), log)
	if err != nil {
		log.Warn("the service manager cannot be told how the process fares", "error", err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()

	n, err := assemble(c, log)
	if err != nil {
		fmt.Fprintf(stderr, "dqd: %v\n", remedy(err, c))
		return exitFail
	}
	n.announce(stdout)
	life, over := context.WithCancel(context.Background())
	defer over()
	go manager.follow(life, n.serving, "serves clients on "+n.listeners[0].Addr().String(), n.alive)

	code := exitOK
	select {
	case <-ctx.Done():
		stop() // a second signal is not caught
		log.Info("shutting down: clients are served to the end", "at-most", shutdownTime)
	case <-n.asked:
		stop()
		log.Info("shutting down as a client asked: clients are served to the end", "at-most", shutdownTime)
	case err := <-n.failed:
		log.Error("serving failed", "error", err)
		code = exitFail
	}
	over()
	manager.tell("STOPPING=1")
	if err := n.end(endTime); err != nil {
		log.Error("shut down", "error", err)
		return exitFail
	}
	log.Info("ended")
	return code
}

// announce says where the node listens and what to type next: for people, and in
// the last line for programs.
func (n *node) announce(w io.Writer) {
	address := n.listeners[0].Addr().String()
	try := 0 // the listener that those who read this reach
	if n.config.Protected() {
		try = max(0, slices.IndexFunc(n.config.Bind, server.OverLoopback))
	}
	host, port, _ := net.SplitHostPort(n.listeners[try].Addr().String())
	switch {
	case host == "::" && n.config.Bind[try] == "::": // IPv6 only
		host = "::1"
	case host == "::" || host == "0.0.0.0":
		host = "127.0.0.1"
	}
	web := "off"
	if n.web != nil {
		web = "http://" + n.web.Addr().String()
	}
	dir, err := filepath.Abs(n.config.Dir)
	if err != nil {
		dir = n.config.Dir
	}
	fmt.Fprintf(w, "dqd %s serves clients on %s, data in %s\n", buildVersion(), address, dir)
	if n.web != nil {
		fmt.Fprintf(w, "metrics and probes on %s (/metrics /livez /readyz)\n", web)
	}
	cli := "redis-cli -p " + port
	if host != "127.0.0.1" {
		cli = "redis-cli -h " + host + " -p " + port
	}
	if n.config.Password != "" {
		cli += " --askpass"
	}
	fmt.Fprintf(w, "try: %[1]s DQADD hello job-1 world DELAY 3s\n     %[1]s DQPOP hello BLOCK 10s\n     %[1]s DQACK hello job-1 '*'\n", cli)
	fmt.Fprintf(w, "ready resp=%s http=%s pid=%d\n", address, web, os.Getpid())
}

// listen opens the ports; the first port chosen goes for all addresses.
func listen(addresses []string, port int) ([]net.Listener, error) {
	var list []net.Listener
	for _, a := range addresses {
		l, err := listenOn(a, port)
		if err != nil {
			closeAll(list)
			return nil, err
		}
		list = append(list, l)
		port = l.Addr().(*net.TCPAddr).Port
	}
	return list, nil
}

// listenOn opens a port. An address is one of its own protocol alone, as in Redis:
// 0.0.0.0 is all of IPv4, :: all of IPv6, and * all of both. localhost is loopback whatever
// name services say, or do not: who may come is decided by it (RFC 6761, section 6.3).
func listenOn(address string, port int) (net.Listener, error) {
	network := "tcp"
	switch ip := net.ParseIP(address); {
	case address == "*":
		address = ""
	case address == "localhost":
		address = "127.0.0.1"
	case ip != nil && ip.To4() != nil:
		network = "tcp4"
	case ip != nil:
		network = "tcp6"
	}
	return net.Listen(network, net.JoinHostPort(address, strconv.Itoa(port)))
}

func closeAll[C io.Closer](list []C) {
	for _, l := range list {
		l.Close()
	}
}

// fatal ends the process by a fault of its storage, and says what to do.
func (c *config) fatal(err error) {
	if errors.Is(err, persist.ErrDamaged) {
		err = fmt.Errorf("%w; run dqd check %s, which names all that is damaged and what to do", err, c.Dir)
	}
	persist.ExitOnFault(err)
}

// remedy makes one line of an error at the start: what is wrong and what to do.
func remedy(err error, c *config) error {
	var op *net.OpError
	switch {
	case errors.As(err, &op) && errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("%v is in use by another program: stop it, or choose another port with --port or --http-port (0 = any free one)", op.Addr)
	case errors.As(err, &op) && errors.Is(err, syscall.EACCES):
		return fmt.Errorf("%v may not be opened by this user: choose a port above 1023 with --port", op.Addr)
	case errors.As(err, &op) && errors.Is(err, syscall.EADDRNOTAVAIL):
		return fmt.Errorf("%v is no address of this machine: choose another with --bind", op.Addr)
	case errors.As(err, &op) && errors.Is(err, syscall.EAFNOSUPPORT):
		return fmt.Errorf("%v cannot be opened, this machine has no such protocol: choose another address with --bind", op.Addr)
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return fmt.Errorf("%w: raise the limit with ulimit -n, or LimitNOFILE in a unit of systemd", err)
	case errors.Is(err, syscall.ENOTDIR):
		return fmt.Errorf("%w: choose a folder with --dir", err)
	case errors.Is(err, syscall.EROFS):
		return fmt.Errorf("%w: choose a folder on a disk that can be written with --dir", err)
	case errors.Is(err, persist.ErrLocked):
		return fmt.Errorf("the folder %s is in use by another dqd: stop it, or choose another folder with --dir", c.Dir)
	case errors.Is(err, os.ErrPermission):
		return fmt.Errorf("%w: the folder and what is in it must belong to this user; choose another with --dir", err)
	}
	return err
}
