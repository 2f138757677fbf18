package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"pvemcp/internal/pvesim"
	"pvemcp/internal/settings"
)

// demoToken may do everything in a generated cluster.
const demoToken = "root@pam!full"

// startDemo starts the embedded cluster and points the settings at it. Only
// what says where to connect is replaced; mode and budgets stay the user's.
// A world file says what the cluster is like; without one it is generated.
func startDemo(c *settings.Config, worldFile string) (stop func(), err error) {
	world := pvesim.GenerateAt(time.Now(), 3, 60, 1)
	if worldFile != "" {
		if world, err = pvesim.LoadWorld(worldFile); err != nil {
			return nil, err
		}
	}
	sim, err := pvesim.Start(pvesim.Options{World: world})
	if err != nil {
		return nil, err
	}
	c.Hosts, c.Port = []string{sim.URL()}, 0
	c.TokenID, c.TokenSecret = demoToken, pvesim.TokenSecret
	c.CAFile, c.Fingerprint, c.Insecure = "", "", false
	return sim.Close, nil
}

func newSimCommand() *cobra.Command {
	var (
		o             pvesim.Options
		nodes, guests int
		seed          uint64
		worldFile     string
		schemaFile    string
	)
	cmd := &cobra.Command{
		Use: "sim", Short: "Run the embedded cluster on loopback", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if nodes < 1 || nodes > 64 || guests < 0 || guests > 50000 {
				return &useError{fmt.Errorf("--nodes takes 1 to 64 and --guests 0 to 50000")}
			}
			o.Seed = seed
			o.World = pvesim.GenerateAt(time.Now(), nodes, guests, int(seed))
			if worldFile != "" {
				world, err := pvesim.LoadWorld(worldFile)
				if err != nil {
					return &useError{err}
				}
				o.World = world
			}
			if schemaFile != "" {
				schema, err := checkSchema(schemaFile, "")
				if err != nil {
					return &useError{err}
				}
				o.Schema = schema
			}
			sim, err := pvesim.Start(o)
			if err != nil {
				return err
			}
			defer sim.Close()
			out := cmd.OutOrStdout()
			_, _ = fmt.Fprintf(out, "PROXMOX_HOST=%s\nPROXMOX_TOKEN_ID=%s\nPROXMOX_TOKEN_SECRET=%s\n", sim.URL(), demoToken, pvesim.TokenSecret)
			if o.TLS {
				_, _ = fmt.Fprintf(out, "PROXMOX_FINGERPRINT=%s\n", sim.Fingerprint())
			}
			<-cmd.Context().Done()
			return nil
		},
	}
	cmd.Flags().StringVar(&o.Listen, "listen", "127.0.0.1:0", "loopback address and port")
	cmd.Flags().IntVar(&nodes, "nodes", 3, "number of nodes")
	cmd.Flags().IntVar(&guests, "guests", 60, "number of guests")
	cmd.Flags().Uint64Var(&seed, "seed", 1, "the same seed gives the same cluster")
	cmd.Flags().StringVar(&worldFile, "world", "", "file that describes the cluster (see docs/world-file.md), instead of a generated one")
	cmd.Flags().StringVar(&schemaFile, "schema", "", "schema of another version to answer by (.js, .json, .json.gz)")
	cmd.Flags().BoolVar(&o.TLS, "tls", false, "serve HTTPS with a certificate made at start")
	cmd.Flags().BoolVar(&o.CheckOnly, "check-only", false, "check calls as root@pam and answer data: null")
	return cmd
}
