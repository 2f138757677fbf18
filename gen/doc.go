// Package gen turns Proxmox's API schema and the overlay into Go.
//
// It exists because no one can keep 675 methods right by hand: the schema says
// what the API takes and gives, the overlay says what people have judged and
// corrected, and the code that follows from both is made here, whole, every
// time. What the schema says and this package does not understand stops it
// with the place; nothing is skipped silently.
//
// # What comes out
//
// [Generate] gives the files of one package:
//
//	GROUP.gen.go      typed methods, params structs and result types of a group:
//	                  the first two words of the path
//	client.gen.go     Client, its constructor and the interface that it calls through
//	effects.gen.go    what the overlay says about each method, as a static array
//	lookup.gen.go     EffectOf and ParamsSchema, which find a method's effect and the
//	                  JSON Schema of its parameters
//	schemas.jsonl     these schemas, one method a line
//
// # Names
//
// A method's Go name is its verb and the words of its path: `GET
// /nodes/{node}/qemu/{vmid}/config` is GetNodesQemuConfig. Parameters of the
// path are left out, except those that end it, which follow By: `DELETE
// /nodes/{node}/qemu/{vmid}` is DeleteNodesQemuByVmid. A name thus depends on
// its own path alone, so a new endpoint renames no other. Field names follow
// the same rule; the map of an indexed parameter (`net[n]`) is called like
// its stem, Net, or with an N behind where that is taken (numa and `numa[n]`).
// Where two names meet all the same, that is an error, and the overlay's
// [names] settles it.
//
// # Types
//
// Required parameters are values, optional ones pointers, arrays slices,
// indexed ones maps keyed by index. What has a named type in apidoc (Node,
// VMID, Storage, UPID, VolID, Pool, Realm, UserID) uses it in paths, and in
// parameters wherever the schema's format says that it is one. Answers use the
// lenient scalars of pverest; a position whose form nobody declared is a
// json.RawMessage.
package gen

//go:generate go run ../cmd/pvegen -in ../apidoc/facts/pve-9.2.json -out ../generated
