package pvesim

import (
	"crypto/ecdsa"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"slices"
	"strings"
)

func init() {
	const base = "/nodes/{node}/certificates/"
	register("POST "+base+"custom", uploadCertificate)
	register("DELETE "+base+"custom", dropCertificate)
	register("POST "+base+"acme/certificate", func(c *call) (any, error) { return orderCertificate(c, "acmenewcert") })
	register("PUT "+base+"acme/certificate", func(c *call) (any, error) { return orderCertificate(c, "acmerenew") })
	register("DELETE "+base+"acme/certificate", func(c *call) (any, error) { return orderCertificate(c, "acmerevoke") })
}

// customCertificate is the file of a certificate that pveproxy shows instead
// of the cluster's own.
const customCertificate = "pveproxy-ssl.pem"

func (n *Node) certificate(file string) *Certificate {
	for _, k := range n.Certificates {
		if k.File == file {
			return k
		}
	}
	return nil
}

func (n *Node) dropCertificate(file string) {
	n.Certificates = slices.DeleteFunc(slices.Clone(n.Certificates), func(k *Certificate) bool { return k.File == file })
}

// readCertificate tells of the first certificate in a chain what lists show.
func readCertificate(text string) (*Certificate, error) {
	block, _ := pem.Decode([]byte(text))
	if block == nil || block.Type != "CERTIFICATE" {
		return nil, fail("unable to parse certificate chain: no certificate found")
	}
	x, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, fail("unable to parse certificate: %v", err)
	}
	k := &Certificate{
		File: customCertificate, Fingerprint: fingerprint(x.Raw), Subject: "/CN=" + x.Subject.CommonName, Issuer: "/CN=" + x.Issuer.CommonName,
		NotBefore: x.NotBefore.Unix(), NotAfter: x.NotAfter.Unix(), SAN: x.DNSNames, PEM: text,
	}
	for _, ip := range x.IPAddresses {
		k.SAN = append(k.SAN, ip.String())
	}
	switch key := x.PublicKey.(type) {
	case *rsa.PublicKey:
		k.KeyType, k.KeyBits = "rsaEncryption", key.N.BitLen()
	case *ecdsa.PublicKey:
		k.KeyType, k.KeyBits = "id-ecPublicKey", key.Curve.Params().BitSize
	default:
		k.KeyType = fmt.Sprint(x.PublicKeyAlgorithm)
	}
	return k, nil
}

func uploadCertificate(c *call) (any, error) {
	n, err := c.theNode()
	if err != nil {
		return nil, err
	}
	if err := c.quorum("node_cfg"); err != nil {
		return nil, err
	}
	if n.certificate(customCertificate) != nil && !c.flag("force", false) {
		return nil, refuse("force", "Custom certificate exists but 'force' is not set.")
	}
	if !c.has("key") && n.certificate(customCertificate) == nil {
		return nil, refuse("key", "Attempted to upload custom certificate without (existing) key.")
	}
	k, err := readCertificate(c.param("certificates"))
	if err != nil {
		return nil, err
	}
	n.dropCertificate(customCertificate)
	n.Certificates = append(n.Certificates, k)
	o := object{{"filename", k.File}, {"fingerprint", k.Fingerprint}, {"subject", k.Subject}, {"issuer", k.Issuer}, {"notbefore", k.NotBefore}, {"notafter", k.NotAfter}, {"public-key-type", k.KeyType}, {"public-key-bits", k.KeyBits}, {"pem", k.PEM}}
	if k.SAN != nil {
		o.put("san", k.SAN)
	}
	return c.one(o), nil
}

func dropCertificate(c *call) (any, error) {
	n, err := c.theNode()
	if err != nil {
		return nil, err
	}
	n.dropCertificate(customCertificate)
	return nil, nil
}

// acmeDomains are the names that a node's certificate is ordered for.
func (n *Node) acmeDomains() []string {
	var names []string
	n.Config.Each(func(k, v string) bool {
		if k == "acme" {
			if d := subOption(v, "domains"); d != "" {
				names = append(names, strings.FieldsFunc(d, func(r rune) bool { return r == ';' || r == ' ' })...)
			}
		} else if indexed(k, "acmedomain") {
			names = append(names, strings.TrimPrefix(firstPart(v), "domain="))
		}
		return true
	})
	return names
}

// orderCertificate orders, renews or revokes a certificate for the names in
// the node's configuration.
func orderCertificate(c *call, kind string) (any, error) {
	n, err := c.theNode()
	if err != nil {
		return nil, err
	}
	names, now := n.acmeDomains(), n.certificate(customCertificate)
	switch {
	case kind != "acmerevoke" && len(names) == 0:
		return nil, &apiError{Status: 400, Message: "ACME domain list in node configuration is missing!\n"}
	case kind == "acmenewcert" && now != nil && !c.flag("force", false):
		return nil, refuse("force", "Custom certificate exists but 'force' is not set.")
	case kind == "acmerenew" && now == nil:
		return nil, fail("No current (custom) certificate found, please order a new certificate!")
	case kind == "acmerenew" && now.NotAfter > c.now.Unix()+30*day && !c.flag("force", false):
		return nil, refuse("force", "Certificate does not expire within the next 30 days, and 'force' is not set.")
	case kind == "acmerevoke" && now == nil:
		return nil, fail("no custom certificate found")
	}
	return c.launch(kind, "", func(k *worker) error {
		n := k.world.Node(k.task.Node)
		if kind == "acmerevoke" {
			k.say("Loading ACME account details", "Revoking old certificate")
			if err := k.rest(1); err != nil {
				return err
			}
			n.dropCertificate(customCertificate)
			k.say("Deleting certificate files", "Restarting pveproxy to revert to self-signed certificates")
			return nil
		}
		k.say("Loading ACME account details", "Placing ACME order")
		for _, name := range names {
			k.say("Getting authorization details for '"+name+"'", "The validation for "+name+" is pending!", "Setting up webserver", "Triggering validation", "Sleeping for 5 seconds")
			if err := k.rest(1); err != nil {
				return err
			}
			k.sayf("Status is 'valid', domain '%s' OK!", name)
		}
		k.say("All domains validated!", "Creating CSR", "Checking order status", "Order is ready, finalizing order", "valid!", "Downloading certificate", "Setting pveproxy certificate and key", "Restarting pveproxy")
		from := k.now().Unix()
		seed := digestOf(fmt.Sprint(n.Name, names, from))
		print := strings.ToUpper(seed + seed[:24])
		var pairs []string
		for i := 0; i < len(print); i += 2 {
			pairs = append(pairs, print[i:i+2])
		}
		n.dropCertificate(customCertificate)
		n.Certificates = append(n.Certificates, &Certificate{File: customCertificate, Fingerprint: strings.Join(pairs, ":"), Subject: "/CN=" + names[0], Issuer: "/C=US/O=Let's Encrypt/CN=R13", NotBefore: from, NotAfter: from + 90*day, SAN: names, KeyType: "rsaEncryption", KeyBits: 4096})
		return nil
	})
}
