package pvesim

import (
	"fmt"
	"math/rand/v2"
	"sort"
	"strings"

	"pvemcp/apidoc"
)

// archive writes a guest's backup: what the guest goes through meanwhile, the
// progress, the new volume, its notes, and what falls to the retention.
func (j *dumpJob) archive(g *Guest, mode string, running bool, size, when int64) error {
	s := j.world.Storage(j.storageID())
	v := j.newArchive(s, g, size, when)
	if s != nil && s.Type == "pbs" {
		j.info("creating Proxmox Backup Server archive '%s'", strings.TrimPrefix(string(v.ID), string(s.ID)+":backup/"))
	} else {
		j.info("creating vzdump archive '%s'", j.archivePath(s, v))
	}
	agent := g.Kind == apidoc.QEMU && running && mode != "stop" && g.agentConfigured() && g.Agent != nil && !g.Agent.Hung
	switch {
	case agent:
		j.info("issuing guest-agent 'fs-freeze' command")
		j.info("issuing guest-agent 'fs-thaw' command")
	case mode == "suspend" && running:
		j.info("suspending guest")
	case mode == "stop" && running:
		j.info("stopping virtual guest")
	case g.Kind == apidoc.QEMU && !running:
		j.info("starting kvm to execute backup task")
	}
	config := g.Config.Clone()
	for _, k := range config.Keys() {
		if k == "lock" || k == "parent" || k == "vmstate" || indexed(k, "unused") {
			config.Delete(k)
		}
	}
	v.Config = &config
	seed := mix(j.world.Seed ^ uint64(g.ID)<<32 ^ uint64(when))
	if g.Kind == apidoc.QEMU {
		j.info("started backup task '%s'", uuid(rand.New(rand.NewPCG(seed, 1))))
		if running && mode == "stop" {
			j.info("resuming VM again after 5 seconds")
		} else if running {
			j.info("resuming VM again")
		}
	}
	taken := v.Taken()
	for i, p := range [...]int64{0, 25, 50, 75, 100} {
		if g.Kind == apidoc.QEMU {
			j.info("%3d%% (%s of %s) in %ds, read: %s/s, write: %s/s", p, sizeText(size*p/100), sizeText(size), max(3*i, 1), sizeText(size/12+1), sizeText(taken/12+1))
		} else if i == 1 {
			j.info("starting first sync /proc/%d/root/ to /var/tmp/vzdumptmp%d_%d", 4000+g.ID, j.task.PID, g.ID)
		}
		if p == 100 {
			break
		}
		if err := j.rest(1); err != nil {
			if stopped(err) {
				j.sayf("ERROR: interrupted by signal")
			}
			return err
		}
		if g = j.world.Guest(g.ID); g == nil {
			return fail("unable to find VM '%s'", v.Owner)
		}
		if s = j.world.Storage(j.storageID()); s == nil {
			continue
		}
		if !s.active() {
			return fail("%s", broken(s, "Stale file handle (os error 116)", "job failed with err -116 - Stale file handle"))
		}
		if place := s.Place(j.node); place.Total > 0 && place.Used+taken*p/100 > place.Total {
			if s.Type != "pbs" {
				j.sayf("zstd: error 70 : Write error : cannot write block : No space left on device ")
			}
			return fail("%s", broken(s, "No space left on device (os error 28)", "vma_queue_write: write error - Broken pipe"))
		}
	}
	if g.Kind == apidoc.QEMU {
		zero := int(20 + seed%60)
		j.info("backup is sparse: %s (%d%%) total zero data", sizeText(size/100*int64(zero)), zero)
		j.info("transferred %s in 12 seconds (%s/s)", sizeText(size), sizeText(size/12+1))
	} else {
		j.info("Total bytes written: %d (%s, %s/s)", size/3, strings.ReplaceAll(sizeText(size/3), " ", ""), strings.ReplaceAll(sizeText(size/36+1), " ", ""))
	}
	if s == nil || s.Type != "pbs" {
		j.info("archive file size: %s", strings.ReplaceAll(strings.ReplaceAll(sizeText(v.Size), " ", ""), "iB", "B"))
	}
	if mode == "stop" && running {
		g.Started = j.now().Unix()
		j.info("restarting vm")
		j.info("guest is online again after 12 seconds")
	} else if mode == "suspend" && running {
		j.info("resume vm")
		j.info("guest is online again after 5 seconds")
	}
	if s == nil {
		return nil
	}
	if t := j.option("notes-template"); t != "" {
		j.info("adding notes to backup")
		v.Notes = strings.NewReplacer("{{cluster}}", j.world.Cluster, "{{guestname}}", g.ShownName(), "{{node}}", string(j.node), "{{vmid}}", g.ID.String(), `\n`, "\n", `\\`, `\`).Replace(t)
	}
	if j.is("protected", false) {
		j.info("marking backup as protected")
		v.Protected = true
	}
	s.Place(j.node).Add(v)
	if keep := j.retention(s); j.is("remove", true) && !strings.Contains(keep, "keep-all=1") {
		j.info("prune older backups with retention: %s", keep)
		pruned := s.prune(j.node, keep, func(x *Volume) bool { return x.Owner == g.ID && backupKind(x) == g.Kind })
		tail := ""
		if len(pruned) > 0 {
			tail = " not covered by keep-retention policy"
		}
		j.info("pruned %d backup(s)%s", len(pruned), tail)
	}
	return nil
}

// broken words a failure of the target as the backup client of its type does.
func broken(s *Storage, pbs, file string) string {
	if s.Type == "pbs" {
		return "backup write data failed: command error: write_data upload error: pipelined request failed: " + pbs
	}
	return file
}

// newArchive is the volume that a backup will be; it is not on the storage yet.
func (j *dumpJob) newArchive(s *Storage, g *Guest, size, when int64) *Volume {
	v := &Volume{Content: "backup", Owner: g.ID, Created: when, Size: size}
	taken := max(size/100*int64(15+mix(uint64(g.ID))%25), mib)
	pbs := s != nil && s.Type == "pbs"
	base := map[apidoc.GuestKind]string{apidoc.QEMU: "vma", apidoc.LXC: "tar"}[g.Kind]
	suffix := map[string]string{"zstd": ".zst", "gzip": ".gz", "lzo": ".lzo", "1": ".lzo"}[j.option("compress")]
	switch {
	case pbs:
		v.Used = max(taken/8, 1) // deduplicated
	case suffix == "":
		v.Size = max(size/2, mib)
	default:
		v.Size = taken
	}
	where := s
	if where == nil {
		where = &Storage{ID: "dumpdir", Type: "dir"}
	}
	for { // two in one second would have the same name
		v.ID, v.Format = backupName(where, g.Kind, g.ID, v.Created)
		if !pbs {
			v.ID = apidoc.VolID(strings.TrimSuffix(string(v.ID), v.Format) + base + suffix)
			v.Format = base + suffix
		}
		if s == nil || s.look(j.node).volumes[v.ID] == nil {
			return v
		}
		v.Created++
	}
}

func (j *dumpJob) archivePath(s *Storage, v *Volume) string {
	_, name, _ := v.ID.Split()
	name = strings.TrimPrefix(name, "backup/")
	switch {
	case s == nil:
		return fmt.Sprintf("%s/%s", strings.TrimSuffix(j.option("dumpdir"), "/"), name)
	case s.Options.Get("path") == "":
		return "/mnt/pve/" + string(s.ID) + "/dump/" + name
	}
	return s.pathOf(v)
}

// backupKind tells what a backup is of.
func backupKind(v *Volume) apidoc.GuestKind {
	if strings.Contains(string(v.ID), "/ct/") || strings.Contains(string(v.ID), "vzdump-lxc-") {
		return apidoc.LXC
	}
	return apidoc.QEMU
}

// prune removes the backups that a retention does not keep, of those that are
// wanted, and gives them, oldest first.
func (s *Storage) prune(node apidoc.Node, keep string, wanted func(*Volume) bool) []*Volume {
	type group struct {
		kind apidoc.GuestKind
		id   apidoc.VMID
	}
	groups := map[group][]*Volume{}
	for _, v := range s.look(node).Volumes() {
		if v.Content == "backup" && wanted(v) {
			k := group{backupKind(v), v.Owner}
			groups[k] = append(groups[k], v)
		}
	}
	var gone []*Volume
	for _, list := range groups {
		sort.SliceStable(list, func(i, j int) bool { return list[i].Created > list[j].Created })
		for v, mark := range pruneMarks(list, keepOptions(keep)) {
			if mark == "remove" {
				gone = append(gone, v)
			}
		}
	}
	sort.Slice(gone, func(i, j int) bool {
		return gone[i].Created < gone[j].Created || gone[i].Created == gone[j].Created && gone[i].ID < gone[j].ID
	})
	for _, v := range gone {
		s.Place(node).Remove(v.ID)
	}
	return gone
}
