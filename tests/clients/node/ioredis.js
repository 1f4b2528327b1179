// ioredis: node ioredis.js ioredis5|ioredis6
"use strict";
const { step, code, restarted, everyByte } = require("./steps");
const name = process.argv[2];
const Redis = require(name);
const { DQD_PORT, DQD_AUTH_PORT, DQD_PASSWORD } = process.env;

async function main() {
  console.log(`version: ioredis ${require(`${name}/package.json`).version}, node ${process.version}`);
  const redis = new Redis(DQD_PORT);
  redis.on("error", () => {}); // a broken connection: ioredis connects again

  await step("connect", () => redis.ping());
  await step("add", () => redis.call("DQADD", "orders", "order-42", '{"total":99}'));
  let token;
  await step("pop", async () => {
    const [job] = await redis.call("DQPOP", "orders");
    token = job[3];
    return `${job[0]} ${job[1]} ${job[2]} attempt ${job[4]}`;
  });
  await step("ack", () => redis.call("DQACK", "orders", "order-42", token));
  await step("null", async () => `${await redis.call("DQPOP", "orders")} ${await redis.call("DQGET", "orders", "none")}`);
  await step("error", () => code(redis.call("DQADD", "orders", "a", "x", "DELAY", "1.5")));
  await step("map", async () => {
    const pairs = await redis.call("DQSTATS", "orders"); // flat, also in RESP3
    return pairs[pairs.indexOf("added") + 1];
  });
  await step("block", async () => {
    await redis.call("DQADD", "orders", "soon", "x", "DELAY", "200ms");
    // Other commands of a connection wait behind a pop: a worker has its own.
    const worker = redis.duplicate();
    const [job] = await worker.call("DQPOP", "orders", "BLOCK", "4s");
    worker.disconnect();
    return job[1];
  });
  await step("binary", async () => {
    await redis.call("DQADD", "big", "a", everyByte);
    const [job] = await redis.callBuffer("DQPOP", "big");
    return `${job[2].length} bytes, ${job[2].equals(everyByte) ? "equal" : "changed"}`;
  });
  await step("pipeline", async () => {
    const pipeline = redis.pipeline();
    for (let i = 0; i < 10000; i++) pipeline.call("DQADD", "bulk", `job-${i}`, i, "DELAY", "1h");
    const replies = await pipeline.exec();
    const right = replies.filter(([err, id], i) => !err && id === `job-${i}`).length;
    return `${right} in order, ${await redis.call("DQLEN", "bulk")} there`;
  });
  await restarted();
  await step("restart", async () => `${await redis.call("DQLEN", "bulk")} there`);
  await step("noauth", () => withPassword(undefined));
  await step("auth", () => withPassword(DQD_PASSWORD));

  await step("multi", async () => {
    const replies = await redis.multi().call("DQADD", "tx", "one", "1").call("DQADD", "tx", "two", "2").call("DQLEN", "tx").exec();
    return replies.map(([err, reply]) => reply).join(" ");
  });
  await step("abort", async () => {
    const error = await code(redis.multi().call("DQADD", "tx", "three", "3").call("DQADD", "tx", "one", "1").exec());
    return `${error}, ${await redis.call("DQLEN", "tx")} there`;
  });
  redis.disconnect();
}

// withPassword asks the other server; without one it answers with the error's first word.
async function withPassword(password) {
  const redis = new Redis({ port: DQD_AUTH_PORT, password, retryStrategy: null });
  const failed = new Promise((resolve) => redis.on("error", (err) => resolve(err.message.split(" ")[0])));
  try {
    return await Promise.race([failed, redis.call("DQLEN", "q")]);
  } catch (err) {
    return err.message.split(" ")[0];
  } finally {
    redis.disconnect();
  }
}

main();
