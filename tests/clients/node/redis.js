// node-redis: node redis.js redis4|redis5|redis6
"use strict";
const { step, code, restarted, everyByte } = require("./steps");
const name = process.argv[2];
const { createClient, RESP_TYPES, commandOptions } = require(name);
const { DQD_PORT, DQD_AUTH_PORT, DQD_PASSWORD } = process.env;

async function main() {
  console.log(`version: node-redis ${require(`${name}/package.json`).version}, node ${process.version}`);
  const client = createClient({ url: `redis://127.0.0.1:${DQD_PORT}` });
  client.on("error", () => {}); // a broken connection: the client connects again
  await client.connect();
  const dq = (...args) => client.sendCommand(args); // strings and buffers only

  await step("connect", () => client.ping());
  await step("add", () => dq("DQADD", "orders", "order-42", '{"total":99}'));
  let token;
  await step("pop", async () => {
    const [job] = await dq("DQPOP", "orders");
    token = job[3];
    return `${job[0]} ${job[1]} ${job[2]} attempt ${job[4]}`;
  });
  await step("ack", () => dq("DQACK", "orders", "order-42", String(token)));
  await step("null", async () => `${await dq("DQPOP", "orders")} ${await dq("DQGET", "orders", "none")}`);
  await step("error", () => code(dq("DQADD", "orders", "a", "x", "DELAY", "1.5")));
  await step("map", async () => {
    const stats = await dq("DQSTATS", "orders"); // an object in RESP3, pairs in RESP2
    return Array.isArray(stats) ? stats[stats.indexOf("added") + 1] : stats.added;
  });
  await step("block", async () => {
    await dq("DQADD", "orders", "soon", "x", "DELAY", "200ms");
    // Other commands of a connection wait behind a pop: a worker has its own.
    const worker = client.duplicate();
    await worker.connect();
    const [job] = await worker.sendCommand(["DQPOP", "orders", "BLOCK", "4s"]);
    await worker.disconnect();
    return job[1];
  });
  await step("binary", async () => {
    await dq("DQADD", "big", "a", everyByte);
    const [job] = commandOptions // version 4
      ? await client.sendCommand(["DQPOP", "big"], commandOptions({ returnBuffers: true }))
      : await client.sendCommand(["DQPOP", "big"], { typeMapping: { [RESP_TYPES.BLOB_STRING]: Buffer } });
    return `${job[2].length} bytes, ${job[2].equals(everyByte) ? "equal" : "changed"}`;
  });
  await step("pipeline", async () => {
    // What is sent in one turn of the event loop goes out in one write.
    const replies = await Promise.all(Array.from({ length: 10000 }, (_, i) => dq("DQADD", "bulk", `job-${i}`, String(i), "DELAY", "1h")));
    const right = replies.filter((id, i) => id === `job-${i}`).length;
    return `${right} in order, ${await dq("DQLEN", "bulk")} there`;
  });
  await restarted();
  await step("restart", async () => `${await dq("DQLEN", "bulk")} there`);
  await step("noauth", () => code(withPassword(undefined)));
  await step("auth", () => withPassword(DQD_PASSWORD));

  await step("multi", async () => (await client.multi().addCommand(["DQADD", "tx", "one", "1"]).addCommand(["DQADD", "tx", "two", "2"]).addCommand(["DQLEN", "tx"]).exec()).join(" "));
  await step("abort", async () => {
    const error = await code(client.multi().addCommand(["DQADD", "tx", "three", "3"]).addCommand(["DQADD", "tx", "one", "1"]).exec());
    return `${error}, ${await dq("DQLEN", "tx")} there`;
  });
  await client.disconnect();
}

async function withPassword(password) {
  const client = createClient({ socket: { port: DQD_AUTH_PORT, reconnectStrategy: false }, password });
  client.on("error", () => {});
  try {
    await client.connect();
    return await client.sendCommand(["DQLEN", "q"]);
  } finally {
    if (client.isOpen) await client.disconnect();
  }
}

main();
