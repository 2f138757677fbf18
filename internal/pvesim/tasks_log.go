package pvesim

import (
	"fmt"
	"strings"
	"time"

	"pvemcp/apidoc"
)

// usualLog gives what a task of that kind and outcome writes, without the
// closing line. It is made when somebody asks, from the task's id alone.
func (w *World) usualLog(t *Task) []string {
	id := apidoc.VMID(atoi(t.ID))
	g := w.guests[id]
	seed := mix(uint64(t.PID)<<20 ^ uint64(t.Start.Unix()))
	l := &logWriter{w: w, t: t, g: g, id: id, seed: seed, at: t.Start}
	switch t.Type {
	case "vzdump":
		return l.vzdump()
	case "qmigrate", "vzmigrate":
		return l.migrate()
	case "qmclone":
		return l.clone()
	case "qmsnapshot", "vzsnapshot":
		if t.Status == "OK" && g != nil {
			for _, d := range g.Disks() {
				if !d.CDROM {
					l.say("snapshotting 'drive-%s' (%s)", d.Key, d.Volume)
				}
			}
		}
	case "aptupdate":
		l.say("starting apt-get update")
		l.say("Hit:1 http://deb.debian.org/debian trixie InRelease")
		l.say("Get:2 http://deb.debian.org/debian-security trixie-security InRelease [43.4 kB]")
		l.say("Hit:3 http://download.proxmox.com/debian/pve trixie InRelease")
		l.say("Fetched 43.4 kB in 1s (41.2 kB/s)")
		l.say("Reading package lists...")
	case "qmshutdown":
		if t.Status != "OK" {
			l.say("VM %s qmp command 'guest-ping' failed - got timeout", t.ID)
		}
	case "imgdel":
		l.say("Removed volume '%s'", t.ID)
	}
	return l.lines
}

type logWriter struct {
	w     *World
	t     *Task
	g     *Guest
	id    apidoc.VMID
	seed  uint64
	at    time.Time
	lines []string
}

func (l *logWriter) say(format string, args ...any) {
	l.lines = append(l.lines, fmt.Sprintf(format, args...))
}

func (l *logWriter) info(format string, args ...any) { l.say("INFO: "+format, args...) }

// sizeText is as Proxmox prints sizes: one decimal and a binary unit.
func sizeText(b int64) string {
	f, unit := float64(b), "B"
	for _, u := range [...]string{"KiB", "MiB", "GiB", "TiB", "PiB"} {
		if f < 1024 {
			break
		}
		f, unit = f/1024, u
	}
	return fmt.Sprintf("%.1f %s", f, unit)
}

func (l *logWriter) vzdump() []string {
	t := l.t
	var guests []*Guest
	if l.g != nil {
		guests = []*Guest{l.g}
		l.info("starting new backup job: vzdump %s --storage pbs --mode snapshot", t.ID)
	} else {
		for _, g := range l.w.GuestsOn(t.Node, "") {
			if !g.Template() && len(guests) < 40 {
				guests = append(guests, g)
			}
		}
		l.info("starting new backup job: vzdump --all 1 --mode snapshot --storage pbs --quiet 1")
	}
	total := max(t.End-t.Start.Unix(), 5)
	each := max(total/int64(max(len(guests), 1)), 3)
	failed := -1
	if statusKind(t.Status) == "error" && len(guests) > 0 {
		failed = int(l.seed % uint64(len(guests)))
	}
	for i, g := range guests {
		l.guestBackup(g, each, i == failed, i == 0 && statusKind(t.Status) == "warning")
	}
	if t.Status == "unexpected status" {
		return l.lines
	}
	if failed >= 0 {
		l.info("Backup job finished with errors")
	} else {
		l.info("Backup job finished successfully")
	}
	return l.lines
}

