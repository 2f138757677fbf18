package pvesim

import "pvemcp/apidoc"

// migration is what is asked of one.
type migration struct {
	kind    apidoc.GuestKind
	id      apidoc.VMID
	target  apidoc.Node
	online  bool
	restart bool // stop, move, start
	local   bool // with local disks
	storage string
	timeout int64
}

func (k *worker) migrate(m migration) error { return nil }
