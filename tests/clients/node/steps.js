// What the programs for node share: a step's line, and the wait for a restart.
"use strict";

// step prints "name: result", or the error if there is one.
exports.step = async (name, run) => {
  let result;
  try {
    result = await run();
  } catch (err) {
    result = `error: ${err.message}`;
  }
  console.log(`${name}: ${result}`);
};

// code returns the first word of the error that a promise ends with.
exports.code = async (promise) => {
  try {
    return `no error but ${JSON.stringify(await promise)}`;
  } catch (err) {
    return err.message.split(" ")[0];
  }
};

// restarted asks for a restart of the server and waits for it.
exports.restarted = () =>
  new Promise((resolve) => {
    process.stdin.once("data", () => {
      process.stdin.destroy(); // or it would keep the program alive
      resolve();
    });
    console.log("restart?");
  });

exports.everyByte = Buffer.alloc(1 << 20, Buffer.from(Array.from({ length: 256 }, (_, i) => i)));
