package pvesim

import (
	"time"

	"pvemcp/apidoc"
)

// StartCheckOnly starts a cluster that has nothing in it and lets everybody do
// everything: each call that Proxmox's routing and parameter check would let
// pass is answered with data: null. It tells whether a check elsewhere decides
// alike. schema nil is the newest snapshot.
func StartCheckOnly(listen string, schema *apidoc.Schema) (*Server, error) {
	return Start(Options{Listen: listen, Schema: schema, CheckOnly: true, World: NewWorld(time.Now(), 0), NoAuthDelay: true})
}
