// Command kfake runs franz-go's fake Kafka cluster as a process of its own, so that it can be
// examined, killed and paused like any other target.
//
// It prints one line, "ready HOST:PORT,…", when every broker listens, and serves until SIGINT or
// SIGTERM. Brokers listen on the loopback address only: kfake knows no other.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"

	"github.com/twmb/franz-go/pkg/kfake"
)

const usageError = 2

func main() {
	portList := flag.String("ports", "", "the brokers' ports, separated by commas; one broker per port")
	logLevel := flag.Int("log-level", int(kfake.LogLevelWarn), "0 nothing, 1 errors, 2 warnings, 3 information, 4 everything")
	flag.Parse()
	ports, err := parsePorts(*portList)
	if err != nil {
		fail(err)
	}
	cluster, err := kfake.NewCluster(
		kfake.Ports(ports...),
		kfake.AllowAutoTopicCreation(), // Apache Kafka's default, auto.create.topics.enable=true
		kfake.WithLogger(kfake.BasicLogger(os.Stderr, kfake.LogLevel(*logLevel))),
	)
	if err != nil {
		fail(fmt.Errorf("cannot listen on %s: %w; choose free ports", *portList, err))
	}
	defer cluster.Close()
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM) // before "ready", so that no signal is lost
	fmt.Println("ready", strings.Join(cluster.ListenAddrs(), ","))
	<-stop
}

func parsePorts(list string) ([]int, error) {
	var ports []int
	for _, text := range strings.Split(list, ",") {
		port, err := strconv.Atoi(text)
		if err != nil || port < 1 || port > 65535 {
			return nil, fmt.Errorf("-ports %q: %q is not a port between 1 and 65535", list, text)
		}
		ports = append(ports, port)
	}
	return ports, nil
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "kfake:", err)
	os.Exit(usageError)
}
