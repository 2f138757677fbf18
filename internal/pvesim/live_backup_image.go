package pvesim

import (
	"fmt"
	"slices"
	"strings"

	"pvemcp/apidoc"
)

// fill writes data into a volume.
func (p *Place) fill(v *Volume, used int64) {
	if v.Used == 0 || p.volumes[v.ID] != v { // thick, or gone
		return
	}
	p.Used += used - v.Used
	v.Used = used
}

// machine restores a VM. Each old disk under a key of the backup is freed
// before its successor is allocated.
func (r *restoring) machine(v *Volume, from *Storage) error {
	g := r.world.Guest(r.id)
	var disks []Disk
	for _, d := range r.targets() {
		if in, _ := (&Guest{Kind: r.kind}).backedUp(d); in {
			disks = append(disks, d)
		} else { // it comes back as a comment
			r.config.Delete(d.Key)
		}
	}
	pbs := from.Type == "pbs"
	if !pbs {
		r.sayf("restore vma archive: zstd -q -d -c %s | vma extract -v -r /var/tmp/vzdumptmp%d.fifo - /var/tmp/vzdumptmp%d", from.pathOf(v), r.task.PID, r.task.PID)
		for i, d := range disks {
			r.sayf("DEV: dev_id=%d size: %d devname: drive-%s", i+1, d.Size, d.Key)
		}
		r.sayf("CTIME: %s", r.now().UTC().Format("Mon Jan _2 15:04:05 2006"))
	}
	if r.old {
		for _, d := range g.Disks() {
			if slices.ContainsFunc(disks, func(n Disk) bool { return n.Key == d.Key }) || d.Key == "vmstate" {
				r.free(g, d)
			}
		}
		for _, s := range g.Snapshots {
			for _, d := range Disks(r.kind, &s.Config) {
				if d.Key == "vmstate" {
					r.free(g, d)
				}
			}
		}
	}
	made := map[string]*Volume{}
	err := r.write(disks, made, func(d Disk, n *Volume, s *Storage) {
		r.sayf("new volume ID is '%s'", n.ID)
		if pbs {
			r.sayf("restore proxmox backup image: /usr/bin/pbs-restore --repository %s %s drive-%s.img.fidx %s --verbose --format raw --skip-zero", from.Options.Get("username")+"@"+from.Options.Get("server")+":"+from.Options.Get("datastore"), strings.TrimPrefix(string(v.ID), string(from.ID)+":backup/"), d.Key, s.pathOf(n))
		} else {
			r.sayf("map 'drive-%s' to '%s' (write zeros = 0)", d.Key, s.pathOf(n))
		}
	}, func(d Disk, percent int64) {
		if pbs {
			r.sayf("progress %d%% (read %d bytes, zeroes = 0%% (0 bytes), duration %d sec)", percent, d.Size*percent/100, percent/10)
		} else {
			r.sayf("progress %d%% (read %d bytes, duration %d sec)", percent, d.Size*percent/100, percent/10)
		}
	})
	g = r.world.Guest(r.id)
	if g != nil && g.Lock() == "create" && err != nil {
		g.Config.Delete("lock")
	}
	if err == nil && g == nil {
		err = noConfig(r.kind, string(r.task.Node), int(r.id))
	}
	if err != nil {
		for _, d := range disks {
			if n := made[d.Key]; n != nil {
				_ = r.world.freeVolume(r.task.Node, n.ID)                // it may be gone with its storage
				r.sayf("temporary volume '%s' sucessfuly removed", n.ID) //nolint:misspell // Proxmox's spelling
			}
		}
		r.sayf("error before or during data restore, some or all disks were not completely restored. VM %d state is NOT cleaned up.", r.id)
		return err
	}
	kept := r.unused(g, disks)
	r.finish(g, made)
	for i, vol := range kept {
		g.Config.Set(fmt.Sprintf("unused%d", i), string(vol))
	}
	r.say("rescan volumes...")
	if r.start {
		if err := r.startVM(r.id, false); err != nil {
			r.sayf("failed to start VM %d: %s", r.id, strings.TrimRight(err.Error(), "\n"))
		}
	}
	return nil
}

