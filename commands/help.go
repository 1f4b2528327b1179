package commands

// Help is the HELP of a container such as CONFIG; its answer is HelpReply.
type Help struct{ Container string }

func (*Help) isRequest() {}

func parseHelp(container string) func([][]byte, *Limits) (Request, error) {
	return func([][]byte, *Limits) (Request, error) { return &Help{Container: container}, nil }
}
