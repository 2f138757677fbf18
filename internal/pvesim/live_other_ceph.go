package pvesim

import "strings"

// Ceph and ACME accounts: what the schema has that stands or falls with a
// service which this world only knows by its state.

func init() {
	const node = "/nodes/{node}/ceph/"
	for _, key := range [...]string{
		"DELETE " + node + "fs/{name}", "POST " + node + "fs/{name}", "POST " + node + "init",
		"DELETE " + node + "mds/{name}", "POST " + node + "mds/{name}", "DELETE " + node + "mgr/{id}", "POST " + node + "mgr/{id}",
		"DELETE " + node + "mon/{monid}", "POST " + node + "mon/{monid}", "POST " + node + "osd", "DELETE " + node + "osd/{osdid}",
		"POST " + node + "osd/{osdid}/in", "POST " + node + "osd/{osdid}/out", "POST " + node + "osd/{osdid}/scrub",
		"POST " + node + "pool", "DELETE " + node + "pool/{name}", "PUT " + node + "pool/{name}",
		"POST " + node + "restart", "POST " + node + "start", "POST " + node + "stop",
		"PUT /cluster/ceph/flags", "PUT /cluster/ceph/flags/{flag}",
	} {
		register(key, func(c *call) (any, error) {
			if c.world.Ceph == nil {
				return nil, noCeph()
			}
			return nil, c.notHere()
		})
	}
	register("GET /cluster/acme/account", func(c *call) (any, error) { return c.rows(accounts.all(c.world)), nil })
	register("GET /cluster/acme/account/{name}", acmeAccount)
	register("POST /cluster/acme/account", registerAccount)
	register("PUT /cluster/acme/account/{name}", func(c *call) (any, error) { return changeAccount(c, "acmeupdate") })
	register("DELETE /cluster/acme/account/{name}", func(c *call) (any, error) { return changeAccount(c, "acmedeactivate") })
}

// accounts are those with a certificate authority. Tasks make and end them.
var accounts = sectionKind{path: "acme/account", id: "name"}

func (c *call) accountName() string {
	if n := c.param("name"); n != "" {
		return n
	}
	return "default"
}

func acmeAccount(c *call) (any, error) {
	s := accounts.find(c.world, c.path["name"])
	if s == nil {
		return nil, noAccount(c.path["name"])
	}
	contact := []string{}
	for mail := range strings.SplitSeq(s.Options.Get("contact"), ",") {
		contact = append(contact, "mailto:"+mail)
	}
	return c.one(object{
		{"account", object{{"status", "valid"}, {"contact", contact}}}, {"directory", s.Options.Get("directory")},
		{"location", s.Options.Get("directory") + "/acct/" + digestOf(s.ID)[:8]}, {"tos", s.Options.Get("tos_url")},
	}), nil
}

func noAccount(name string) error {
	return fail("ACME account config file '%s' does not exist.", name)
}

func registerAccount(c *call) (any, error) {
	name := c.accountName()
	if accounts.find(c.world, name) != nil {
		return nil, refuse("name", "ACME account config file '"+name+"' already exists.")
	}
	directory, contact, tos := c.param("directory"), strings.Join(c.list("contact"), ","), c.param("tos_url")
	if directory == "" {
		directory = "https://acme-v02.api.letsencrypt.org/directory"
	}
	return c.launch("acmeregister", name, func(k *worker) error {
		k.say("Generating ACME account key..", "Registering ACME account..")
		if err := k.rest(1); err != nil {
			return err
		}
		if accounts.find(k.world, name) != nil {
			return fail("ACME account config file '%s' already exists.", name)
		}
		k.world.Sections = append(k.world.Sections, &Section{Kind: accounts.path, ID: name, Options: NewConfig("directory", directory, "contact", contact, "tos_url", tos)})
		k.say("Registration successful, account URL: '" + directory + "/acct/" + digestOf(name)[:8] + "'")
		return nil
	})
}

func changeAccount(c *call, kind string) (any, error) {
	name, contact := c.path["name"], strings.Join(c.list("contact"), ",")
	if accounts.find(c.world, name) == nil {
		return nil, noAccount(name)
	}
	return c.launch(kind, name, func(k *worker) error {
		if err := k.rest(1); err != nil {
			return err
		}
		s := accounts.find(k.world, name)
		switch {
		case s == nil:
			return noAccount(name)
		case kind == "acmeupdate" && contact != "":
			s.Options.Set("contact", contact)
		case kind == "acmedeactivate":
			left := []*Section{}
			for _, x := range k.world.Sections {
				if x != s {
					left = append(left, x)
				}
			}
			k.world.Sections = left
			k.sayf("Renaming account file from '/etc/pve/priv/acme/%s' to '/etc/pve/priv/acme/_deactivated_%s_0'", name, name)
		}
		return nil
	})
}
