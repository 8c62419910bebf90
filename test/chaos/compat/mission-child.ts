/**
 * A worker for runs that came through Universal Agent's queue: it reads, lets another agent do research, uploads and sends an email. Each
 * effect is a line on the disk, with the key of its step. At the place of a name it dies by SIGKILL, once.
 */
import { appendFileSync, readFileSync } from 'node:fs';
import { open } from '../../../src/app/open.ts';
import { isEngineError } from '../../../src/core/errors.ts';
import { task } from '../../../src/worker/define/task.ts';
import { hear, leave, say } from '../parent.ts';

const [url, diary, dieAt] = process.argv.slice(2) as [string, string, string];

function note(what: string, key: string): void {
  appendFileSync(diary, `${what} ${key}\n`);
}

function maybeDie(place: string): void {
  if (place === dieAt) process.kill(process.pid, 'SIGKILL');
}

const mission = task('run', {
  queue: 'runs',
  retry: { baseMs: 1 },
  async run(_spec, ctx) {
    const messages = ctx.list<string>('messages');
    await messages.push(
      await ctx.step('read', ({ key }) => {
        note('read', key);
        maybeDie('in read');
        return 'a paper';
      }),
    );
    const research = ({ key, again }: { readonly key: string; readonly again: boolean }): string => {
      if (again) note('abandoned', key);
      note('research', key);
      maybeDie('in research');
      return again ? 'found by the second' : 'found';
    };
    await messages.push(await ctx.step('research', research, { policy: 'relaunch' }));
    await ctx.step('upload', ({ key }) => note('upload', key), { policy: 'exact' });
    maybeDie('before email');
    const send = ({ key }: { readonly key: string }): string => {
      note('email', key);
      maybeDie('in email');
      return `sent ${key}`;
    };
    let receipt: string;
    try {
      receipt = await ctx.step('email', send, { policy: 'exact' });
    } catch (error) {
      if (!isEngineError(error, 'STEP_UNCERTAIN')) throw error;
      // The outbox knows what became of it.
      const { key } = error.details as { readonly key: string };
      const sent = readFileSync(diary, 'utf8').includes(`email ${key}\n`);
      receipt = await ctx.step('look', () => (sent ? `sent ${key}` : 'not sent'));
    }
    return { messages: messages.values(), receipt };
  },
});

const app = await open(url, { leaseMs: 2000 });
const worker = app.worker({ tasks: [mission], slots: 1 });
await worker.start();
say({ word: 'working' });
await hear('stop');
await worker.stop({ drain: true });
await app.close();
leave({ word: 'gone' });
