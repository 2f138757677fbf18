package pvesim

import (
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"

	"pvemcp/apidoc"
)

func init() {
	base := "/nodes/{node}/qemu/{vmid}/agent"
	for name, f := range map[string]func(*call, *Guest) any{
		"ping":            func(*call, *Guest) any { return object{} },
		"fsfreeze-status": func(_ *call, g *Guest) any { return g.Agent.frozenText() },
		"fsfreeze-freeze": func(_ *call, g *Guest) any { g.Agent.frozen = true; return max(len(g.Agent.Disks), 1) },
		"fsfreeze-thaw":   func(_ *call, g *Guest) any { g.Agent.frozen = false; return max(len(g.Agent.Disks), 1) },
		"fstrim":          func(_ *call, g *Guest) any { return g.trimmed() },
		"shutdown":        func(c *call, g *Guest) any { c.agentPower(g, Stopped); return nil },
		"suspend-ram":     func(c *call, g *Guest) any { c.agentPower(g, Paused); return nil },
		"suspend-disk":    func(c *call, g *Guest) any { c.agentPower(g, Stopped); return nil },
		"suspend-hybrid":  func(c *call, g *Guest) any { c.agentPower(g, Paused); return nil },
	} {
		h := func(c *call) (any, error) {
			g, err := c.agentGuest()
			if err != nil {
				return nil, err
			}
			return c.one(object{{"result", f(c, g)}}), nil
		}
		register("POST "+base+"/"+name, h)
		agentCommands[name] = h
	}
	register("POST "+base, agentCommand)
	register("POST "+base+"/exec", agentExec)
	register("GET "+base+"/exec-status", agentExecStatus)
	register("POST "+base+"/file-write", agentFileWrite)
	register("POST "+base+"/set-user-password", agentPassword)
	register("POST /nodes/{node}/qemu/{vmid}/monitor", vmMonitor)
	register("PUT /nodes/{node}/qemu/{vmid}/sendkey", vmSendkey)
}

// agentCommands are those that POST …/agent takes by name.
var agentCommands = map[string]handler{}

func agentCommand(c *call) (any, error) {
	name := c.param("command")
	if h := agentCommands[name]; h != nil {
		return h(c)
	}
	if h := handlers["GET /nodes/{node}/qemu/{vmid}/agent/"+name]; h != nil {
		return h(c)
	}
	return nil, refuse("command", "value '"+name+"' does not have a value in the enumeration")
}

func (a *Agent) frozenText() string {
	if a.frozen {
		return "frozen"
	}
	return "thawed"
}

func (g *Guest) trimmed() object {
	paths := []object{}
	for _, d := range g.Agent.Disks {
		paths = append(paths, object{{"path", d.Mountpoint}, {"trimmed", max(d.Total-d.Used, 0) / 10}, {"minimum", 0}})
	}
	return object{{"paths", paths}}
}

// agentPower is what the system does by itself once its agent was asked.
func (c *call) agentPower(g *Guest, state RunState) {
	id, srv, w := g.ID, c.srv, c.world
	srv.later(2*srv.opts.TaskStep, func() {
		if g := w.Guest(id); g != nil && g.Up() {
			if state == Stopped {
				w.stopped(g)
			} else {
				g.State = state
			}
		}
	})
}

// process is a command that an agent has run, until somebody takes its outcome.
type process struct {
	code     int
	out, err string
}

// agentExec runs a command in the guest. The guests here know a few commands;
// of others they say that they don't.
func agentExec(c *call) (any, error) {
	g, err := c.agentGuest()
	if err != nil {
		return nil, err
	}
	command := c.params["command"]
	if len(command) == 1 && c.world.Version.Major() < 8 {
		command = strings.Fields(command[0])
	}
	if len(command) == 0 && !c.has("input-data") {
		return nil, fail("command or input-data (or both) required")
	}
	p, known := g.Agent.run(command, c.param("input-data"))
	if !known {
		return nil, fail("Agent error: Guest agent command failed, error was 'Failed to execute child process “%s” (No such file or directory)'", command[0])
	}
	if g.Agent.processes == nil {
		g.Agent.processes = map[int64]process{}
	}
	pid := int64(c.world.nextPID())
	g.Agent.processes[pid] = p
	return c.one(object{{"pid", pid}}), nil
}