// unused are the volumes of the overwritten guest that the backup knows
// nothing of.
func (r *restoring) unused(g *Guest, disks []Disk) []apidoc.VolID {
	var kept []apidoc.VolID
	for _, d := range g.Disks() {
		if d.CDROM || slices.ContainsFunc(disks, func(n Disk) bool { return n.Key == d.Key }) {
			continue
		}
		if s, _, ok := d.Volume.Split(); ok && r.world.Storage(s) != nil && r.world.Storage(s).look(g.Node).Volume(d.Volume) != nil {
			kept = append(kept, d.Volume)
		}
	}
	return kept
}

// container restores a container: new volumes first, then all old ones go,
// then the archive is unpacked.
func (r *restoring) container(v *Volume) error {
	r.sayf("recovering backed-up configuration from '%s'", r.archive)
	disks := r.targets()
	for _, k := range r.given.Keys() { // mount points of the call stand for those of the backup
		if k == "rootfs" || indexed(k, "mp") {
			disks = slices.DeleteFunc(disks, func(d Disk) bool { return d.Key == k })
			value := r.given.Get(k)
			where, size, _ := strings.Cut(firstPart(value), ":")
			disks = append(disks, Disk{Key: k, Volume: apidoc.VolID(where + ":"), Size: parseDiskSize(size + "G"), Value: value})
			r.config.Set(k, value)
			r.given.Delete(k)
		}
	}
	made := map[string]*Volume{}
	r.sayf("restoring '%s' now..", r.archive)
	freed := false
	err := r.write(disks, made, func(d Disk, n *Volume, s *Storage) {
		r.sayf("Creating filesystem with %d 4k blocks", n.Size/4096)
	}, func(_ Disk, percent int64) {
		if percent > 0 && !freed && len(made) == len(disks) {
			freed = true
			if g := r.world.Guest(r.id); r.old && g != nil {
				for _, d := range g.Disks() {
					r.free(g, d)
				}
			}
			r.sayf("extracting archive '%s'", r.archive)
		}
	})
	g := r.world.Guest(r.id)
	if err == nil && g == nil {
		err = noConfig(r.kind, string(r.task.Node), int(r.id))
	}
	if err != nil {
		for _, n := range made {
			_ = r.world.freeVolume(r.task.Node, n.ID) // it may be gone with its storage
		}
		if g != nil && r.old && g.Lock() == "create" {
			g.Config.Delete("lock")
		}
		err = r.failed(err)
		if stopped(err) {
			return err
		}
		return fail("unable to restore CT %d - %s", r.id, strings.TrimRight(err.Error(), "\n"))
	}
	r.sayf("Total bytes read: %d (%s, 112MiB/s)", v.Size*2, strings.ReplaceAll(sizeText(v.Size*2), " ", ""))
	r.say("merging backed-up and given configuration..")
	r.finish(g, made)
	if n := made["rootfs"]; n != nil {
		g.DiskUsed = n.Taken()
	}
	if r.start {
		return r.startCT(r.id, false)
	}
	return nil
}

// write allocates the disks and writes them, with rests in which others see it
// half done.
func (r *restoring) write(disks []Disk, made map[string]*Volume, begun func(Disk, *Volume, *Storage), progress func(Disk, int64)) error {
	for _, d := range disks {
		s, err := r.storageFor(d)
		if err != nil {
			return err
		}
		n, err := r.world.allocate(s, r.task.Node, image{kind: r.kind, owner: r.id, size: d.Size, at: r.now().Unix()})
		if err != nil {
			return err
		}
		made[d.Key] = n
		begun(d, n, s)
	}
	for _, d := range disks {
		for _, percent := range [...]int64{1, 34, 67, 100} {
			if err := r.rest(1); err != nil {
				return err
			}
			s, err := r.storageFor(d)
			if err != nil {
				return err
			}
			p := s.Place(r.task.Node)
			p.fill(made[d.Key], max(d.Size/100*percent*2/5, 1))
			if p.Total > 0 && p.Used > p.Total {
				return fail("command 'set -o pipefail && restore %s' failed: exit code 1: No space left on device", r.archive)
			}
			progress(d, percent)
		}
	}
	if len(disks) == 0 {
		return r.rest(1)
	}
	return nil
}

// free destroys an old volume of the guest; one of another guest stays.
func (r *restoring) free(g *Guest, d Disk) {
	if d.CDROM {
		return
	}
	if r.world.ownerOf(g.Node, d.Volume) != g.ID {
		return
	}
	if err := r.world.freeVolume(g.Node, d.Volume); err != nil {
		r.say(strings.TrimRight(err.Error(), "\n"))
	}
}
