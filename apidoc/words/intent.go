package words

// intent is what someone wants done, as far as single words betray it.
type intent int

const (
	unknown intent = iota
	look           // be told something
	add            // have something that was not there
	change         // have something different
	drop           // have something gone
	act            // have something happen
)

// intentWords are looked up before stems and stop words: "which" is neither a
// subject nor irrelevant.
var intentWords = [...]string{
	look: `show list which who whose what why when where is are was does did has view see display check find read look
		tell status print inspect count compare monitor watch`,
	add: `create add new make build register define install generate issue setup provision deploy enrol enroll invite`,
	change: `change set edit update modify grow enlarge expand extend increase resize shrink reduce turn switch turnon turnoff enable disable
		activate deactivate rename adjust tune configure reorder raise lower limit swap replace renew rotate more less assign
		protect unlock reschedule put mount bind attach detach insert eject mute silence allow`,
	drop: `delete remove drop destroy revoke erase uninstall discard clear cancel abort kill unregister purge evict kick`,
	act: `start stop restart reboot shutdown reset suspend resume pause migrate move clone copy convert restore rollback
		revert replicate run execute send test upload download import trigger open take`,
}

// fit says how well a verb serves an intent: by this the score is multiplied.
// The factors are mild, since many POSTs answer questions and many PUTs create.
func (in intent) fit(verb string) float32 {
	return fits[in][verbIndex(verb)]
}

// The columns are GET, POST, PUT, DELETE.
var fits = [...][4]float32{
	unknown: {1.08, 1, 0.98, 0.92},
	look:    {1.25, 0.85, 0.75, 0.7},
	add:     {0.72, 1.25, 0.95, 0.65},
	change:  {0.72, 1.05, 1.25, 0.75},
	drop:    {0.72, 0.85, 0.85, 1.3},
	act:     {0.78, 1.15, 1.05, 0.85},
}

func verbIndex(verb string) int {
	switch verb {
	case "GET":
		return 0
	case "POST":
		return 1
	case "PUT":
		return 2
	}
	return 3
}

// intentOf takes the first telling word, because English puts it there: "which
// backups would be deleted" asks, "delete what is old" orders. "How do I …" and
// "can you …" are left aside; "how many …" asks.
func (v *vocabulary) intentOf(words []string) intent {
	for i, w := range words {
		if w == "how" && i+1 < len(words) {
			switch words[i+1] {
			case "many", "much", "full", "long", "big", "old", "busy", "large", "hot", "far", "healthy", "often":
				return look
			}
			continue
		}
		// "Can I migrate this" asks; "can you migrate this" orders.
		if (w == "can" || w == "may" || w == "could") && (i == 0 || words[i-1] != "how") &&
			i+1 < len(words) && words[i+1] != "you" {
			return look
		}
		if in, ok := v.intents[w]; ok {
			return in
		}
	}
	return unknown
}

// kind is the sort of guest that someone names.
type kind int

const (
	anyGuest kind = iota
	onlyVM
	onlyContainer
)

// kindOf tells whether the words name one sort of guest and not the other.
func kindOf(words []string) kind {
	var vm, ct bool
	for _, w := range words {
		switch w {
		case "vm", "vms", "qemu", "kvm":
			vm = true
		case "ct", "cts", "lxc", "container", "containers":
			ct = true
		}
	}
	switch {
	case vm && !ct:
		return onlyVM
	case ct && !vm:
		return onlyContainer
	}
	return anyGuest
}
