/** Tasks that read credentials, for child processes. */
import { readFileSync } from 'node:fs';
import { inspect } from 'node:util';
import { task } from '../../../src/worker/define/task.ts';

/** Says a secret in every way that there is. */
export const blabs = task('blabs', {
  isolation: 'process',
  module: import.meta.url,
  run: async (input, ctx) => {
    const { name } = input as { name: string };
    const secret = await ctx.credentials.text(name);
    const text = secret.reveal();
    ctx.log(`log ${text} ${String(secret)} ${inspect({ secret })} ${JSON.stringify([secret])}`);
    console.log(`stdout ${Buffer.from(`user:${text}`).toString('base64')}`);
    process.stderr.write(`stderr ${encodeURIComponent(text)}\n`);
    ctx.progress({ text });
    await ctx.step('remember', () => ({ text }));
    const file = await ctx.credentials.file(name);
    return { text, file, same: readFileSync(file, 'utf8') === text, names: ctx.credentials.names() };
  },
});

/** Has a step whose value is larger than an entry of a journal, with a secret in it. */
export const stores = task('stores', {
  isolation: 'process',
  module: import.meta.url,
  run: async (input, ctx) => {
    const { name } = input as { name: string };
    const text = (await ctx.credentials.text(name)).reveal();
    await ctx.step('big', () => text + 'x'.repeat(2 ** 20));
  },
});

/** Throws what it has read. */
export const throws = task('throws', {
  isolation: 'process',
  module: import.meta.url,
  run: async (input, ctx) => {
    const { name } = input as { name: string };
    throw Object.assign(new Error(`no ${(await ctx.credentials.text(name)).reveal()}`), { code: 'E' });
  },
});

/** Writes a secret to a file and dies by the hardest signal. */
export const dies = task('dies', {
  isolation: 'process',
  module: import.meta.url,
  run: async (_input, ctx) => {
    await ctx.credentials.file('db');
    process.kill(process.pid, 'SIGKILL');
  },
});
