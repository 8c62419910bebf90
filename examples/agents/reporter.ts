// An agent as a function. What it has done is kept, so that the next try goes on after a failure or a crash: effects happen once, and a
// person is asked before the last one.
import type { AgentFunction } from 'leasehold';

/** What it does outside. Each is called with a key that is the same in every try. */
export interface Effects {
  readonly upload: (key: string) => string;
  readonly publish: (key: string) => string;
}

/** `tried` is told that the report is uploaded, and may throw. */
export const reporter =
  ({ upload, publish }: Effects, tried: () => void = () => {}): AgentFunction =>
  async ({ prompt }, { receipts, memory, ask, onEvent }) => {
    if (receipts === undefined || memory === undefined || ask === undefined) throw new Error('nothing is kept');
    const say = (text: string): void => onEvent?.({ type: 'text', data: { text: `${text}\n` } });
    const { chapter = 0 } = ((await memory.newest()) ?? {}) as { chapter?: number };
    say(`begins at chapter ${chapter}`);
    for (let at = chapter; at < 3; at++) {
      say(`chapter ${at} of "${String(prompt)}"`);
      await memory.keep({ chapter: at + 1 }); // the newest checkpoint counts
    }
    // What is done is told by what it is done with: the order of keys makes no difference.
    const place = await receipts.once('upload', { name: 'report', pages: 3 }, ({ key }) => upload(key));
    tried();
    const again = await receipts.once('upload', { pages: 3, name: 'report' }, ({ key }) => upload(key));
    const { action } = await ask('publish', {
      title: `Publish ${String(place)}?`,
      actions: ['yes', 'no'],
      context: null,
    });
    if (action === 'yes') await receipts.once('publish', { place }, ({ key }) => publish(key));
    return { content: `${String(again)}: ${action}`, usage: { total_tokens: 12 } };
  };
