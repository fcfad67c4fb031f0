// Runs the cases of a JSON file with @ethereumjs/evm and prints, for each, its gas and the median of its times:
//
//     node run.mjs cases.json [folder with node_modules]
//
// A case: name, sender, to, data, gas, runs, accounts (address to balance, nonce, code, storage), all in hex
// but for the numbers. State is kept in maps, and each run is undone.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";

const require = createRequire(path.join(process.argv[3] ?? import.meta.dirname, "x"));
const { Common, Hardfork, Mainnet } = require("@ethereumjs/common");
const { createEVM } = require("@ethereumjs/evm");
const { SimpleStateManager } = require("@ethereumjs/statemanager");
const { createAccount, createAddressFromString, hexToBytes, setLengthLeft } = require("@ethereumjs/util");

const common = new Common({ chain: Mainnet, hardfork: Hardfork.Cancun });
const word = (hex) => setLengthLeft(hexToBytes(hex), 32);

async function prepared(accounts) {
  const evm = await createEVM({ common, stateManager: new SimpleStateManager({ common }) });
  for (const [text, { balance, nonce, code, storage }] of Object.entries(accounts)) {
    const address = createAddressFromString(text);
    await evm.stateManager.putAccount(address, createAccount({ balance: BigInt(balance), nonce: BigInt(nonce) }));
    if (code !== "0x") await evm.stateManager.putCode(address, hexToBytes(code));
    for (const [slot, value] of Object.entries(storage)) {
      await evm.stateManager.putStorage(address, word(slot), hexToBytes(value));
    }
  }
  return evm;
}

async function once(evm, each) {
  await evm.journal.checkpoint();
  // As a transaction would have them (EIP-2929).
  for (let number = 1; number <= 10; number += 1) {
    evm.journal.addAlwaysWarmAddress(number.toString(16).padStart(40, "0"));
  }
  const [began, used] = [process.hrtime.bigint(), process.cpuUsage()];
  const { execResult } = await evm.runCall({
    caller: createAddressFromString(each.sender),
    origin: createAddressFromString(each.sender),
    to: createAddressFromString(each.to),
    data: hexToBytes(each.data),
    gasLimit: BigInt(each.gas),
  });
  // Of a busy machine the processor's time; of an idle one the time that passed, as others compile and clean up.
  const { user, system } = process.cpuUsage(used);
  const seconds = Math.min(Number(process.hrtime.bigint() - began) / 1e9, (user + system) / 1e6);
  await evm.journal.revert();
  evm.journal.cleanJournal();
  const error = execResult.exceptionError?.error;
  if (error && error !== "out of gas") throw new Error(`${each.name}: ${error}`);
  return { seconds, gas: Number(execResult.executionGasUsed) };
}

const results = {};
for (const each of JSON.parse(readFileSync(process.argv[2], "utf8"))) {
  const evm = await prepared(each.accounts);
  const times = [];
  let gas;
  for (let run = 0; run < 2 * each.runs; run += 1) {
    const result = await once(evm, each);
    gas = result.gas;
    // The first half warms up.
    if (run >= each.runs) times.push(result.seconds);
  }
  times.sort((a, b) => a - b);
  results[each.name] = { gas, seconds: times[Math.floor(times.length / 2)] };
}
console.log(JSON.stringify(results));
