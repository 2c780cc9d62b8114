//go:build linux

package torture

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"fleetglass/fleet"
	"fleetglass/internal/testkit"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// nodes is how many servers a cluster has. All streams have as many replicas.
const nodes = 3

// cluster is three servers in processes of their own, with a link for each direction between two of them.
type cluster struct {
	t     *testing.T
	nodes [nodes]*node
	links [nodes][nodes]*link // From one to another; nil from a node to itself.
}

// node is one server of a cluster.
type node struct {
	t     *testing.T
	dir   string
	order nodeOrder
	*process
}

// again starts the node on the streams that it has.
func (n *node) again() { n.process = startRole(n.t, n.dir, "node", n.order) }

func startCluster(t *testing.T, dir string) *cluster {
	t.Helper()
	c := &cluster{t: t}
	for i := range c.nodes {
		name := fmt.Sprintf("n%d", i)
		c.nodes[i] = &node{t: t, dir: dir, order: nodeOrder{
			Name: name, Dir: filepath.Join(dir, name), Listen: testkit.FreeAddress(t), Cluster: testkit.FreeAddress(t),
		}}
	}
	for i, from := range c.nodes {
		for j, to := range c.nodes {
			if i != j {
				c.links[i][j] = newLink(t, to.order.Cluster)
				from.order.Routes = append(from.order.Routes, c.links[i][j].url())
			}
		}
	}
	for _, n := range c.nodes {
		n.again()
	}
	js := dial(t, c.url())
	testkit.Eventually(t, patience, func() error {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		_, err := fleet.Provision(ctx, js, fleet.Streams{Contract: fleet.NewContract(""), Replicas: nodes})
		return err
	})
	return c
}

// url names every node, as an address that is given to a client should.
func (c *cluster) url() string {
	var urls []string
	for _, n := range c.nodes {
		urls = append(urls, "nats://"+n.order.Listen)
	}
	return strings.Join(urls, ",")
}

// part cuts one node off from the others, or lets it back. Its clients stay connected to it.
func (c *cluster) part(n int, cut bool) {
	for i := range c.nodes {
		if i != n {
			c.links[n][i].sever(cut)
			c.links[i][n].sever(cut)
		}
	}
}

// whole waits until every stream and every consumer has a leader and replicas that have caught up.
func (c *cluster) whole(js jetstream.JetStream) {
	c.t.Helper()
	testkit.Eventually(c.t, 2*patience, func() error {
		var wrong []error
		streams := js.ListStreams(c.t.Context())
		for s := range streams.Info() {
			wrong = append(wrong, current(s.Config.Name, s.Cluster))
		}
		return errors.Join(append(wrong, streams.Err())...)
	})
}

// led names the node that leads a stream, and one that follows.
func (c *cluster) led(js jetstream.JetStream, stream string) (leader, follower int) {
	c.t.Helper()
	s, err := js.Stream(c.t.Context(), stream)
	if err != nil {
		c.t.Fatal(err)
	}
	name := s.CachedInfo().Cluster.Leader
	leader = slices.IndexFunc(c.nodes[:], func(n *node) bool { return n.order.Name == name })
	return leader, (leader + 1) % nodes
}

func current(name string, info *jetstream.ClusterInfo) error {
	if info == nil || info.Leader == "" {
		return fmt.Errorf("%s has no leader", name)
	}
	for _, r := range info.Replicas {
		if !r.Current || r.Offline {
			return fmt.Errorf("%s: replica %s is not current", name, r.Name)
		}
	}
	return nil
}

// stepDown makes the leader of a stream, or of a consumer of it, hand over to another node. A refusal is one more fault that may come.
func stepDown(js jetstream.JetStream, stream, consumer string) error {
	subject := "$JS.API.STREAM.LEADER.STEPDOWN." + stream
	if consumer != "" {
		subject = "$JS.API.CONSUMER.LEADER.STEPDOWN." + stream + "." + consumer
	}
	_, err := js.Conn().Request(subject, nil, 2*time.Second)
	if errors.Is(err, nats.ErrTimeout) || errors.Is(err, nats.ErrNoResponders) {
		return nil
	}
	return err
}

// freeze stops a node for a while; it then goes on as if no time had passed.
func (n *node) freeze(r *run, longest time.Duration) time.Duration {
	n.signal(syscall.SIGSTOP)
	began := time.Now()
	r.wait(longest)
	n.signal(syscall.SIGCONT)
	return time.Since(began)
}
