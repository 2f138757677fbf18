// Package gate decides what may leave the process.
//
// It exists because a rule that every tool must remember is a rule that one of
// them forgets. So the decision stands in one place, at the last point that
// every call must pass: a [Gate] wraps the transport to Proxmox and judges each
// request by its verb, path and parameters as they would go over the wire,
// whoever made it: a curated tool, a raw call, an endpoint exposed as a tool.
//
// Reads that are harmless pass. A write needs a grant in its context, which
// only [Gate.Grant] issues, for exactly this verb, path and parameters, once,
// after the caller's consent was held against the call's class. In readonly
// mode there are no grants.
package gate
