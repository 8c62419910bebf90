/** A worker whose task writes far more than anybody reads. */
import { hostname } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { realWorld } from '../../src/app/world.ts';
import { isEngineError } from '../../src/core/errors.ts';
import type { LogEntry } from '../../src/core/task/log.ts';
import type { Assignment, Session } from '../../src/protocol/link.ts';
import { WsLink } from '../../src/worker/links/ws-link.ts';
import { enrol, type NodeAddress } from '../contenders/hub/enrol.ts';
import { answerAll } from './line.ts';
import { FLOOD } from './words.ts';

export interface FloodArgs extends NodeAddress {
  readonly queue: string;
}

const MIB = 1024 * 1024;
const WANTED = 50 * MIB;
/** As a worker ships them. */
const BATCH = 64 * 1024;
const LINE = 16 * 1024;
/** Shipments under way at most: the worker of this engine has one. */
const UNDER_WAY = 32;
const TURN_MS = 10;

const args = JSON.parse(process.argv[2] ?? '{}') as FloodArgs;
const text = 'x'.repeat(LINE - 1);
let session: Session | undefined;
let lease: Assignment | undefined;
let stored = 0;
let seq = 0;
let stopped = false;
let trouble: unknown;
/** What time can mend is lost and goes on, as it does to a worker whose store is busy. */
const refuse = (error: unknown): void => {
  if (isEngineError(error) && error.retryable) return;
  trouble ??= error;
  stopped = true;
};

function batch(): readonly LogEntry[] {
  const at = Date.now();
  return Array.from({ length: BATCH / LINE }, () => ({ seq: ++seq, at, stream: 'stdout' as const, text }));
}

async function flood(to: Session, of: Assignment): Promise<void> {
  const from = performance.now();
  let sent = 0;
  let open = 0;
  while (!stopped) {
    const due = ((performance.now() - from) / 1000) * WANTED;
    while (sent < due && open < UNDER_WAY) {
      sent += BATCH;
      open++;
      void to
        .log(of, batch())
        .then(() => (stored += BATCH))
        .catch(refuse)
        .finally(() => open--);
    }
    await delay(TURN_MS);
  }
}

const verbs = {
  /** Takes the task. */
  join: async (): Promise<void> => {
    const { name, secret } = await enrol(args, FLOOD);
    const link = new WsLink({ url: args.address, secret, world: realWorld() });
    const { queue } = args;
    const hello = { name, incarnation: `${hostname()}-${process.pid}`, slots: 1, tags: [], handlers: [FLOOD] };
    session = await link.open({ ...hello, queues: [queue] });
    [lease] = await session.claim({ max: 1, waitMs: 10_000, signal: new AbortController().signal });
    if (lease === undefined) throw new Error('there was no task to flood the log of');
    const [to, of] = [session, lease];
    setInterval(() => void to.renew([of]).catch(refuse), to.leaseMs / 3);
  },

  start: (): void => void flood(session as Session, lease as Assignment),

  /** Bytes that were stored. */
  stop: (): number => {
    stopped = true;
    if (trouble !== undefined) throw trouble;
    return stored;
  },
};

export type FloodVerbs = typeof verbs;
answerAll(verbs);
