// Package script runs test scripts that read like redis-cli sessions.
//
// A script is a text file:
//
//	# An unpaid order comes back when its time has come.
//	> DQADD orders order-42 '{"total":99}' DELAY 10s
//	"order-42"
//	> DQPOP orders
//	(nil)
//	@clock advance 10s
//	> DQPOP orders
//	1) 1) "orders"
//	   2) "order-42"
//	   3) "{\"total\":99}"
//	   4) (integer) <token>
//	   5) (integer) 1
//	   6) (integer) …
//	> DQACK orders order-42 <token>
//	(integer) 1
//
// A line "> …" is a command, split into arguments as redis-cli splits them. The
// lines behind it are the expected output, printed as redis-cli prints it at a
// terminal. Commands in consecutive lines are sent in one write, a pipeline,
// and their outputs follow in order. Blank lines separate and mean nothing.
//
// In expected output:
//
//	…              matches any text within its line; alone in a line, any number of lines
//	<name>         the first time takes whatever stands there, later must equal it;
//	               in a command it stands for what it took
//	<mark+10s>     the Unix milliseconds, rounded up, of the moment that "@mark mark"
//	               noted, plus 10 s; <mark+10s:ns> the same in nanoseconds
//	(waiting)      the command got no reply and its client waits in the server
//
// In commands and in expected output {{repeat "ab" 3}} is ababab and
// {{seq "job-%d" 1 3}} is job-1 job-2 job-3. A command may end in
// " | field field": of its reply, a map, only these fields are shown.
//
// Directives:
//
//	# text                  a comment
//	@client name            the following commands go over the connection of this name
//	@clock advance 10s      time passes
//	@clock step -2h         the wall clock is set, time does not pass; with @virtual only
//	@mark name              notes the moment of the next command
//	@wait                   the reply of a waiting command; its output follows
//	@closed                 the server closes this connection, or has closed it
//	@close                  the client closes this connection
//	@resp 3                 this connection speaks RESP3 from here on
//	@raw "bytes"            sends bytes as they are; the output that follows is the reply
//	@restart                the server is stopped and started on the same data
//	@restart 48h            so much time later; with @virtual only
//	@config name value      (before the first command) a setting the server starts with
//	@virtual reason         (before the first command) runs under virtual time only
//	@real reason            (before the first command) runs against a real process only
//
// A script runs against a Target: a server in this process under virtual time,
// where moments are exact, or a running program, where time really passes and a
// moment is known to lie between the sending of a command and its reply.
package script
