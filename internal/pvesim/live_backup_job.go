package pvesim

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"pvemcp/apidoc"
)

func init() {
	register("POST /cluster/backup", createBackupJob)
	register("PUT /cluster/backup/{id}", updateBackupJob)
	register("DELETE /cluster/backup/{id}", deleteBackupJob)
}

const jobsFile = "jobs_cfg"

// fillJob takes what a call says about a job and works out when it runs next.
func (c *call) fillJob(j *BackupJob) error {
	if s := c.param("storage"); s != "" && c.world.Storage(apidoc.Storage(s)) == nil {
		return fail("storage '%s' does not exist", s)
	}
	if p := c.param("pool"); p != "" && c.world.Pool(apidoc.Pool(p)) == nil {
		return fail("pool '%s' does not exist", p)
	}
	if c.has("starttime") && c.has("schedule") {
		return refuse("starttime", "option conflicts with option 'schedule'")
	}
	if err := c.store(&j.Options, "id", "starttime", "dow"); err != nil {
		return err
	}
	if c.has("starttime") { // the form of before 7.1
		days := strings.Join(c.list("dow"), ",")
		j.Options.Set("schedule", strings.TrimSpace(days+" "+c.param("starttime")))
	}
	// What says which guests are meant excludes what said it before.
	for _, chosen := range [...]struct {
		by   string
		away []string
	}{{"vmid", []string{"all", "exclude", "pool"}}, {"pool", []string{"all", "vmid"}}, {"all", []string{"vmid", "pool"}}} {
		if c.has(chosen.by) && (chosen.by != "all" || c.flag("all", false)) {
			for _, k := range chosen.away {
				if !c.has(k) || k == "all" {
					j.Options.Delete(k)
				}
			}
		}
	}
	j.NextRun = nextRun(j.Options.Get("schedule"), c.now)
	return nil
}

func createBackupJob(c *call) (any, error) {
	if err := c.quorum(jobsFile); err != nil {
		return nil, err
	}
	if _, err := c.selected(); err != nil {
		return nil, err
	}
	j := &BackupJob{ID: c.param("id"), Options: NewConfig("type", "vzdump", "enabled", "1")}
	if j.ID == "" {
		j.ID = "backup-" + uuid(c.rng)[:13]
	}
	if c.world.Job(j.ID) != nil {
		return nil, fail("Job '%s' already exists", j.ID)
	}
	if !c.has("schedule") && !c.has("starttime") {
		return nil, refuse("schedule", "property is missing and it is not optional")
	}
	if err := c.fillJob(j); err != nil {
		return nil, err
	}
	if !c.flag("all", false) && c.has("exclude") && !c.has("pool") {
		j.Options.Set("all", "1")
	}
	c.world.Jobs = append(c.world.Jobs, j)
	return nil, nil
}

func updateBackupJob(c *call) (any, error) {
	if err := c.quorum(jobsFile); err != nil {
		return nil, err
	}
	j, err := c.theJob()
	if err != nil {
		return nil, err
	}
	if c.has("vmid") || c.has("pool") || c.has("all") || c.has("exclude") {
		if _, err := c.selected(); err != nil && !(c.has("all") && !c.flag("all", false)) {
			return nil, err
		}
	}
	changed := *j
	changed.Options = j.Options.Clone()
	if err := c.fillJob(&changed); err != nil {
		return nil, err
	}
	*j = changed
	return nil, nil
}

func deleteBackupJob(c *call) (any, error) {
	if err := c.quorum(jobsFile); err != nil {
		return nil, err
	}
	j, err := c.theJob()
	if err != nil {
		return nil, err
	}
	c.world.Jobs = slices.DeleteFunc(c.world.Jobs, func(x *BackupJob) bool { return x == j })
	return nil, nil
}

// nextRun is when a calendar event of the usual forms is due next, to the
// minute: words such as daily, days of the week and times, steps such as */30.
// 0 stands for one that it does not understand.
func nextRun(schedule string, now time.Time) int64 {
	words := map[string]string{"minutely": "*:*", "hourly": "*:00", "daily": "00:00", "weekly": "mon 00:00", "monthly": "*-1 00:00", "quarterly": "*-1 00:00", "yearly": "*-1 00:00"}
	if w, ok := words[schedule]; ok {
		schedule = w
	}
	var days map[time.Weekday]bool
	firstOfMonth, clock := false, "00:00"
	for _, part := range strings.Fields(schedule) {
		switch {
		case part == "*-1":
			firstOfMonth = true
		case strings.Contains(part, ":") || strings.Contains(part, "*/") || numberText(part):
			clock = part
		default:
			if days = weekdays(part); days == nil {
				return 0
			}
		}
	}
	hours, minutes, ok := strings.Cut(clock, ":")
	if !ok {
		hours, minutes = "*", clock
	}
	minutes, _, _ = strings.Cut(minutes, ":")
	hour, minute := clockField(hours, 24), clockField(minutes, 60)
	if hour == nil || minute == nil {
		return 0
	}
	t := now.UTC().Truncate(time.Minute).Add(time.Minute)
	for range 62 * 24 * 60 {
		if (days == nil || days[t.Weekday()]) && (!firstOfMonth || t.Day() == 1) && hour[t.Hour()] && minute[t.Minute()] {
			return t.Unix()
		}
		t = t.Add(time.Minute)
	}
	return 0
}

var weekdayNames = []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}

// weekdays reads days and ranges such as "mon..fri,sun"; nil where it can't.
func weekdays(text string) map[time.Weekday]bool {
	days := map[time.Weekday]bool{}
	find := func(s string) int {
		return slices.IndexFunc(weekdayNames, func(n string) bool { return strings.HasPrefix(strings.ToLower(s), n) })
	}
	for item := range strings.SplitSeq(text, ",") {
		from, to, is := strings.Cut(item, "..")
		if !is {
			to = from
		}
		a, b := find(from), find(to)
		if a < 0 || b < 0 {
			return nil
		}
		for d := a; ; d = (d + 1) % 7 {
			days[time.Weekday(d)] = true
			if d == b {
				break
			}
		}
	}
	return days
}

// clockField reads hours or minutes: *, 3, 3,15, 8..17, */5, 0/10.
func clockField(text string, limit int) map[int]bool {
	set := map[int]bool{}
	for item := range strings.SplitSeq(text, ",") {
		rangeText, stepText, stepped := strings.Cut(item, "/")
		from, to := 0, limit-1
		if rangeText != "*" {
			a, b, is := strings.Cut(rangeText, "..")
			n, err := strconv.Atoi(a)
			if err != nil {
				return nil
			}
			from = n
			if is {
				if to, err = strconv.Atoi(b); err != nil {
					return nil
				}
			} else if !stepped {
				to = from
			}
		}
		step := 1
		if stepped {
			n, err := strconv.Atoi(stepText)
			if err != nil || n < 1 {
				return nil
			}
			step = n
		}
		for i := from; i <= to && i < limit; i += step {
			set[i] = true
		}
	}
	return set
}
