// An agent that thinks in steps and asks before it acts. Each call of the model and each message is remembered, so the
// next attempt resumes after a crash. While the agent waits for a person, it holds no slot.
import { open, task } from 'leasehold';

interface Message {
  readonly role: 'user' | 'model' | 'tool';
  readonly text: string;
}

/** A fake language model: it looks two things up, then it answers. */
function model(messages: readonly Message[]): string {
  console.log(`model called with ${messages.length} messages`);
  const found = messages.filter(({ role }) => role === 'tool').length;
  return found < 2 ? `look up ${['bees', 'ants'][found]}` : 'answer: they are related';
}

const agent = task('agent', {
  maxAttempts: 3,
  retry: { baseMs: '10ms' },
  async run(question, ctx) {
    const messages = ctx.list<Message>('messages'); // each message is stored separately, once
    await messages.push({ role: 'user', text: String(question) });
    let reply = '';
    while (!reply.startsWith('answer')) {
      reply = await ctx.step('model', () => model(messages.values())); // never paid for twice
      await messages.push({ role: 'model', text: reply });
      if (!reply.startsWith('look up')) continue;
      const text = await ctx.step('look up', () => `what is known of ${reply.slice(8)}`);
      await messages.push({ role: 'tool', text });
      if (ctx.attempt === 1 && messages.length > 4) throw new Error('the network is gone'); // the next attempt resumes
    }
    const review = await ctx.wait('review', {
      approval: { title: 'Publish this?', context: { reply } },
      timeout: '1d',
    });
    if (review.outcome === 'timed_out' || review.value.action !== 'approve') return { published: false };
    // If the worker dies during this step, it may or may not have published: 'exact' does not repeat it.
    await ctx.step('publish', ({ key }) => console.log(`published once, as ${key.split('/')[1]}`), { policy: 'exact' });
    return { published: true, by: review.value.by, messages: messages.length, attempts: ctx.attempt };
  },
});

const app = await open('memory:');
const worker = app.worker({ tasks: [agent] });
await worker.start();
const handle = await app.push(agent, 'How do bees and ants get along?');

for await (const { change } of handle.events({ after: 0 })) {
  if (change !== 'parked') continue;
  console.log('state:', await handle.state()); // the task waits in the store without a slot, for days if it must
  for (const { id, title, context, actions } of await app.approvals()) {
    console.log(title, context, actions);
    await app.decide(id, { action: 'approve', by: 'ada' });
  }
}

console.log(await handle.result());
await app.close();
