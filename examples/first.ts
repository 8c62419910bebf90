import { openNode } from 'leasehold';

const node = await openNode('sqlite:./work.db');
const { engine } = node;

// Durable once this resolves. The same key leads to the same task, however often it is pushed.
await engine.push({ queue: 'papers', handler: 'summarise', input: { doi: '10.1000/182' }, unique: 'doi:10.1000/182' });

const worker = await engine.registerWorker({ name: 'laptop', incarnation: crypto.randomUUID(), slots: 1 });
for (const task of await engine.claim({ worker, max: 10, queues: ['papers'] })) {
  const { doi } = JSON.parse(task.payload) as { doi: string };
  await engine.complete(task, { summary: `What ${doi} says.` }); // refused if the lease was lost meanwhile
}

console.log(await engine.stats('papers'));
await node.close();
