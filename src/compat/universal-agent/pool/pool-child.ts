/** The program of a worker that is a process: it does what its pool tells it, and ends with it. */
import { connectRuntimeDb } from '../run-functions.ts';
import type { RuntimeDb } from '../runtime-db.ts';
import type { ChildStart, FromPoolChild, ToPoolChild } from './child-messages.ts';
import { WorkerConfig } from './configs.ts';
import { handlerFor } from './load-handler.ts';
import { Worker } from './worker.ts';

let worker: Worker | undefined;
let conn: RuntimeDb | undefined;
/** A stop that came before there was a worker. */
let stopped = false;

process.on('message', (message: ToPoolChild) => {
  if (message.kind === 'start') void begin(message).catch(fail);
  else void stop(message.drain);
});
// Without its pool nobody would stop it.
process.on('disconnect', () => void stop(false));
// A Ctrl-C on a terminal reaches the whole group; the pool says what it means.
process.on('SIGINT', () => {});

async function begin({ dbPath, queue, config, handlerModule }: ChildStart): Promise<void> {
  const checked = new WorkerConfig(config);
  const handler = await handlerFor(checked.gatewayUrl, handlerModule);
  const log = { info: () => {}, warn, error: warn };
  conn = await connectRuntimeDb(dbPath, { queue, duties: false, housekeeping: false, log });
  const own = new Worker(checked, conn, handler, { log, onChange: () => tell(stateOf(own)) });
  worker = own;
  if (stopped) await own.stop({ drain: false });
  else await own.start();
  tell({ kind: 'started' });
  await own.ended;
  await end(0);
}

async function stop(drain: boolean): Promise<void> {
  stopped = true;
  if (worker !== undefined) await worker.stop({ drain });
  else if (!process.connected) process.exit(0);
}

function stateOf({ state }: Worker): FromPoolChild {
  const { status, currentRunId, running, runsCompleted, runsFailed } = state;
  return { kind: 'state', status, currentRunId, running, runsCompleted, runsFailed };
}

function warn(message: string, fields: Readonly<Record<string, unknown>> = {}): void {
  tell({ kind: 'warning', message, fields: JSON.parse(JSON.stringify(fields)) as Record<string, unknown> });
}

function tell(message: FromPoolChild): void {
  // Its pool may be gone.
  if (process.connected) process.send?.(message, undefined, undefined, () => {});
}

function fail(error: unknown): void {
  tell({ kind: 'failed', message: error instanceof Error ? error.message : String(error) });
  void end(1);
}

async function end(code: number): Promise<void> {
  await conn?.close().catch(() => {});
  process.exitCode = code;
  if (process.connected) process.disconnect();
  // A handler may have left timers or sockets behind.
  setTimeout(() => process.exit(code), 1000).unref();
}
