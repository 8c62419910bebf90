// An agent run: the agent is a function here, and could as well be an endpoint, a program or an A2A agent. What it has done is kept, so
// that the next try goes on after a failure or a crash: effects happen once, and a person is asked before the last one.
import { agents, open } from 'leasehold';

let tries = 0;

const runs = agents({
  agents: {
    reporter: async ({ prompt }, { receipts, memory, ask, onEvent }) => {
      if (receipts === undefined || memory === undefined || ask === undefined) throw new Error('nothing is kept');
      const say = (text: string): void => onEvent?.({ type: 'text', data: { text: `${text}\n` } });
      const { chapter = 0 } = ((await memory.newest()) ?? {}) as { chapter?: number };
      console.log(`begins at chapter ${chapter}`);
      for (let at = chapter; at < 3; at++) {
        say(`chapter ${at} of "${String(prompt)}"`);
        await memory.keep({ chapter: at + 1 }); // the newest checkpoint counts
      }
      // What is done is told by what it is done with: the order of keys makes no difference.
      const place = await receipts.once('upload', { name: 'report', pages: 3 }, ({ key }) => {
        console.log(`uploaded under ${key.split('/')[1]?.slice(0, 8)}`);
        return 'shelf 4';
      });
      if (++tries === 1) throw new Error('the network is gone'); // the next try goes on
      const again = await receipts.once('upload', { pages: 3, name: 'report' }, () => console.log('never printed'));
      const { action } = await ask('publish', {
        title: `Publish ${String(place)}?`,
        actions: ['yes', 'no'],
        context: null,
      });
      if (action === 'yes') await receipts.once('publish', { place }, () => console.log('published'));
      return { content: `${String(again)}: ${action}`, usage: { total_tokens: 12 } };
    },
  },
});

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
