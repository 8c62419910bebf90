/**
 * openworkflow through its public API, in its favour in two places: its worker polls each 0.1 to 1 s, and so does the wait for a
 * result each second; here a worker looks for a run as soon as there is one (`tick`), and an end is seen where its backend commits it.
 */
import { setImmediate as turn } from 'node:timers/promises';
import { load } from '../../contenders/peer.ts';
import { effect, effects } from '../effects.ts';
import { type Output, type Place, type Runner, STEPS } from '../part.ts';

// The parts of the package used here.
interface Backend {
  completeWorkflowRun(params: { workflowRunId: string; output: unknown }): Promise<unknown>;
  failWorkflowRun(params: { workflowRunId: string; error: unknown }): Promise<unknown>;
  stop(): Promise<void>;
}
interface SqliteBackend extends Backend {
  readonly db: { prepare(sql: string): { get(): Record<string, unknown> | undefined }; exec(sql: string): void };
}
interface Step {
  run(config: { name: string }, body: () => Promise<string>): Promise<string>;
}
interface OpenWorkflowModule {
  OpenWorkflow: new (options: {
    backend: Backend;
  }) => {
    defineWorkflow(
      spec: { name: string },
      run: (given: { input: { run: number }; step: Step }) => Promise<Output>,
    ): { run(input: { run: number }): Promise<{ workflowRun: { id: string } }> };
    newWorker(options: { concurrency: number }): { tick(): Promise<number>; stop(): Promise<void> };
  };
}
interface PostgresModule {
  BackendPostgres: { connect(url: string): Promise<Backend>; fromPool(pool: unknown): Backend };
}
interface DriverModule {
  default: ((url: string, options: object) => unknown) & { toCamel: unknown };
}
interface SqliteModule {
  BackendSqlite: { connect(path: string): SqliteBackend };
}

/** Of 10, 20 and 32 it was the fastest. */
const POOL = 20;

export async function openOpenworkflow(place: Place): Promise<Runner> {
  const { OpenWorkflow } = await load<OpenWorkflowModule>('openworkflow');
  const backend = place.store === 'postgres' ? await onPostgres(place.at) : await onSqlite(place.at);
  const ends = watch(backend);
  const client = new OpenWorkflow({ backend });
  const workflow = client.defineWorkflow({ name: 'steps' }, async ({ input, step }) => {
    let last = '';
    for (let n = 1; n <= STEPS; n++) last = await step.run({ name: `s${n}` }, async () => effect(input.run, n));
    return { n: STEPS, last };
  });
  const worker = client.newWorker({ concurrency: place.atOnce });
  let waiting = 0;
  let looking = false;
  const look = async (): Promise<void> => {
    if (looking) return;
    looking = true;
    while (waiting > 0) {
      const claimed = await worker.tick();
      waiting -= claimed;
      // A slot is free a moment after the end of its run.
      if (claimed === 0) await turn();
    }
    looking = false;
  };
  return {
    async run(run) {
      const { id } = (await workflow.run({ run })).workflowRun;
      const end = ends(id);
      waiting++;
      void look();
      return end;
    },
    async close() {
      await worker.stop();
      await backend.stop();
      return effects();
    },
  };
}

/** What its `connect` does, but for the size of the pool, which it has no option for. */
async function onPostgres(at: string): Promise<Backend> {
  const { BackendPostgres } = await load<PostgresModule>('openworkflow/postgres');
  const { default: postgres } = await load<DriverModule>('postgres');
  const url = new URL(at.replace('@/', '@localhost/'));
  process.env['PGHOST'] = url.searchParams.get('host') ?? ''; // the driver takes the folder of a socket from there only
  process.env['PGUSER'] = url.username;
  const address = `postgres://${url.pathname}`;
  await (await BackendPostgres.connect(address)).stop(); // migrates
  const pool = postgres(address, { max: POOL, transform: { column: { from: postgres.toCamel } } });
  return BackendPostgres.fromPool(pool);
}

async function onSqlite(at: string): Promise<Backend> {
  const { BackendSqlite } = await load<SqliteModule>('openworkflow/sqlite');
  const backend = BackendSqlite.connect(at);
  // It sets none of its own, so SQLite's default holds: FULL. Equal durability is the condition of this bench.
  if (backend.db.prepare('PRAGMA synchronous').get()?.['synchronous'] !== 2)
    backend.db.exec('PRAGMA synchronous = FULL');
  return backend;
}

/** Resolves when the end of a run is committed. */
function watch(backend: Backend): (id: string) => Promise<Output> {
  const waiting = new Map<string, PromiseWithResolvers<Output>>();
  const complete = backend.completeWorkflowRun.bind(backend);
  const fail = backend.failWorkflowRun.bind(backend);
  backend.completeWorkflowRun = async (params) => {
    const done = await complete(params);
    waiting.get(params.workflowRunId)?.resolve(params.output as Output);
    waiting.delete(params.workflowRunId);
    return done;
  };
  backend.failWorkflowRun = async (params) => {
    const done = await fail(params);
    waiting.get(params.workflowRunId)?.reject(new Error(JSON.stringify(params.error)));
    return done;
  };
  return (id) => {
    const end = Promise.withResolvers<Output>();
    waiting.set(id, end);
    return end.promise;
  };
}
