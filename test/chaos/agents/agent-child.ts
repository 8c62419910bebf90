/** A worker for runs of agents. It dies by SIGKILL right after the commit of a number, or in an effect: before it has happened, or after. */
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { reporter } from '../../../examples/agents/reporter.ts';
import { agents } from '../../../src/app/library/agents.ts';
import type { AgentFunction } from '../../../src/worker/agents/registry.ts';
import type { AnyTask } from '../../../src/worker/define/definition.ts';
import { type MortalPlace, MortalWorker } from '../mortal-worker.ts';

const [how, address, effects, death] = process.argv.slice(2) as [MortalPlace['how'], string, string, string];

const worker = new MortalWorker(death);

interface Called {
  readonly key: string;
  readonly again: boolean;
}

const effect =
  (name: string) =>
  ({ key, again }: Called): string => {
    worker.dieAt(`${name}:before`);
    appendFileSync(effects, `${name} ${key} ${again ? 'again' : 'first'}\n`);
    worker.dieAt(`${name}:after`);
    return `${name} is done`;
  };

/** What the other side would say that was asked whether it has had this key. */
const lookup =
  (name: string) =>
  ({ key }: { readonly key: string }): string | undefined =>
    existsSync(effects) && readFileSync(effects, 'utf8').includes(`${name} ${key} `) ? `${name} is done` : undefined;

const courier: AgentFunction = async (_input, { receipts, memory }) => {
  const once = receipts?.once.bind(receipts);
  if (once === undefined || memory === undefined) throw new Error('nothing is kept');
  const before = await memory.newest();
  await once('look', { at: 'inbox' }, effect('look'), { replay: 'repeat' });
  await once('research', { what: 'bees' }, effect('research'), { replay: 'relaunch' });
  await memory.keep({ at: 'upload', began: before?.['began'] ?? 'here' });
  await once('upload', { file: 'a', to: 'b' }, effect('upload'), { lookup: lookup('upload') });
  await memory.keep({ at: 'email', began: (await memory.newest())?.['began'] ?? '' });
  await once('email', { to: 'ada' }, effect('email'), { lookup: lookup('email') });
  const charged = await once('charge', { amount: 5 }, effect('charge'));
  // The same effect in other words.
  await once('upload', '{ "to": "b",  "file": "a" }', effect('upload'), { lookup: lookup('upload') });
  return { content: `${String(charged)}, from ${String((await memory.newest())?.['at'])}` };
};

/** The example, whose effects are written down. */
const once = (name: string) => (key: string) => {
  effect(name)({ key, again: false });
  return 'shelf 4';
};
const handler = agents({
  agents: { courier, reporter: reporter({ upload: once('upload'), publish: once('publish') }) },
  tools: {
    look_up: { replay: 'repeat', run: (_args, call) => effect('look_up')(call) },
    send: {
      run: (_args, call) => effect('send')(call),
      lookup: (_args, call) => lookup('send')(call),
    },
  },
  allowHttp: ['127.0.0.1:*'],
}) as unknown as AnyTask;
await worker.live({ how, address, effects }, [worker.mortal(handler)]);