// run is the shell of the guests: enough to see output, failure and input.
func (a *Agent) run(command []string, input string) (process, bool) {
	if len(command) == 0 {
		return process{}, true
	}
	name := command[0][strings.LastIndexByte(command[0], '/')+1:]
	args := command[1:]
	switch name {
	case "true":
		return process{}, true
	case "false":
		return process{code: 1}, true
	case "echo":
		return process{out: strings.Join(args, " ") + "\n"}, true
	case "hostname":
		return process{out: a.Hostname + "\n"}, true
	case "uname":
		return process{out: strings.Join([]string{"Linux", a.Hostname, a.OS.Kernel, a.OS.Machine}, " ") + "\n"}, true
	case "whoami":
		return process{out: "root\n"}, true
	case "cat":
		if len(args) == 0 {
			return process{out: input}, true
		}
		var p process
		for _, f := range args {
			if text, ok := a.Files[f]; ok {
				p.out += text
			} else {
				p.err += "cat: " + f + ": No such file or directory\n"
				p.code = 1
			}
		}
		return p, true
	case "ls":
		var names []string
		for f := range a.Files {
			if len(args) == 0 || strings.HasPrefix(f, args[len(args)-1]) {
				names = append(names, f)
			}
		}
		slices.Sort(names)
		return process{out: strings.Join(append(names, ""), "\n")}, true
	case "sh", "bash":
		if len(args) == 2 && args[0] == "-c" {
			if p, known := a.run(strings.Fields(args[1]), input); known {
				return p, true
			}
			return process{code: 127, err: fmt.Sprintf("%s: line 1: %s: command not found\n", name, firstWord(args[1]))}, true
		}
		return process{}, true
	}
	return process{}, false
}

func firstWord(s string) string {
	if f := strings.Fields(s); len(f) > 0 {
		return f[0]
	}
	return ""
}

// agentExecStatus gives the outcome of a command once; the agent forgets it.
func agentExecStatus(c *call) (any, error) {
	g, err := c.agentGuest()
	if err != nil {
		return nil, err
	}
	a := g.Agent
	a.mu.Lock() // this is a GET, which others may make at the same time
	defer a.mu.Unlock()
	pid := c.number("pid", 0)
	p, known := a.processes[pid]
	if !known {
		return nil, fail("Agent error: PID %d does not exist", pid)
	}
	delete(a.processes, pid)
	o := object{{"exited", 1}, {"exitcode", p.code}}
	o.putIf("out-data", p.out)
	o.putIf("err-data", p.err)
	return c.one(o), nil
}

func agentFileWrite(c *call) (any, error) {
	g, err := c.agentGuest()
	if err != nil {
		return nil, err
	}
	content := c.param("content")
	if !c.flag("encode", true) {
		raw, err := base64.StdEncoding.DecodeString(content)
		if err != nil {
			return nil, fail("Agent error: Invalid base64 data")
		}
		content = string(raw)
	}
	if g.Agent.Files == nil {
		g.Agent.Files = map[string]string{}
	}
	g.Agent.Files[c.param("file")] = content
	return nil, nil
}

func agentPassword(c *call) (any, error) {
	if _, err := c.agentGuest(); err != nil {
		return nil, err
	}
	return c.one(object{{"result", object{}}}), nil
}

// vmMonitor answers with text, errors too.
func vmMonitor(c *call) (any, error) {
	g, err := c.guest(apidoc.QEMU)
	if err != nil {
		return nil, err
	}
	if !g.Up() {
		return fmt.Sprintf("ERROR: VM %d not running\n", g.ID), nil
	}
	switch c.param("command") {
	case "info status":
		return "VM status: " + string(g.State) + "\n", nil
	case "info name":
		return g.ShownName() + "\n", nil
	case "info version":
		return "11.0.0pve-qemu-kvm_11.0.0-1\n", nil
	}
	return fmt.Sprintf("unknown command: '%s'\n", c.param("command")), nil
}

func vmSendkey(c *call) (any, error) {
	g, err := c.guest(apidoc.QEMU)
	if err != nil {
		return nil, err
	}
	if !g.Up() {
		return nil, fail("VM %d not running", g.ID)
	}
	return nil, nil
}

// copied is the system of a copy of the guest.
func (a *Agent) copied() *Agent {
	return &Agent{Hung: a.Hung, OS: a.OS, Hostname: a.Hostname, Interfaces: slices.Clone(a.Interfaces), Disks: slices.Clone(a.Disks), Timezone: a.Timezone, Files: maps.Clone(a.Files)}
}
