/** Tasks that store and read files, for this process and for child processes. */
import { appendFileSync, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { task } from '../../../src/worker/define/task.ts';

const place = { isolation: 'process', module: import.meta.url } as const;

/** Stores in every way that there is, and reads all of it back. */
export const stores = task('stores', {
  ...place,
  run: async (input, ctx) => {
    const { folder } = input as { folder: string };
    writeFileSync(join(folder, 'in.bin'), 'a file');
    await ctx.artifacts.put('file.bin', { file: join(folder, 'in.bin') });
    await ctx.artifacts.put('deep/text.json', '{"n":1}', { type: 'application/json' });
    await ctx.artifacts.put('bytes', Buffer.from('bytes'));
    await ctx.artifacts.put('stream', Readable.from(['str', Buffer.from('eam')]));
    const listed = (await ctx.artifacts.list()).map(({ name, type, size, kind }) => [name, type, size, kind]);
    const file = await ctx.artifacts.get('file.bin');
    const path = await file.path();
    const saved = await file.save(join(folder, 'out.bin'));
    const chunks: Buffer[] = [];
    for await (const chunk of await (await ctx.artifacts.get('stream')).stream()) chunks.push(chunk as Buffer);
    return {
      listed,
      text: await file.text(),
      json: await (await ctx.artifacts.get('deep/text.json')).json(),
      byId: (await (await ctx.artifacts.get({ id: file.artifact.id })).text()).length,
      ofTask: (await ctx.artifacts.get({ task: ctx.id, name: 'bytes' })).artifact.size,
      stream: Buffer.concat(chunks).toString(),
      saved: readFileSync(saved, 'utf8'),
      path,
      modes: [statSync(path).mode & 0o777, statSync(dirname(path)).mode & 0o777],
      there: existsSync(path),
    };
  },
});

/** Tries what is refused; answers the codes. */
export const refuses = task('refuses', {
  ...place,
  run: async (input, ctx) => {
    const { strange } = input as { strange: string };
    const { artifacts } = ctx;
    const calls: readonly (() => Promise<unknown>)[] = [
      () => artifacts.put('x', 'text', { typ: 'text/plain' } as never),
      () => artifacts.put('x', { file: 'in', mode: 1 } as never),
      () => artifacts.put('x', 7 as never),
      () => artifacts.put('../x', 'text'),
      () => artifacts.put('x', Readable.from([{ an: 'object' }])),
      () => artifacts.put('x', 'y'.repeat(2000)),
      () => artifacts.put('x', { file: '/dev/null' }),
      () => artifacts.get('none'),
      () => artifacts.get({ id: strange }),
      () => artifacts.get({ name: 'x' } as never),
      () => artifacts.list(7 as never),
    ];
    const codes: unknown[] = [];
    for (const call of calls) {
      codes.push(
        await call().then(
          () => 'fine',
          ({ code, name }: { code?: string; name?: string }) => code ?? name,
        ),
      );
    }
    return { codes, left: await artifacts.list() };
  },
});

/** Leaves a temporary file, and its process dies by the hardest signal. */
export const dies = task('dies', {
  ...place,
  maxAttempts: 1,
  run: async (input, ctx) => {
    const { note } = input as { note: string };
    await ctx.artifacts.put('x', 'y');
    writeFileSync(note, await (await ctx.artifacts.get('x')).path());
    process.kill(process.pid, 'SIGKILL');
    await new Promise(() => {});
  },
});

/** Returns more than fits into a row. */
export const large = task('large', {
  ...place,
  run: (input) => {
    const { bytes } = input as { bytes: number };
    return { text: 'x'.repeat(bytes), end: 'ü' };
  },
});

/** Fails once after a step whose value is larger than an entry of a journal. Each run of the step is a line of the note. */
export const remembers = task('remembers', {
  ...place,
  maxAttempts: 2,
  retry: { baseMs: 0 },
  run: async (input, ctx) => {
    const { note, bytes } = input as { note: string; bytes: number };
    const step = async (name: string, letter: string): Promise<string> =>
      ctx.step(name, () => {
        appendFileSync(note, `${name}\n`);
        return letter.repeat(bytes);
      });
    const texts = [await step('a b/..', 'a'), await step('a b/..', 'b'), await step('a-b/..', 'c')];
    if (ctx.attempt === 1) throw new Error('once');
    return texts.map((text) => [text[0], text.length]);
  },
});
