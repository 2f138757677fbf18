package pvesim

import (
	"regexp"
	"strconv"
	"strings"

	"pvemcp/apidoc"
)

func init() {
	register("POST /nodes/{node}/storage/{storage}/upload", uploadFile)
	register("POST /nodes/{node}/storage/{storage}/download-url", downloadURL)
	register("POST /nodes/{node}/storage/{storage}/oci-registry-pull", pullImage)
	register("POST /nodes/{node}/aplinfo", downloadTemplate)
}

// fileNames are the names of files of a kind of content (pve-storage).
var fileNames = map[string]*regexp.Regexp{
	"iso":    regexp.MustCompile(`(?i)\.(?:iso|img)$`),
	"vztmpl": regexp.MustCompile(`\.(?:tar\.(?:gz|xz|zst|bz2)|tgz|tar)$`),
	"import": regexp.MustCompile(`\.(?:ova|ovf|qcow2|raw|vmdk)$`),
}

var unsafeInName = regexp.MustCompile(`[^-A-Za-z0-9_.]`)

// fileTarget is the volume that a file of the call becomes: on a storage that
// keeps files and takes that kind of them.
func (c *call) fileTarget(content, filename string) (*Storage, apidoc.VolID, error) {
	s, err := c.usableStorage()
	if err != nil {
		return nil, "", err
	}
	name := unsafeInName.ReplaceAllString(filename[strings.LastIndexAny(filename, `/\`)+1:], "_")
	switch {
	case !storageTypes[s.Type].files:
		return nil, "", fail("can't upload to storage type '%s', not a file based storage!", s.Type)
	case fileNames[content] == nil:
		return nil, "", refuse("content", "upload content type '"+content+"' not allowed")
	case !fileNames[content].MatchString(name):
		return nil, "", refuse("filename", "wrong file extension")
	case !s.Holds(content):
		return nil, "", fail("storage '%s' does not support '%s' content", s.ID, content)
	}
	return s, apidoc.VolID(string(s.ID) + ":" + content + "/" + name), nil
}

// newFile puts a file on a storage, in place of one of that name.
func (k *worker) newFile(id apidoc.VolID, content string, size int64) error {
	st, name, _ := id.Split()
	s, err := k.world.storageOn(st, k.task.Node)
	if err != nil {
		return err
	}
	p := s.Place(k.task.Node)
	if p.Total > 0 && p.Used+size > p.Total {
		return fail("import failed: command '/usr/bin/cp -- /var/tmp/pveupload %s' failed: exit code 1: No space left on device", s.pathOf(&Volume{ID: id, Content: content}))
	}
	v := &Volume{ID: id, Content: content, Size: size, Created: k.now().Unix()}
	if err := s.complete(&jsonNode{now: v.Created}, v); err != nil {
		return err
	}
	if content == "vztmpl" {
		v.Format = map[string]string{"gz": "tgz", "tgz": "tgz", "xz": "txz", "zst": "tzst", "bz2": "tbz2", "tar": "tar"}[name[strings.LastIndexByte(name, '.')+1:]]
	}
	p.Add(v)
	return nil
}

// uploadFile files what was sent. A file of that name is overwritten without a word.
func uploadFile(c *call) (any, error) {
	content := c.param("content")
	s, id, err := c.fileTarget(content, c.param("filename"))
	if err != nil {
		return nil, err
	}
	temporary := c.param("tmpfilename")
	size, err := strconv.ParseInt(strings.TrimPrefix(temporary, "/var/tmp/pveupload-"), 16, 64)
	if err != nil {
		return nil, fail("missing temporary upload filename")
	}
	path := s.pathOf(&Volume{ID: id, Content: content})
	if c.has("checksum-algorithm") && !c.has("checksum") {
		return nil, refuse("checksum", "missing property - 'checksum-algorithm' requires this property")
	}
	return c.launch("imgcopy", "", func(k *worker) error {
		k.say("starting file import from: "+temporary, "target node: "+string(k.task.Node), "target file: "+path)
		k.sayf("file size is: %d", size)
		k.say("command: cp -- " + temporary + " " + path)
		if err := k.rest(1); err != nil {
			return err
		}
		if err := k.newFile(id, content, size); err != nil {
			return err
		}
		k.say("finished file import successfully")
		return nil
	})
}

// downloadURL fetches a file, whose size follows from its address: nothing
// leaves this machine.
func downloadURL(c *call) (any, error) {
	content := c.param("content")
	s, id, err := c.fileTarget(content, c.param("filename"))
	if err != nil {
		return nil, err
	}
	_, name, _ := id.Split()
	name = name[strings.IndexByte(name, '/')+1:]
	url := c.param("url")
	return c.launch("download", stampedName(name), func(k *worker) error {
		return k.download(url, s, id, content, c.param("checksum-algorithm"))
	})
}

// download runs one in a task, with the lines that wget writes.
func (k *worker) download(url string, s *Storage, id apidoc.VolID, content, checksum string) error {
	size := 64*mib + int64(mix(uint64(len(url))<<32^uint64(len(id)))%(512*1024))*kib
	path := s.pathOf(&Volume{ID: id, Content: content})
	if s.look(k.task.Node).Volume(id) != nil {
		return fail("refusing to override existing file '%s'", path)
	}
	host, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(url, "https://"), "http://"), "/")
	if strings.HasSuffix(host, ".invalid") {
		k.say("downloading "+url+" to "+path, "--"+wgetTime(k.now())+"--  "+url, "Resolving "+host+" ("+host+")... failed: Name or service not known.", "wget: unable to resolve host address ‘"+host+"’")
		return fail("download failed: command '/usr/bin/wget --progress=dot:giga -O %s.tmp_dwnl %s' failed: exit code 4", path, url)
	}
	k.say("downloading "+url+" to "+path, "--"+wgetTime(k.now())+"--  "+url, "Connecting to "+host+"... connected.", "HTTP request sent, awaiting response... 200 OK")
	k.sayf("Length: %d (%s) [application/octet-stream]", size, strings.ReplaceAll(strings.TrimSuffix(sizeText(size), "iB"), " ", ""))
	k.sayf("Saving to: '%s.tmp_dwnl.%d'", path, k.task.PID)
	for _, percent := range [...]int64{25, 50, 75, 100} {
		if err := k.rest(1); err != nil {
			return fail("download failed: %s", err)
		}
		k.sayf("%6dK ........ ........ ........ ........ %3d%% 84.2M %ds", size/kib*percent/100, percent, (100-percent)/25)
	}
	k.sayf("%s (84.2 MB/s) - '%s.tmp_dwnl.%d' saved [%d/%d]", wgetTime(k.now()), path, k.task.PID, size, size)
	if checksum != "" {
		k.say("calculating checksum...OK, checksum verified")
	}
	if err := k.newFile(id, content, size); err != nil {
		return err
	}
	k.sayf("download of '%s' to '%s' finished", url, path)
	return nil
}

// downloadTemplate fetches one of the templates that GET aplinfo lists.
func downloadTemplate(c *call) (any, error) {
	template := c.param("template")
	if !containsText(knownTemplates(), template) {
		return nil, refuse("template", "no such template")
	}
	s := c.world.Storage(apidoc.Storage(c.param("storage")))
	switch {
	case s == nil:
		return nil, fail("storage '%s' does not exist", c.param("storage"))
	case !s.Holds("vztmpl"):
		return nil, fail("storage '%s' does not support templates", s.ID)
	}
	s, err := c.world.storageOn(s.ID, apidoc.Node(c.node()))
	if err != nil {
		return nil, err
	}
	id := apidoc.VolID(string(s.ID) + ":vztmpl/" + template)
	return c.launch("download", stampedName(template), func(k *worker) error {
		if s.look(k.task.Node).Volume(id) != nil {
			k.say("OK, got correct file already, no need to download")
			return nil
		}
		return k.download("http://download.proxmox.com/images/system/"+template, s, id, "vztmpl", "sha512")
	})
}

// pullImage fetches a container image as a template.
func pullImage(c *call) (any, error) {
	s, err := c.usableStorage()
	if err != nil {
		return nil, err
	}
	if !s.Holds("vztmpl") {
		return nil, fail("storage '%s' does not support 'vztmpl' content", s.ID)
	}
	reference := c.param("reference")
	name := c.param("filename")
	if name == "" {
		name = reference[strings.LastIndexByte(reference, '/')+1:]
	}
	name = unsafeInName.ReplaceAllString(strings.TrimSuffix(name, ".tar"), "_") + ".tar"
	id := apidoc.VolID(string(s.ID) + ":vztmpl/" + name)
	return c.launch("ociregistrypull", stampedName(name), func(k *worker) error {
		path := s.pathOf(&Volume{ID: id, Content: "vztmpl"})
		if s.look(k.task.Node).Volume(id) != nil {
			return fail("refusing to override existing file '%s'", path)
		}
		k.say("pulling '" + reference + "' to '" + path + "'")
		if err := k.rest(2); err != nil {
			return err
		}
		return k.newFile(id, "vztmpl", 32*mib)
	})
}
