package pvesim

import "pvemcp/apidoc"

// ofTasks tells whether a fault is of tasks and guests, not of calls.
func (f Fault) ofTasks() bool {
	switch f.Kind {
	case FaultTaskFail, FaultTaskSlow, FaultTaskHold, FaultDeaf:
		return true
	}
	return false
}

// reason gives the fault's own text, or what is usual.
func (f Fault) reason(usual string) string {
	if f.Reason != "" {
		return f.Reason
	}
	return usual
}

func (f Fault) hits(task, id string) bool {
	return (f.Task == "" || f.Task == task) && (f.Guest == 0 || f.Guest.String() == id)
}

// use counts one use; gone says that it was the last.
func (f *Fault) use() (used, gone bool) {
	if f.Skip > 0 {
		f.Skip--
		return false, false
	}
	if f.Times > 0 {
		f.Times--
		return true, f.Times == 0
	}
	return true, false
}

// takeTask gives the faults that hit a task which begins now.
func (b *faultBook) takeTask(task, id string) []Fault {
	return b.takeSome(func(f *Fault) bool {
		return (f.Kind == FaultTaskFail || f.Kind == FaultTaskSlow) && f.hits(task, id)
	})
}

// deaf tells whether a guest that is asked to shut down takes no notice.
func (b *faultBook) deaf(id apidoc.VMID) bool {
	return len(b.takeSome(func(f *Fault) bool { return f.Kind == FaultDeaf && f.hits(f.Task, id.String()) })) > 0
}

func (b *faultBook) takeSome(wanted func(*Fault) bool) []Fault {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []Fault
	var left []*Fault
	for _, f := range b.list {
		if wanted(f) {
			copied := *f
			used, gone := f.use()
			if used {
				out = append(out, copied)
			}
			if gone {
				continue
			}
		}
		left = append(left, f)
	}
	b.list = left
	return out
}

// holds tells whether a task must stand still; changed is closed when that may
// have become different.
func (b *faultBook) holds(task, id string) (held bool, changed <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, f := range b.list {
		if f.Kind == FaultTaskHold && f.hits(task, id) {
			if b.changed == nil {
				b.changed = make(chan struct{})
			}
			return true, b.changed
		}
	}
	return false, nil
}

// tell wakes who waits for a change. The caller holds the book's lock.
func (b *faultBook) tell() {
	if b.changed != nil {
		close(b.changed)
		b.changed = nil
	}
}
