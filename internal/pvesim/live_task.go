package pvesim

import (
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"pvemcp/apidoc"
)

// A change that takes time is a task: the call answers with its id, and a
// worker does the rest while others look on. A worker is a goroutine that holds
// the world's lock except while it rests; so what it does between two rests is
// one step for everybody else, and what the world looks like during a rest
// (locks, half-written volumes, lines in the log) is what others see.

// worker is a running task.
type worker struct {
	srv   *Server
	world *World
	task  *Task

	faults   []Fault // those that hit this task, taken when it began
	warnings int
	rested   int
	stop     chan struct{} // closed to interrupt
	stopped  bool
	hurried  bool          // no task but a call that does not wait
	step     chan struct{} // lets a held task go on, once each
}

// taskStep is how long a task rests at a time where Options do not say.
const taskStep = 40 * time.Millisecond

// errInterrupted is how a worker ends that was stopped, as Proxmox's workers
// say it when they get a signal.
var errInterrupted = errors.New("received interrupt")

// errClosed ends workers when the server is closed; the task stays as it is.
var errClosed = errors.New("the server was closed")

// launch starts a task on the path's node (the answering one where the path
// names none) and answers with its id. The body runs under the world's lock
// once the call is done; it must look everything up anew.
func (c *call) launch(kind, id string, body func(*worker) error) (any, error) {
	node := apidoc.Node(c.node())
	if node == "" {
		node = c.world.Local
	}
	return c.srv.spawn(node, kind, id, c.who.name(), body).task.UPID, nil
}

// spawn starts a task. The caller holds the world's lock.
func (s *Server) spawn(node apidoc.Node, kind, id, user string, body func(*worker) error) *worker {
	k := &worker{
		srv: s, world: s.world, task: s.world.StartTask(node, kind, id, user, s.now()),
		faults: s.faults.takeTask(kind, id), stop: make(chan struct{}), step: make(chan struct{}, 1024),
	}
	k.task.worker = k
	s.tasks.Add(1)
	go func() {
		defer s.tasks.Done()
		k.run(body)
	}()
	return k
}

func (k *worker) run(body func(*worker) error) {
	k.world.mu.Lock()
	defer k.world.mu.Unlock()
	if err := k.attempt(body); !errors.Is(err, errClosed) {
		k.end(err)
	}
}

// attempt runs the body; a mistake of this package ends the task, not the server.
func (k *worker) attempt(body func(*worker) error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("pvesim: %v", v)
			k.say(strings.Split(string(debug.Stack()), "\n")...)
		}
	}()
	if err = body(k); err == nil {
		err = k.due(true)
	}
	return err
}

// end files the task with the text that its outcome has.
func (k *worker) end(err error) {
	status := "OK"
	switch {
	case err != nil:
		status = strings.ReplaceAll(strings.TrimRight(err.Error(), "\n"), "\n", " ")
	case k.warnings > 0:
		status = fmt.Sprintf("WARNINGS: %d", k.warnings)
	}
	k.world.EndTask(k.task, status, k.srv.now())
	k.task.worker = nil
}

// say writes lines into the task's log.
func (k *worker) say(lines ...string) { k.task.Say(lines...) }

// sayf writes one line.
func (k *worker) sayf(format string, args ...any) { k.task.Say(fmt.Sprintf(format, args...)) }

// warnf writes a warning, which counts for the way the task ends.
func (k *worker) warnf(format string, args ...any) {
	k.warnings++
	k.task.Say("WARN: " + fmt.Sprintf(format, args...))
}

// stamp begins a line of those logs that have the time in front of each.
func (k *worker) stamp() string { return k.now().UTC().Format("2006-01-02 15:04:05") + " " }

func (k *worker) now() time.Time { return k.srv.now() }

// seconds is for how long the task has been running.
func (k *worker) seconds() int64 { return max(k.now().Unix()-k.task.Start.Unix(), 0) }

// rest lets that many steps of time pass, in which others may look at the
// world and change it. The error is why the task must end: it was stopped, or a
// fault that was set up is due. The world must be looked at anew afterwards.
func (k *worker) rest(steps int) error {
	for range steps {
		if err := k.pause(); err != nil {
			return err
		}
		k.rested++
		if err := k.due(false); err != nil {
			return err
		}
	}
	return nil
}

// due gives the failure that was set up for this task, once its time has come.
func (k *worker) due(last bool) error {
	for i, f := range k.faults {
		if f.Kind != FaultTaskFail || !last && k.rested <= f.After {
			continue
		}
		k.faults = append(k.faults[:i:i], k.faults[i+1:]...)
		return errors.New(f.reason("command 'simulated' failed: exit code 1"))
	}
	return nil
}

// pause is one step of time without the lock.
func (k *worker) pause() error {
	if k.stopped {
		return errInterrupted
	}
	wait := k.srv.opts.TaskStep
	for _, f := range k.faults {
		if f.Kind == FaultTaskSlow {
			wait = time.Duration(f.Delay)
		}
	}
	k.world.mu.Unlock()
	defer k.world.mu.Lock()
	for {
		held, changed := k.srv.faults.holds(k.task.Type, k.task.ID)
		if !held {
			break
		}
		select {
		case <-k.step:
			return nil
		case <-changed:
		case <-k.stop:
			return errInterrupted
		case <-k.srv.done:
			return errClosed
		}
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-k.stop:
		return errInterrupted
	case <-k.srv.done:
		return errClosed
	}
}

// interrupt ends the worker at its next rest. The caller holds the world's lock.
func (k *worker) interrupt() {
	if !k.stopped {
		k.stopped = true
		close(k.stop)
	}
}

// StepTask lets a task that a [FaultTaskHold] holds go on by one step; false
// when no such task runs. Each call is one step, even of a task that has not
// come to its rest yet.
func (s *Server) StepTask(upid string) bool {
	s.world.mu.RLock()
	defer s.world.mu.RUnlock()
	t := s.world.Task(upid)
	if t == nil || t.worker == nil {
		return false
	}
	select {
	case t.worker.step <- struct{}{}:
		return true
	default:
		return false
	}
}

// later does something after a while, as daemons do that nobody asked. It is
// called with the world's lock held, and f is.
func (s *Server) later(wait time.Duration, f func()) {
	s.tasks.Add(1)
	go func() {
		defer s.tasks.Done()
		if !s.pause(wait) {
			return
		}
		s.world.mu.Lock()
		defer s.world.mu.Unlock()
		f()
	}()
}

func init() { register("DELETE /nodes/{node}/tasks/{upid}", stopTask) }

// stopTask sends a task the signal to end; one that has ended takes no notice.
func stopTask(c *call) (any, error) {
	t, err := c.theTask()
	if err != nil {
		return nil, err
	}
	owner, _ := splitUser(t.User)
	if !c.seesAll() && t.User != c.who.name() && owner != c.who.user {
		if err := c.need("/nodes/"+c.node(), "Sys.Modify"); err != nil {
			return nil, err
		}
	}
	switch {
	case t.End != 0:
	case t.worker != nil:
		t.worker.interrupt()
	default: // it was written down as running, and nobody works on it
		c.world.EndTask(t, errInterrupted.Error(), c.now)
	}
	return nil, nil
}

// runningTasks lists the tasks of these types that run for a guest on a node.
func (w *World) runningTasks(node apidoc.Node, id apidoc.VMID, kinds ...string) []*Task {
	n := w.Node(node)
	if n == nil {
		return nil
	}
	var some []*Task
	for _, t := range n.tasks.active {
		if t.ID == id.String() && containsText(kinds, t.Type) {
			some = append(some, t)
		}
	}
	return some
}
