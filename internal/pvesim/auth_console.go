package pvesim

// Consoles of this cluster show nothing: a websocket is refused as Proxmox
// refuses one whose ticket it did not issue.
func init() {
	for _, path := range []string{
		"/nodes/{node}/vncwebsocket",
		"/nodes/{node}/qemu/{vmid}/vncwebsocket",
		"/nodes/{node}/lxc/{vmid}/vncwebsocket",
	} {
		register("GET "+path, func(*call) (any, error) {
			return nil, &apiError{Status: 401, Message: "permission denied - invalid PVEVNC ticket\n"}
		})
	}
}
