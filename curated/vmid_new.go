package curated

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"pvemcp/apidoc"
	"pvemcp/curated/gate"
	"pvemcp/curated/render"
	"pvemcp/generated"
	"pvemcp/internal/pverest"
)

// newVMID gives the id for a new guest: the caller's, when it is free, or the
// next free one. Proxmox's answer is no reservation: someone else may take it.
func (c *Call) newVMID(ctx context.Context, wanted int) (apidoc.VMID, error) {
	var p *generated.GetClusterNextidParams
	if wanted != 0 {
		id, err := apidoc.ParseVMID(strconv.Itoa(wanted))
		if err != nil {
			return 0, badArg("newid", "%v", err)
		}
		p = &generated.GetClusterNextidParams{Vmid: &id}
	}
	id, err := c.api.GetClusterNextid(ctx, p)
	if err != nil {
		if wanted != 0 && pverest.IsKind(err, pverest.KindParameter) {
			return 0, badArg("newid", "%d is taken; leave it out to get the next free one", wanted)
		}
		return 0, err
	}
	return apidoc.VMID(id), nil
}

// newGuestTries is how often a new id is taken when others are faster.
const newGuestTries = 4

// withNewID carries out a change that makes a guest under a new id. When the id
// was ours to choose and someone else took it in between, the next one is tried;
// nothing has been changed then, because Proxmox refuses a taken id whole.
func (c *Call) withNewID(ctx context.Context, wanted int, w WriteArgs, wa WaitArgs, build func(id apidoc.VMID) (*change, error)) (doc, error) {
	for try := 1; ; try++ {
		id, err := c.newVMID(ctx, wanted)
		if err != nil {
			return doc{}, err
		}
		ch, err := build(id)
		if err != nil {
			return doc{}, err
		}
		// What was approved is one id: another one needs a new approval.
		again := wanted == 0 && c.gate.Approval() == gate.ByFlags
		if wanted == 0 && w.DryRun {
			otherwise := "a new dry run is needed"
			if again {
				otherwise = "the next free one is used"
			}
			ch.tells = append(ch.tells, fmt.Sprintf("The id %d is free now but not reserved; if it is taken by then, %s.", id, otherwise))
		}
		d, err := c.carryOut(ctx, ch, w, wa)
		if !again || try == newGuestTries || !idTaken(err) && !idTakenElsewhere(ch.exit, id) {
			if err == nil && !w.DryRun && d.Doc != nil && !d.failure {
				kv := &render.KV{}
				kv.Set("vmid", render.Int(int(id)))
				d.Add(kv)
			}
			return d, err
		}
	}
}

// idTakenElsewhere tells the same of a task that failed: a clone of a VM finds
// a taken id at once only on its own node; elsewhere it fails when it writes the
// new configuration down, before anything is copied.
func idTakenElsewhere(exit string, id apidoc.VMID) bool {
	return strings.Contains(exit, "/"+id.String()+".conf") && strings.Contains(exit, "File exists")
}

// idTaken tells that an id was refused because a guest has it.
func idTaken(err error) bool {
	if !pverest.IsKind(err, pverest.KindConflict, pverest.KindServer, pverest.KindParameter) {
		return false
	}
	text := err.Error()
	return strings.Contains(text, "already exists") || strings.Contains(text, "config file already exists")
}
