package render

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/tiktoken-go/tokenizer"
)

var update = flag.Bool("update", false, "rewrite golden files and vocab.bin")

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func o200k(t testing.TB) func(string) int {
	c, err := tokenizer.Get(tokenizer.O200kBase)
	ok(t, err)
	return func(s string) int {
		n, err := c.Count(s)
		ok(t, err)
		return n
	}
}

func TestVocabFilter(t *testing.T) {
	c, err := tokenizer.Get(tokenizer.O200kBase)
	ok(t, err)
	want := makeVocab(func(yield func(string) bool) {
		for id := range uint(199998) {
			s, err := c.Decode([]uint{id})
			if err == nil && !yield(s) {
				return
			}
		}
	})
	if *update {
		ok(t, os.WriteFile("vocab.bin", want, 0o644))
	}
	if string(want) != vocab {
		t.Fatal("vocab.bin is stale: run go test -run TestVocabFilter -update")
	}
}

// corpus generates texts of the kinds that our answers are made of.
func corpus(r *rand.Rand) map[string]string {
	out := map[string]string{}
	add := func(kind string, lines int, line func() string) {
		var b strings.Builder
		for range lines {
			b.WriteString(line())
			b.WriteByte('\n')
		}
		out[kind] = b.String()
	}
	lines := 30
	words := strings.Fields("web db mail proxy cache app gitlab runner win dc ubuntu debian test prod dev backup monitor grafana nextcloud plex docker k8s node master worker vpn dns ldap build jenkins redis pg mysql staging kunde büro zürich störung サーバ 数据库 сервер café naïve archive template router pihole hass")
	word := func() string { return words[r.IntN(len(words))] }
	name := func() string { return fmt.Sprintf("%s-%s%02d", word(), word(), r.IntN(100)) }
	node := func() string { return fmt.Sprintf("pve%d", 1+r.IntN(32)) }
	pick := func(s ...string) string { return s[r.IntN(len(s))] }
	hex := func(n int) string {
		const d = "0123456789abcdef"
		b := make([]byte, n)
		for i := range b {
			b[i] = d[r.IntN(16)]
		}
		return string(b)
	}
	upid := func() string {
		return fmt.Sprintf("UPID:%s:%08X:%08X:%08X:%s:%d:%s:", node(), r.Uint32(), r.Uint32(), 0x65000000+r.IntN(1<<24), pick("qmstart", "vzdump", "qmigrate", "vzcreate", "aptupdate", "qmsnapshot", "imgdel"), 100+r.IntN(9000), pick("root@pam", "ops@pve", "ci@pve!bot", "admin@ldap"))
	}
	ip := func() string { return fmt.Sprintf("%d.%d.%d.%d", 1+r.IntN(220), r.IntN(256), r.IntN(256), r.IntN(256)) }
	date := func() string {
		return fmt.Sprintf("2026-%02d-%02d %02d:%02d", 1+r.IntN(12), 1+r.IntN(28), r.IntN(24), r.IntN(60))
	}
	mac := func() string {
		return strings.ToUpper(fmt.Sprintf("%s:%s:%s:%s:%s:%s", hex(2), hex(2), hex(2), hex(2), hex(2), hex(2)))
	}
	add("guest tsv", lines, func() string {
		return fmt.Sprintf("%d\t%s\t%s\t%s\t%d%%\t%.1fG/%dG\t%dd %dh", 100+r.IntN(9000), name(), pick("running", "stopped", "paused"), node(), r.IntN(100), r.Float64()*64, 1+r.IntN(128), r.IntN(300), r.IntN(24))
	})
	add("guest aligned", lines, func() string {
		return fmt.Sprintf("%5d  %-20s  %-8s  %-6s  %3d%%  %5.1fG  %4dd", 100+r.IntN(9000), name(), pick("running", "stopped"), node(), r.IntN(100), r.Float64()*64, r.IntN(300))
	})
	add("storage", lines, func() string {
		return fmt.Sprintf("%s  %s  %s  %.1fT/%dT %d%%  images,rootdir", pick("local", "local-lvm", "ceph-vm", "nfs-backup", "pbs", "tank"), pick("dir", "lvmthin", "rbd", "nfs", "zfspool", "pbs"), node(), r.Float64()*20, 20, r.IntN(100))
	})
	add("upid", lines, upid)
	add("task", lines, func() string {
		return upid() + "\t" + date() + "\t" + pick("OK", "WARNINGS: 2", "command 'lxc-start' failed: exit code 1", "job errors", "running")
	})
	add("volid", lines, func() string {
		return pick(
			fmt.Sprintf("local-lvm:vm-%d-disk-%d", 100+r.IntN(9000), r.IntN(4)),
			fmt.Sprintf("local:iso/%s-%d.%02d-amd64.iso", word(), 20+r.IntN(6), r.IntN(12)),
			fmt.Sprintf("nfs-backup:backup/vzdump-qemu-%d-2026_%02d_%02d-%02d_%02d_%02d.vma.zst", 100+r.IntN(9000), 1+r.IntN(12), 1+r.IntN(28), r.IntN(24), r.IntN(60), r.IntN(60)),
			fmt.Sprintf("tank:subvol-%d-disk-0", 100+r.IntN(9000)),
			fmt.Sprintf("pbs:backup/ct/%d/2026-%02d-%02dT%02d:%02d:%02dZ", 100+r.IntN(9000), 1+r.IntN(12), 1+r.IntN(28), r.IntN(24), r.IntN(60), r.IntN(60)))
	})
	add("json rows", lines, func() string {
		return fmt.Sprintf(`{"vmid":%d,"name":%q,"status":%q,"node":%q,"cpu":%.4f,"mem":%d,"maxmem":%d,"uptime":%d,"tags":["%s","%s"]},`, 100+r.IntN(9000), name(), pick("running", "stopped"), node(), r.Float64(), r.Int64N(1<<38), r.Int64N(1<<38), r.IntN(1e7), word(), word())
	})
	add("json raw", lines, func() string {
		return fmt.Sprintf(`{"netin":%d,"netout":%d,"diskread":%d,"cpu":%v,"id":"qemu/%d","type":"qemu","maxdisk":%d,"template":0}`, r.Int64N(1<<40), r.Int64N(1<<40), r.Int64N(1<<40), r.Float64(), 100+r.IntN(9000), r.Int64N(1<<40))
	})
	add("config", lines, func() string {
		return pick(
			fmt.Sprintf("net0: virtio=%s,bridge=vmbr%d,firewall=1,tag=%d", mac(), r.IntN(4), r.IntN(4094)),
			fmt.Sprintf("scsi0: local-lvm:vm-%d-disk-0,discard=on,iothread=1,size=%dG,ssd=1", 100+r.IntN(900), r.IntN(500)),
			fmt.Sprintf("smbios1: uuid=%s-%s-%s-%s-%s", hex(8), hex(4), hex(4), hex(4), hex(12)),
			"boot: order=scsi0;ide2;net0", "cpu: x86-64-v2-AES", "machine: pc-q35-9.0", "ostype: l26", "onboot: 1",
			fmt.Sprintf("ipconfig0: ip=%s/24,gw=%s", ip(), ip()),
			fmt.Sprintf("digest: %s", hex(40)))
	})
	add("log", lines, func() string {
		return pick(
			fmt.Sprintf("INFO: %d%% (%.1f GiB of %.1f GiB) in %ds, read: %.1f MiB/s, write: %.1f MiB/s", r.IntN(100), r.Float64()*100, r.Float64()*100, r.IntN(1000), r.Float64()*500, r.Float64()*500),
			fmt.Sprintf("%s %s kernel: [%d.%06d] EXT4-fs (dm-%d): mounted filesystem with ordered data mode", date(), node(), r.IntN(99999), r.IntN(999999), r.IntN(20)),
			fmt.Sprintf("Nov %2d %02d:%02d:%02d %s pvedaemon[%d]: <root@pam> starting task %s", 1+r.IntN(28), r.IntN(24), r.IntN(60), r.IntN(60), node(), r.IntN(99999), upid()),
			fmt.Sprintf("ERROR: Backup of VM %d failed - unable to open file '/mnt/pve/nfs/dump/%s.tmp': No such file or directory", 100+r.IntN(900), name()),
			fmt.Sprintf("sshd[%d]: Accepted publickey for root from %s port %d ssh2: RSA SHA256:%s", r.IntN(99999), ip(), r.IntN(65535), hex(12)))
	})
	add("ips", lines, func() string {
		return pick(ip()+"/24", fmt.Sprintf("fe80::%s:%sff:fe%s:%s/64", hex(4), hex(2), hex(2), hex(4)), fmt.Sprintf("2a01:%s:%s:%s::%d", hex(3), hex(4), hex(4), r.IntN(100)), mac())
	})
	add("hex", lines, func() string { return hex(16 + r.IntN(49)) })
	add("HEX", lines, func() string { return strings.ToUpper(hex(16 + r.IntN(49))) })
	add("fingerprint", lines, func() string {
		p := make([]string, 20)
		for i := range p {
			p[i] = strings.ToUpper(hex(2))
		}
		return strings.Join(p, ":")
	})
	add("dates", lines, func() string {
		return date() + "  " + fmt.Sprintf("%dh ago  2026-01-%02dT%02d:00:00Z", r.IntN(48), 1+r.IntN(28), r.IntN(24))
	})
	add("names", lines, func() string { return name() + " " + word() + "_" + word() + "." + word() + ".example.org" })
	add("non-ascii", lines, func() string {
		return pick("Bürorechner-Süd Prüfstand", "サーバー一号機 テスト環境", "数据库服务器 生产环境", "почтовый сервер резерв", "διακομιστής αρχείων", "máquina de producción número", "서버 백업 테스트", "خادم البريد", "शुरू सर्वर", "🖥️ prod 🚀 db", "serwer główny żółć", "sunucu yığını İstanbul") + " " + name()
	})
	add("prose", lines, func() string {
		return pick(
			"storage 'nfs-backup' on node pve3 is not online; its 14 guests could not be read",
			"permission check failed: token ops@pve!mcp lacks VM.Audit on /vms/104; grant it with: pveum acl modify /vms/104 --tokens 'ops@pve!mcp' --roles PVEAuditor",
			"40 of 5000 shown; narrow with node=, status=, name=; more: cursor=Z3Vlc3RzAHZtaWQAMTA0NQ",
			"by status: running 3211, stopped 1754, paused 35; by node: pve1 160, pve2 158, pve3 149",
			"The guest is locked (backup) by task UPID; wait for it or stop it with pve_task_stop")
	})
	b64 := "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	add("base64", lines/3, func() string {
		b := make([]byte, 64)
		for i := range b {
			b[i] = b64[r.IntN(64)]
		}
		return string(b)
	})
	add("fields", lines, func() string {
		return pick("max_workers: 4", "pve-firewall: stopped", "ZFS rpool ONLINE 0 errors", "ssl-fingerprint", "diskwrite=12", "ha-managed: vm:100 started", "qemu/100", "lxc/2044", "sdn/localnetwork", "pool: web-frontends", "tags: prod;web;critical", "cores: 8  sockets: 2  numa: yes", "scsihw=virtio-scsi-single")
	})
	return out
}

