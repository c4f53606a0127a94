// Command franzgo-smoke drives a broker with franz-go: an admin client, each codec, groups of both
// protocols, and transactions that read, transform and write. It prints a line for each, which a
// test compares, and exits with status 1 at the first thing that goes wrong.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	count    = 50
	patience = 60 * time.Second
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: franzgo-smoke HOST:PORT")
		os.Exit(2)
	}
	ctx, stop := context.WithTimeout(context.Background(), patience)
	defer stop()
	if err := run(ctx, os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "franzgo-smoke:", err)
		os.Exit(1)
	}
}

// seeds names the brokers of a list that is separated by commas.
func seeds(bootstrap string) kgo.Opt {
	return kgo.SeedBrokers(strings.Split(bootstrap, ",")...)
}

func run(ctx context.Context, bootstrap string) error {
	client, err := kgo.NewClient(seeds(bootstrap))
	if err != nil {
		return err
	}
	defer client.Close()
	admin := kadm.NewClient(client)
	if err := administer(ctx, admin); err != nil {
		return fmt.Errorf("admin: %w", err)
	}
	codecs := map[string]kgo.CompressionCodec{
		"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(),
		"lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
	}
	for _, name := range []string{"none", "gzip", "snappy", "lz4", "zstd"} {
		if err := roundTrip(ctx, bootstrap, admin, name, codecs[name]); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	if err := newGroup(ctx, bootstrap, admin); err != nil {
		return fmt.Errorf("group of the new protocol: %w", err)
	}
	if err := transform(ctx, bootstrap, admin); err != nil {
		return fmt.Errorf("transactions: %w", err)
	}
	return nil
}

// administer creates a topic, grows it, configures it, and deletes it.
func administer(ctx context.Context, admin *kadm.Client) error {
	topic, hour := "franz-admin", "3600000"
	if _, err := admin.CreateTopic(ctx, 1, 1, nil, topic); err != nil {
		return err
	}
	if _, err := admin.UpdatePartitions(ctx, 3, topic); err != nil {
		return err
	}
	change := kadm.AlterConfig{Op: kadm.SetConfig, Name: "retention.ms", Value: &hour}
	if _, err := admin.AlterTopicConfigs(ctx, []kadm.AlterConfig{change}, topic); err != nil {
		return err
	}
	configs, err := admin.DescribeTopicConfigs(ctx, topic)
	if err != nil {
		return err
	}
	one, err := configs.On(topic, nil)
	if err != nil {
		return err
	}
	retention := ""
	for _, config := range one.Configs {
		if config.Key == "retention.ms" {
			retention = config.MaybeValue()
		}
	}
	topics, err := admin.ListTopics(ctx, topic)
	if err != nil {
		return err
	}
	fmt.Println("admin", len(topics[topic].Partitions), "partitions, retention", retention)
	_, err = admin.DeleteTopic(ctx, topic)
	return err
}

// send produces count records to a new topic, and answers their values.
func send(
	ctx context.Context, bootstrap string, admin *kadm.Client, topic string, options ...kgo.Opt,
) (map[string]bool, error) {
	if _, err := admin.CreateTopic(ctx, 2, 1, nil, topic); err != nil {
		return nil, err
	}
	options = append(options, seeds(bootstrap), kgo.DefaultProduceTopic(topic))
	producer, err := kgo.NewClient(options...)
	if err != nil {
		return nil, err
	}
	defer producer.Close()
	sent := map[string]bool{}
	var records []*kgo.Record
	for number := range count {
		value := fmt.Sprintf("%s %d %080d", topic, number, number)
		sent[value] = true
		records = append(records, kgo.KeySliceRecord([]byte(fmt.Sprint(number)), []byte(value)))
	}
	return sent, producer.ProduceSync(ctx, records...).FirstErr()
}

// receive polls until as many records have come as were sent, and compares them.
func receive(ctx context.Context, consumer *kgo.Client, sent map[string]bool) error {
	found := map[string]bool{}
	for len(found) < len(sent) {
		fetches := consumer.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return fmt.Errorf("%d of %d records: %w", len(found), len(sent), err)
		}
		fetches.EachRecord(func(record *kgo.Record) { found[string(record.Value)] = true })
	}
	for value := range found {
		if !sent[value] {
			return fmt.Errorf("received %q, which was not sent", value)
		}
	}
	return consumer.CommitUncommittedOffsets(ctx)
}

