// Compiles the .sol files beside this script, or those of another folder, into compiled.json:
//
//     npm install solc@0.8.37
//     node mirror/demo/contracts/compile.mjs [folder]
//
// The same sources give the same bytes: no metadata is appended to the code.

import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import path from "node:path";

const VERSION = "0.8.37";
const SETTINGS = {
  evmVersion: "cancun",
  metadata: { appendCBOR: false, bytecodeHash: "none" },
  optimizer: { enabled: true, runs: 200 },
};

const folder = process.argv[2] ?? path.dirname(fileURLToPath(import.meta.url));
const solc = createRequire(path.join(process.cwd(), "x"))("solc");
if (!solc.version().startsWith(VERSION + "+")) {
  throw new Error(`solc ${VERSION} is needed, this is ${solc.version()}: npm install solc@${VERSION}`);
}

const names = readdirSync(folder).filter((name) => name.endsWith(".sol")).sort();
const sources = Object.fromEntries(
  names.map((name) => [name, { content: readFileSync(path.join(folder, name), "utf8") }]),
);
const outputSelection = { "*": { "*": ["abi", "evm.bytecode.object", "evm.deployedBytecode.object", "evm.methodIdentifiers"] } };
const input = { language: "Solidity", sources, settings: { ...SETTINGS, outputSelection } };
const output = JSON.parse(solc.compile(JSON.stringify(input)));
for (const { formattedMessage } of output.errors ?? []) console.error(formattedMessage);
if ((output.errors ?? []).some(({ severity }) => severity === "error")) process.exit(1);

const contracts = {};
for (const name of names) {
  for (const [contract, { abi, evm }] of Object.entries(output.contracts[name])) {
    if (evm.bytecode.object === "") continue; // an interface
    contracts[contract] = {
      source: name,
      abi,
      selectors: evm.methodIdentifiers,
      creation: evm.bytecode.object,
      runtime: evm.deployedBytecode.object,
    };
  }
}
const compiled = {
  compiler: solc.version(),
  settings: SETTINGS,
  sources: Object.fromEntries(
    names.map((name) => [name, createHash("sha256").update(sources[name].content).digest("hex")]),
  ),
  contracts,
};
writeFileSync(path.join(folder, "compiled.json"), JSON.stringify(compiled, null, 1) + "\n");
