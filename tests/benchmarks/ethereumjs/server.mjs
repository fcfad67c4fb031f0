// Contract calls by @ethereumjs/evm over HTTP: POST {"to", "data"}, answered from the tables of a mirror node.
//
// As few lines as a Node developer would write: accounts, code and slots are read from PostgreSQL when the EVM asks
// for them. Accounts and code are kept for good, slots for as long as ours may be kept (2 s), so that a warm
// server hardly asks the database.

import { createServer } from 'node:http'
import { Common, Hardfork, Mainnet } from '@ethereumjs/common'
import { createEVM } from '@ethereumjs/evm'
import { SimpleStateManager } from '@ethereumjs/statemanager'
import { Account, Address, bytesToHex, hexToBytes, setLengthLeft } from '@ethereumjs/util'
import pg from 'pg'

const SLOT_MILLISECONDS = 2000

const [host, database, user, port] = process.argv.slice(2)
const pool = new pg.Pool({ host, database, user, max: 8 })
const accounts = new Map()
const codes = new Map()
const slots = new Map()

// The number in a long-zero address; 0 for any other.
function numberOf(hex) {
  return /^0x0{24}[0-7]/.test(hex) ? BigInt('0x' + hex.slice(-16)).toString() : '0'
}

async function entity(address) {
  const hex = address.toString()
  if (!accounts.has(hex)) {
    const { rows } = await pool.query({
      name: 'entity',
      text: `select e.id, e.balance, e.ethereum_nonce, c.runtime_bytecode from entity e
             left join contract c on c.id = e.id
             where e.evm_address = $1 or (e.id = $2 and e.evm_address is null)`,
      values: [address.bytes, numberOf(hex)],
    })
    accounts.set(hex, rows[0])
  }
  return accounts.get(hex)
}

class LedgerState extends SimpleStateManager {
  async getAccount(address) {
    const known = await super.getAccount(address)
    if (known) return known
    const row = await entity(address)
    if (!row) return undefined
    const account = new Account(BigInt(row.ethereum_nonce ?? 0), BigInt(row.balance ?? 0))
    this.topAccountStack().set(address.toString(), account)
    return account
  }

  async getCode(address) {
    const hex = address.toString()
    if (!codes.has(hex)) {
      const row = await entity(address)
      codes.set(hex, row?.runtime_bytecode ? new Uint8Array(row.runtime_bytecode) : new Uint8Array())
    }
    return codes.get(hex)
  }

  async getStorage(address, key) {
    const written = await super.getStorage(address, key)
    if (written.length) return written
    const name = address.toString() + bytesToHex(key)
    const kept = slots.get(name)
    if (kept && kept.until > Date.now()) return kept.value
    const row = await entity(address)
    const { rows } = await pool.query({
      name: 'slot',
      text: 'select value from contract_state where contract_id = $1 and slot = $2',
      values: [row.id, Buffer.from(key)],
    })
    const value = rows[0]?.value ? new Uint8Array(rows[0].value) : new Uint8Array()
    slots.set(name, { value, until: Date.now() + SLOT_MILLISECONDS })
    return value
  }
}

const common = new Common({ chain: Mainnet, hardfork: Hardfork.Cancun })

async function call({ from, to, data, gas }) {
  const evm = await createEVM({ common, stateManager: new LedgerState({ common }) })
  const result = await evm.runCall({
    caller: new Address(setLengthLeft(hexToBytes(from ?? '0x02'), 20)),
    to: new Address(hexToBytes(to)),
    data: hexToBytes(data ?? '0x'),
    gasLimit: BigInt(gas ?? 15_000_000),
  })
  return { result: bytesToHex(result.execResult.returnValue) }
}

createServer((request, response) => {
  const chunks = []
  request.on('data', (chunk) => chunks.push(chunk))
  request.on('end', async () => {
    try {
      const body = JSON.stringify(await call(JSON.parse(Buffer.concat(chunks).toString())))
      response.writeHead(200, { 'Content-Type': 'application/json' }).end(body)
    } catch (error) {
      response.writeHead(500).end(String(error))
    }
  })
}).listen(Number(port), '127.0.0.1')
