/** Handlers of the browser tests: what real ones do, so short that a test can wait for it. */
import { z } from 'zod';
import { task } from '../../../src/index.ts';

export { machine } from './machines.ts';
export { fickle, order, quote } from './workflows.ts';

export const publish = task('publish', {
  async run(text, ctx) {
    ctx.log('the draft is ready');
    const { value } = await ctx.wait('review', {
      approval: {
        title: `Publish “${String(text)}”?`,
        context: { words: 812, author: 'ada', sections: ['intro', 'dance', 'honey'] },
        form: {
          type: 'object',
          properties: {
            note: { type: 'string', description: 'Told to the author' },
            urgent: { type: 'boolean' },
          },
        },
      },
    });
    return value;
  },
});

export const listen = task('listen', {
  async run(channel, ctx) {
    const { value } = await ctx.wait('go', { signal: String(channel) });
    return value;
  },
});

export const analyse = task('analyse', {
  input: z.object({
    paper: z.string().describe('Where the paper is'),
    depth: z.enum(['quick', 'full']).default('quick'),
    pages: z.number().int().min(1).max(500).optional(),
    keywords: z.array(z.string()).optional(),
  }),
  async run(input, ctx) {
    const parts = await ctx.step('outline', () => ['dance', 'honey', 'wax']);
    for (const part of parts) ctx.log(`read about ${part}`);
    return { about: input.paper, parts };
  },
});

/** Writes lines with colours until it is stopped, or until there are so many. */
export const build = task('build', {
  async run(input, ctx) {
    const { lines = 12, everyMs = 20 } = input as { lines?: number; everyMs?: number };
    for (let i = 1; i <= lines; i++) {
      const how = i % 5 === 0 ? '\u001b[33mwarning: no caption\u001b[0m' : '\u001b[32mok\u001b[0m';
      ctx.log(`\u001b[36mpage ${i}\u001b[0m of \u001b[1m${lines}\u001b[0m: ${how}`);
      await new Promise((resolve) => setTimeout(resolve, everyMs));
      ctx.signal.throwIfAborted();
    }
    return { lines };
  },
});

export const parent = task('parent', {
  async run(input, ctx) {
    const { holdMs = 0 } = input as { holdMs?: number };
    const children = [];
    for (const name of ['left', 'right'])
      children.push(await ctx.spawn({ queue: 'echo', handler: 'echo' }, { name, delay_ms: holdMs }));
    const { value } = await ctx.wait('both', { children });
    return value;
  },
});

/** Hears neither its signal nor SIGTERM. */
export const stubborn = task('stubborn', {
  async run(_input, ctx) {
    process.on('SIGTERM', () => {});
    ctx.log('nothing stops me');
    await new Promise((resolve) => setTimeout(resolve, 3_600_000));
  },
});

export const ask = task('ask', {
  async run(approval, ctx) {
    const { value } = await ctx.wait('answer', { approval: approval as { title: string } });
    return value;
  },
});

export const say = task('say', {
  async run(lines, ctx) {
    for (const line of lines as string[]) ctx.log(line);
    return lines;
  },
});
