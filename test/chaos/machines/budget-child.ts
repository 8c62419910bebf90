/** A worker for machines whose agent writes down each of its calls, on the disk, before it answers. It dies by SIGKILL in the call of a number. */
import { appendFileSync } from 'node:fs';
import { machineHandler } from '../../../src/app/machines/machine-handler.ts';
import { open } from '../../../src/app/open.ts';
import { AgentRegistry } from '../../../src/worker/agents/registry.ts';
import { hear, leave, say } from '../parent.ts';

/** Soon after a death somebody else goes on. */
const LEASE_MS = 4000;

const [url, effects, dieIn] = process.argv.slice(2) as [string, string, string];

let calls = 0;

const agents = new AgentRegistry().agent('caller', ({ n }) => {
  appendFileSync(effects, `${String(n)}\n`);
  if (++calls === Number(dieIn)) process.kill(process.pid, 'SIGKILL');
  return { output: { n }, usage: { input_tokens: 7, output_tokens: 0 } };
});
const app = await open(url, { leaseMs: LEASE_MS });
const worker = app.worker({ tasks: [machineHandler({ agents })], slots: 8 });
await worker.start();
say({ word: 'working' });
await hear('stop');
await worker.stop({ drain: true });
await app.close();
leave({ word: 'gone' });
