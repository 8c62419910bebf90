// An agent run: the agent is a function here (agents/reporter.ts), and could as well be an endpoint, a program or an A2A agent. Its first
// try fails after the upload; the next one goes on there, a person is asked, and nothing happens twice.
import { agents, open } from 'leasehold';
import { reporter } from './agents/reporter.ts';

let tries = 0;

const effects = {
  upload: (key: string) => {
    console.log(`uploaded under ${key.split('/')[1]?.slice(0, 8)}`);
    return 'shelf 4';
  },
  publish: () => {
    console.log('published');
    return 'done';
  },
};
const failOnce = (): void => {
  if (++tries === 1) throw new Error('the network is gone');
};
const runs = agents({ agents: { reporter: reporter(effects, failOnce) } });

const app = await open('memory:');
await app.worker({ tasks: [runs] }).start();
const run = await app.push(runs, { gateway: 'reporter', prompt: 'Bees', backoffs: [0] });

for await (const { change } of run.events({ after: 0 })) {
  if (change !== 'parked') continue; // it waits without a slot, for days if it must
  for (const { id, title } of await app.approvals()) {
    console.log(title);
    await app.decide(id, { action: 'yes', by: 'ada' });
  }
}

const { text, stop, usage } = await run.result();
console.log({ text, stop, tokens: usage.tokens });
for await (const { stream, text: line } of run.logs()) if (stream === 'log') console.log('log:', line);
await app.close();