func grouped(bootstrap, topic string, options ...kgo.Opt) (*kgo.Client, error) {
	return kgo.NewClient(append(options,
		seeds(bootstrap), kgo.ConsumeTopics(topic), kgo.ConsumerGroup(topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
	)...)
}

// committed is the sum of what a group has committed to a topic.
func committed(ctx context.Context, admin *kadm.Client, group string) (int64, error) {
	offsets, err := admin.FetchOffsets(ctx, group)
	if err != nil {
		return 0, err
	}
	sum := int64(0)
	offsets.Each(func(each kadm.OffsetResponse) { sum += each.At })
	return sum, nil
}

func roundTrip(
	ctx context.Context, bootstrap string, admin *kadm.Client, name string, codec kgo.CompressionCodec,
) error {
	topic := "franz-" + name
	sent, err := send(ctx, bootstrap, admin, topic, kgo.ProducerBatchCompression(codec))
	if err != nil {
		return err
	}
	consumer, err := grouped(bootstrap, topic)
	if err != nil {
		return err
	}
	defer consumer.Close()
	if err := receive(ctx, consumer, sent); err != nil {
		return err
	}
	sum, err := committed(ctx, admin, topic)
	fmt.Println("codec", name, sum)
	return err
}

// newGroup does the same with a group of KIP-848, and says how such a group is described.
func newGroup(ctx context.Context, bootstrap string, admin *kadm.Client) error {
	topic := "franz-kip848"
	sent, err := send(ctx, bootstrap, admin, topic)
	if err != nil {
		return err
	}
	consumer, err := grouped(bootstrap, topic, kgo.ServerSideBalancer())
	if err != nil {
		return err
	}
	defer consumer.Close()
	if err := receive(ctx, consumer, sent); err != nil {
		return err
	}
	groups, err := admin.DescribeConsumerGroups(ctx, topic)
	if err != nil {
		return err
	}
	group := groups[topic]
	if group.Err != nil {
		return group.Err
	}
	sum, err := committed(ctx, admin, topic)
	fmt.Println("group", group.State, group.AssignorName, len(group.Members), sum)
	return err
}

// transform copies records from one topic to another, each batch in a transaction that also holds
// the offsets; every third is aborted, so that its records come again.
func transform(ctx context.Context, bootstrap string, admin *kadm.Client) error {
	in, out := "franz-in", "franz-out"
	sent, err := send(ctx, bootstrap, admin, in)
	if err != nil {
		return err
	}
	if _, err := admin.CreateTopic(ctx, 2, 1, nil, out); err != nil {
		return err
	}
	session, err := kgo.NewGroupTransactSession(
		seeds(bootstrap), kgo.TransactionalID("franz-transform"), kgo.ConsumeTopics(in),
		kgo.ConsumerGroup("franz-transform"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.DefaultProduceTopic(out),
		kgo.RequireStableFetchOffsets(),
	)
	if err != nil {
		return err
	}
	defer session.Close()
	aborted := 0
	for done, round := 0, 0; done < len(sent); round++ {
		fetches := session.PollRecords(ctx, 7)
		if err := fetches.Err(); err != nil {
			return err
		}
		if err := session.Begin(); err != nil {
			return err
		}
		fetches.EachRecord(func(record *kgo.Record) {
			session.Produce(ctx, kgo.SliceRecord(record.Value), nil)
		})
		ended, err := session.End(ctx, kgo.TransactionEndTry(round%3 != 2))
		if err != nil {
			return err
		}
		if ended {
			done += fetches.NumRecords()
		} else {
			aborted++
		}
	}
	again, err := grouped(bootstrap, out, kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	if err != nil {
		return err
	}
	defer again.Close()
	if err := exactly(ctx, again, sent); err != nil {
		return err
	}
	sum, err := committed(ctx, admin, "franz-transform")
	fmt.Println("exactly once", aborted > 0, sum)
	return err
}

// exactly fails unless each value comes once.
func exactly(ctx context.Context, consumer *kgo.Client, sent map[string]bool) error {
	seen := map[string]int{}
	for len(seen) < len(sent) {
		fetches := consumer.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return err
		}
		fetches.EachRecord(func(record *kgo.Record) { seen[string(record.Value)]++ })
	}
	for value, times := range seen {
		if !sent[value] || times != 1 {
			return errors.New("a value came " + fmt.Sprint(times) + " times: " + value)
		}
	}
	return nil
}
