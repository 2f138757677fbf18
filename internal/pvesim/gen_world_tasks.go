package pvesim

import (
	"fmt"
	"math/rand/v2"
	"strconv"

	"pvemcp/apidoc"
)

// tasks fills the archives: last night's backups, some of which failed, and
// what people did by day.
func (g *generator) tasks(r *rand.Rand) {
	midnight := g.now - g.now%day
	by := g.guestsByNode()
	pid := uint32(3000)
	add := func(n *Node, kind, id, user string, start, took int64, status string) {
		pid += 1 + uint32(r.IntN(900))
		if n.tasks.by == nil {
			n.tasks.by = map[string]*Task{}
		}
		t := NewTask(n.Name, kind, id, user, start, start+took, status, pid, nil)
		n.tasks.by[t.UPID] = t
		n.tasks.done = append(n.tasks.done, t)
	}
	for _, n := range g.Nodes {
		guests := by[n.Name]
		sortGuests(guests)
		last := g.now
		if !n.Online {
			last = n.OfflineSince
		}
		for d := range int64(7) {
			start := midnight - d*day + hour + 2
			if start > last {
				continue
			}
			status := "OK"
			switch c := r.IntN(100); {
			case c < 8:
				status = "job errors"
			case c < 14:
				status = "WARNINGS: 1"
			}
			add(n, "vzdump", "", "root@pam", start, 1200+int64(r.IntN(5000)), status)
			add(n, "aptupdate", "", "root@pam", midnight-d*day+2*hour+int64(r.IntN(3600)), 9, "OK")
		}
		count := min(40+len(guests)*4, 420)
		for range count {
			start := last - int64(r.IntN(int(12*day))) - 120
			user := oneOf(r, "root@pam", "root@pam", "ops@pve", "root@pam!full", "ops@pve!auto")
			if len(guests) == 0 || chance(r, 6) {
				add(n, oneOf(r, "vncshell", "srvrestart", "aptupdate"), "", user, start, int64(2+r.IntN(30)), "OK")
				continue
			}
			x := guests[r.IntN(len(guests))]
			kind, took := guestTask(r, x)
			add(n, kind, x.ID.String(), user, start, took, outcome(r, kind, x))
		}
		n.tasks.sort()
		if len(n.tasks.done) > taskLimit {
			n.tasks.done = n.tasks.done[len(n.tasks.done)-taskLimit:]
		}
	}
	if n := g.Nodes[0]; len(g.guests) > 0 && len(by[n.Name]) > 0 {
		x := by[n.Name][0]
		t := NewTask(n.Name, "vncproxy", x.ID.String(), "root@pam", g.now-95, 0, "", pid+7, []string{})
		g.AddTask(t)
	}
}

func sortGuests(guests []*Guest) {
	for i := 1; i < len(guests); i++ {
		for j := i; j > 0 && guests[j].ID < guests[j-1].ID; j-- {
			guests[j], guests[j-1] = guests[j-1], guests[j]
		}
	}
}

func guestTask(r *rand.Rand, x *Guest) (kind string, took int64) {
	if x.Kind == apidoc.LXC {
		switch r.IntN(9) {
		case 0, 1, 2:
			return "vzdump", int64(20 + r.IntN(500))
		case 3:
			return "vzmigrate", int64(20 + r.IntN(90))
		case 4:
			return "vzsnapshot", 3
		case 5:
			return "vzshutdown", int64(2 + r.IntN(50))
		case 6:
			return "vzreboot", int64(4 + r.IntN(30))
		}
		return "vzstart", 3
	}
	switch r.IntN(12) {
	case 0, 1, 2:
		return "vzdump", int64(30 + r.IntN(1500))
	case 3:
		return "qmigrate", int64(20 + r.IntN(200))
	case 4:
		return "qmsnapshot", int64(2 + r.IntN(20))
	case 5:
		return "qmshutdown", int64(3 + r.IntN(60))
	case 6:
		return "qmreboot", int64(3 + r.IntN(20))
	case 7:
		return "qmclone", int64(20 + r.IntN(300))
	case 8:
		return "vncproxy", int64(5 + r.IntN(900))
	case 9:
		return "qmstop", 2
	case 10:
		return "qmdelsnapshot", 4
	}
	return "qmstart", 3
}

// outcome says how such a task ended: mostly well.
func outcome(r *rand.Rand, kind string, x *Guest) string {
	if !chance(r, 7) {
		return "OK"
	}
	noun := "VM"
	if x.Kind == apidoc.LXC {
		noun = "CT"
	}
	switch kind {
	case "vzdump":
		return oneOf(r, "job errors", "job errors", "WARNINGS: 1", "unexpected status")
	case "qmigrate", "vzmigrate":
		return "migration aborted"
	case "qmstart":
		return oneOf(r, fmt.Sprintf("VM %d already running", x.ID), fmt.Sprintf("VM is locked (%s)", oneOf(r, "backup", "snapshot")), "start failed: QEMU exited with code 1", "volume 'nfs-data:iso/gone.iso' does not exist")
	case "vzstart":
		return "startup for container '" + strconv.Itoa(int(x.ID)) + "' failed"
	case "qmshutdown":
		return "VM quit/powerdown failed - got timeout"
	case "vzshutdown", "vzreboot":
		return "container did not stop"
	case "qmsnapshot", "vzsnapshot":
		return "snapshot feature is not available"
	case "vncproxy":
		return "connection timed out"
	case "qmreboot", "qmstop", "qmclone", "qmdelsnapshot":
		return noun + " is locked (backup)"
	}
	return "OK"
}