func (l *logWriter) guestBackup(g *Guest, seconds int64, failed, warned bool) {
	const stamp = "2006-01-02 15:04:05"
	l.info("Starting Backup of VM %d (%s)", g.ID, g.Kind)
	l.info("Backup started at %s", l.at.Format(stamp))
	status := "running"
	if g.State == Stopped {
		status = "stopped"
	}
	l.info("status = %s", status)
	if g.Kind == apidoc.LXC {
		l.info("CT Name: %s", g.ShownName())
		l.info("including mount point rootfs ('/') in backup")
	} else {
		l.info("VM Name: %s", g.ShownName())
		for _, d := range g.Disks() {
			if !d.CDROM && isDiskKey(d.Key) {
				l.info("include disk '%s' '%s' %s", d.Key, d.Volume, diskSize(d.Size))
			}
		}
	}
	l.info("backup mode: snapshot")
	l.info("ionice priority: 7")
	short := map[apidoc.GuestKind]string{apidoc.QEMU: "vm", apidoc.LXC: "ct"}[g.Kind]
	l.info("creating Proxmox Backup Server archive '%s/%d/%s'", short, g.ID, l.at.UTC().Format("2006-01-02T15:04:05Z"))
	end := l.at.Add(time.Duration(seconds) * time.Second)
	if failed {
		reason := [...]string{"job failed with err -5 - Input/output error", "backup write data failed: command error: write_data upload error: pipelined request failed: No space left on device", "unable to open file '/var/lib/vz/dump' - disk quota exceeded", fmt.Sprintf("VM %d qmp command 'backup' failed - got timeout", g.ID)}[l.seed>>8%4]
		l.say("ERROR: Backup of VM %d failed - %s", g.ID, reason)
		l.info("Failed at %s", end.Format(stamp))
		l.at = end
		return
	}
	if g.Kind == apidoc.QEMU {
		size := g.MaxDisk()
		for _, p := range [...]int64{12, 41, 73, 100} {
			l.info("%3d%% (%s of %s) in %ds, read: %s/s, write: %s/s", p, sizeText(size*p/100), sizeText(size), max(seconds*p/100, 1), sizeText(size/max(seconds, 1)), sizeText(size/max(seconds, 1)/9))
		}
		l.info("transferred %s in %d seconds (%s/s)", sizeText(size), seconds, sizeText(size/max(seconds, 1)))
	}
	if warned {
		l.say("WARN: old backups could not be pruned: permission denied")
	}
	l.info("adding notes to backup")
	l.info("Finished Backup of VM %d (%s)", g.ID, clockText(seconds))
	l.info("Backup finished at %s", end.Format(stamp))
	l.at = end
}

func clockText(seconds int64) string {
	return fmt.Sprintf("%02d:%02d:%02d", seconds/3600, seconds/60%60, seconds%60)
}

func (l *logWriter) migrate() []string {
	const stamp = "2006-01-02 15:04:05"
	say := func(format string, args ...any) {
		l.say(l.at.Format(stamp)+" "+format, args...)
		l.at = l.at.Add(time.Second)
	}
	noun := "VM"
	if strings.HasPrefix(l.t.Type, "vz") {
		noun = "CT"
	}
	target := l.w.Nodes[int(l.seed%uint64(len(l.w.Nodes)))]
	say("starting migration of %s %s to node '%s' (%s)", noun, l.t.ID, target.Name, target.IP)
	took := max(l.t.End-l.t.Start.Unix(), 1)
	if l.t.Status != "OK" {
		say("ERROR: migration aborted (duration %s): can't connect to destination address", clockText(took))
		return l.lines
	}
	if noun == "CT" {
		say("shutdown CT %s", l.t.ID)
		say("start final cleanup")
		say("start container on target node")
	} else {
		say("starting VM %s on remote node '%s'", l.t.ID, target.Name)
		say("starting online/live migration on unix:/run/qemu-server/%s.migrate", l.t.ID)
		memory := 2 * gib
		if l.g != nil {
			memory = l.g.Memory()
		}
		for _, p := range [...]int64{31, 68, 95} {
			say("migration active, transferred %s of %s VM-state, %s/s", sizeText(memory*p/100), sizeText(memory), sizeText(memory/took))
		}
		say("average migration speed: %s/s - downtime %d ms", sizeText(memory/took), 20+l.seed%90)
		say("migration status: completed")
	}
	say("migration finished successfully (duration %s)", clockText(took))
	return l.lines
}

func (l *logWriter) clone() []string {
	if l.t.Status != "OK" {
		return l.lines
	}
	size := 32 * gib
	volume := "local-lvm:vm-" + l.t.ID + "-disk-0"
	if l.g != nil && l.g.BootDisk() != "" {
		size, volume = max(l.g.MaxDisk(), gib), firstPart(l.g.Config.Get(l.g.BootDisk()))
	}
	l.say("create full clone of drive scsi0 (%s)", volume)
	for _, p := range [...]int64{0, 25, 50, 75, 100} {
		l.say("transferred %s of %s (%d.00%%)", sizeText(size*p/100), sizeText(size), p)
	}
	return l.lines
}
