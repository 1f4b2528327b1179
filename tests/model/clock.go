package model

const (
	trustNs   = 24 * hour
	standNs   = 10 * second
	elapsedNs = 366 * day
)

// systemClock is the system's wall clock, as far as it is not followed. Steps of at most 50 ms are slewed, which the model does not know.
type systemClock struct {
	aheadNs  int64 // of the model's wall: a held step; 0 = none
	followNs int64 // when it is followed (progress); 0 = not by itself
	passed   bool  // what is held is time that passed while the server was down
}

// StepWall sets the system's clock at the present moment, by more than 50 ms, or exactly to ours. Only what follows the wall feels it.
func (m *Model) StepWall(deltaNs int64) {
	m.clock.aheadNs += deltaNs
	m.see()
}

// see is what follows from where the system's clock stands now: back at once, forward when it has stood for 10 s or never.
func (m *Model) see() {
	c := &m.clock
	if c.aheadNs <= 0 {
		m.offsetNs += c.aheadNs
		*c = systemClock{}
		return
	}
	limit := trustNs
	if c.passed {
		limit = elapsedNs
	}
	c.followNs = 0
	if c.aheadNs <= limit {
		c.followNs = m.nowNs + standNs
	}
}

// stood follows a step that has stood for long enough.
func (m *Model) stood() {
	if m.clock.aheadNs > 0 && m.clock.followNs > 0 && m.clock.followNs <= m.nowNs {
		m.follow()
	}
}

func (m *Model) follow() {
	if m.clock.passed {
		m.nowNs += m.clock.aheadNs
	} else {
		m.offsetNs += m.clock.aheadNs
	}
	m.clock = systemClock{}
}

// Accept is DQCLOCK ACCEPT.
func (m *Model) Accept() {
	m.follow()
	m.settle()
}

// change is some change of the state, in a queue of its own.
func (m *Model) change() {
	m.command([]string{"DQADD", "own", "x", ""})
	m.command([]string{"DQCANCEL", "own", "x"})
}

// Restart is a stop of no time after a change, a step of the system's clock meanwhile, and a start: what that clock shows beyond our wall has passed.
func (m *Model) Restart(deltaNs int64) {
	m.change()
	for _, j := range m.jobs {
		j.holder = -1 // READINGS 62
	}
	passed := m.clock.aheadNs + deltaNs
	m.clock = systemClock{}
	switch {
	case passed < 0:
		m.offsetNs += passed
	case passed <= elapsedNs:
		m.nowNs += passed
	default:
		m.clock = systemClock{aheadNs: passed, passed: true}
	}
	m.settle()
	m.change()
}
