// Command own is holdfast with a suite of another repository, and with none of holdfast's own scenarios. Copy this folder to
// begin a suite for your platform, build it with CGO_ENABLED=0, and use it as you use holdfast:
//
//	own run shop/rollout-during-a-sale
//
// A scenario, a fault and a promise of your own are types of your own: see package shop. The entry points of holdfast are
// cli.Main, scenario.Describe (and its sisters Mutate, DescribeIncident and DescribeProfile), the interfaces fault.Fault and
// invariant.Invariant, and invariant.Extend.
package main

import (
	"context"
	"os"

	"github.com/holdfast-ha/holdfast/framework/cli"
	"github.com/holdfast-ha/holdfast/framework/examples/own/shop"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
)

func main() {
	if err := invariant.Extend[shop.NoRestarts](); err != nil { // so that records can hold it
		panic(err)
	}
	os.Exit(cli.Main(context.Background(), "own-v1"))
}
