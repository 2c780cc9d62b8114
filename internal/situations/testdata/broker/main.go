// Command broker is a real broker whose clock a test sets while it runs. It is built with a package time whose Now goes ahead of the host's clock by what
// setAhead was given last; the monotonic clock goes on, as it does on a host whose clock is set.
//
// It prints its address, and then reads from its input by how many seconds its clock is to be ahead, a line each.
package main

import (
	"bufio"
	"fmt"
	"os"
	"strconv"

	"fleetglass/internal/embednats"
)

// setAhead is set by a file that only that build has.
var setAhead func(seconds int64)

func main() {
	srv, err := embednats.Start(embednats.Config{Dir: os.Args[1], Listen: "127.0.0.1:0"})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(srv.URL())
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		seconds, err := strconv.ParseInt(lines.Text(), 10, 64)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		setAhead(seconds)
		fmt.Println("ahead", seconds)
	}
}
