// Drives a broker with KafkaJS: an admin client, the codecs it has, a group, and transactions that
// read, transform and write. Prints a line for each, which a test compares.
"use strict";

const { Kafka, CompressionTypes, CompressionCodecs, logLevel } = require("kafkajs");
CompressionCodecs[CompressionTypes.Snappy] = require("kafkajs-snappy");

const COUNT = 50;
const PATIENCE_MS = 60_000;
const kafka = new Kafka({
  clientId: "kafkajs-smoke",
  brokers: process.argv[2].split(","),
  logLevel: logLevel.ERROR,
});
const admin = kafka.admin();

function values(name) {
  return Array.from({ length: COUNT }, (_, number) => `${name} ${number} `.repeat(8));
}

async function create(topic, partitions = 2) {
  await admin.createTopics({ topics: [{ topic, numPartitions: partitions }], waitForLeaders: true });
}

// Hands each committed record to `take`, until `take` has answered true.
async function consume(topic, groupId, autoCommit, take) {
  const consumer = kafka.consumer({ groupId });
  await consumer.connect();
  await consumer.subscribe({ topics: [topic], fromBeginning: true });
  await new Promise((resolve, reject) => {
    const patience = setTimeout(() => reject(new Error(`${topic}: not all came`)), PATIENCE_MS);
    consumer
      .run({
        autoCommit,
        eachMessage: async ({ message, partition }) => {
          if (await take(message.value.toString(), partition, message.offset)) {
            clearTimeout(patience);
            resolve();
          }
        },
      })
      .catch(reject);
  });
  await consumer.disconnect(); // which commits what has been handed over, where it commits itself
}

async function committed(groupId, topic) {
  const [found] = await admin.fetchOffsets({ groupId, topics: [topic] });
  return found.partitions.reduce((sum, each) => sum + Math.max(0, Number(each.offset)), 0);
}

async function administer() {
  const topic = "js-admin";
  await create(topic, 1);
  await admin.createPartitions({ topicPartitions: [{ topic, count: 3 }] });
  const { topics } = await admin.fetchTopicMetadata({ topics: [topic] });
  await admin.alterConfigs({
    validateOnly: false,
    resources: [{ type: 2, name: topic, configEntries: [{ name: "retention.ms", value: "3600000" }] }],
  });
  const { resources } = await admin.describeConfigs({
    includeSynonyms: false,
    resources: [{ type: 2, name: topic, configNames: ["retention.ms"] }],
  });
  const retention = resources[0].configEntries[0].configValue;
  console.log(`admin ${topics[0].partitions.length} partitions, retention ${retention}`);
  await admin.deleteTopics({ topics: [topic] });
}

async function roundTrip(name, compression) {
  const topic = `js-${name}`;
  await create(topic);
  const producer = kafka.producer({ idempotent: true });
  await producer.connect();
  const sent = new Set(values(name));
  const messages = [...sent].map((value, number) => ({ key: `${number}`, value }));
  await producer.send({ topic, compression, messages });
  await producer.disconnect();
  const found = new Set();
  await consume(topic, topic, true, async (value) => found.add(value).size === COUNT);
  const same = [...found].every((value) => sent.has(value));
  console.log(`codec ${name} ${same} ${await committed(topic, topic)}`);
}

// Each record goes over in a transaction of its own with its offset; every fifth is tried twice.
async function transform() {
  const [from, to, group] = ["js-in", "js-out", "js-transform"];
  await create(from, 1);
  await create(to);
  const source = kafka.producer();
  await source.connect();
  await source.send({ topic: from, messages: values("t").map((value) => ({ value })) });
  await source.disconnect();
  const producer = kafka.producer({ transactionalId: group, idempotent: true, maxInFlightRequests: 1 });
  await producer.connect();
  let copied = 0;
  await consume(from, group, false, async (value, partition, offset) => {
    for (const commits of copied % 5 === 0 ? [false, true] : [true]) {
      const transaction = await producer.transaction();
      await transaction.send({ topic: to, messages: [{ value }] });
      const next = { partition, offset: `${Number(offset) + 1}` };
      await transaction.sendOffsets({
        consumerGroupId: group,
        topics: [{ topic: from, partitions: [next] }],
      });
      await (commits ? transaction.commit() : transaction.abort());
    }
    copied += 1;
    return copied === COUNT;
  });
  await producer.disconnect();
  const seen = [];
  await consume(to, "js-out", true, async (value) => seen.push(value) === COUNT);
  console.log(`exactly once ${new Set(seen).size === COUNT} ${await committed(group, from)}`);
}

async function main() {
  await admin.connect();
  await administer();
  await roundTrip("none", CompressionTypes.None);
  await roundTrip("gzip", CompressionTypes.GZIP);
  await roundTrip("snappy", CompressionTypes.Snappy);
  await transform();
  await admin.disconnect();
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
