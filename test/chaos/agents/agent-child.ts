/** A worker for runs of agents. It dies by SIGKILL right after the commit of a number, or in an effect: before it has happened, or after. */
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { agents } from '../../../src/app/library/agents.ts';
import { open } from '../../../src/app/open.ts';
import { makeWorker } from '../../../src/app/worker.ts';
import { realWorld } from '../../../src/app/world.ts';
import { SILENT } from '../../../src/engine/log.ts';
import { alteredTurns } from '../../../src/worker/agent-run/altered-turns.ts';
import type { AgentFunction } from '../../../src/worker/agents/registry.ts';
import type { AnyTask, DrivenAttempt } from '../../../src/worker/define/definition.ts';
import { WsLink } from '../../../src/worker/links/ws-link.ts';
import type { Worker } from '../../../src/worker/worker.ts';
import { hear, leave, say } from '../parent.ts';

/** Soon after a death somebody else goes on. */
const LEASE_MS = 4000;

const [how, address, effects, death] = process.argv.slice(2) as ['store' | 'join', string, string, string];

let commits = 0;

function mortal(attempt: DrivenAttempt): DrivenAttempt {
  const session = alteredTurns(attempt.session, (turn) => turn);
  const turn: typeof session.turn = async (request) => {
    const turned = await session.turn(request);
    commits++;
    dieAt(`commit:${commits}`);
    return turned;
  };
  return { ...attempt, session: { ...session, turn } };
}

function dieAt(place: string): void {
  if (place === death) process.kill(process.pid, 'SIGKILL');
}

interface Called {
  readonly key: string;
  readonly again: boolean;
}

const effect =
  (name: string) =>
  ({ key, again }: Called): string => {
    dieAt(`${name}:before`);
    appendFileSync(effects, `${name} ${key} ${again ? 'again' : 'first'}\n`);
    dieAt(`${name}:after`);
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

const handler = agents({
  agents: { courier },
  tools: {
    look_up: { replay: 'repeat', run: (_args, call) => effect('look_up')(call) },
    send: {
      run: (_args, call) => effect('send')(call),
      lookup: (_args, call) => lookup('send')(call),
    },
  },
  allowHttp: ['127.0.0.1:*'],
}) as unknown as AnyTask;
const { drive } = handler;
const mortalHandler: AnyTask = {
  ...handler,
  drive: (input, attempt) => (drive as NonNullable<typeof drive>)(input, mortal(attempt)),
};

const worker = how === 'store' ? await onStore() : joined();
await worker.start();
say({ word: 'working' });
await hear('stop');
await worker.stop({ drain: true });
leave({ word: 'commits', commits });

async function onStore(): Promise<Worker> {
  const app = await open(address, { leaseMs: LEASE_MS });
  return app.worker({ tasks: [mortalHandler], slots: 2 });
}

function joined(): Worker {
  const [url, secret] = address.split(' ') as [string, string];
  const [world, log, name] = [realWorld(), SILENT, 'joined'];
  const link = new WsLink({ url, others: [], secret, world, log, spool: join(dirname(effects), 'spool') });
  return makeWorker({ tasks: [mortalHandler], slots: 2, name }, { link, world, log, name });
}