// Estimates of whole answers must not be more than 5 % too low, nor (overall)
// more than 12 % too high; base64 and hex are as bad as it gets.
func TestEstimateMargins(t *testing.T) {
	real := o200k(t)
	type acc struct {
		e, r, lines, low int
		lo, hi           float64
	}
	sum := map[string]*acc{}
	for seed := range uint64(20) {
		for k, s := range corpus(rand.New(rand.NewPCG(seed, 7))) {
			a := sum[k]
			if a == nil {
				a = &acc{lo: 9}
				sum[k] = a
			}
			e, n := Estimate(s), real(s)
			a.e += e
			a.r += n
			q := float64(e) / float64(n)
			a.lo, a.hi = min(a.lo, q), max(a.hi, q)
			if q < 0.95 || q > 1.15 {
				t.Errorf("%s: estimated %d, really %d:\n%s", k, e, n, s)
			}
			for _, l := range strings.Split(s, "\n") {
				// A single line may be one token off for each twenty, and one more.
				if e, n := Estimate(l), real(l); float64(e) < 0.95*float64(n)-1 {
					a.low++
					if k != "base64" && k != "non-ascii" {
						t.Logf("%s: one line estimated %d, really %d: %s", k, e, n, l)
					}
				}
				a.lines++
			}
		}
	}
	for k, a := range sum {
		t.Logf("%-14s real %6d  est/real %.3f  (%.3f .. %.3f)  lines low: %d of %d", k, a.r, float64(a.e)/float64(a.r), a.lo, a.hi, a.low, a.lines)
		if q := float64(a.e) / float64(a.r); q > 1.12 {
			t.Errorf("%s: %.3f of the true count", k, q)
		}
		if a.low*50 > a.lines {
			t.Errorf("%s: %d of %d single lines are estimated too low", k, a.low, a.lines)
		}
	}
}

func BenchmarkEstimate(b *testing.B) {
	var all strings.Builder
	for _, s := range corpus(rand.New(rand.NewPCG(1, 1))) {
		all.WriteString(s)
	}
	s := all.String()
	b.SetBytes(int64(len(s)))
	b.ReportAllocs()
	for b.Loop() {
		Estimate(s)
	}
}
