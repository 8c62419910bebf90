/** Pools of Universal Agent on a real file and on a real server, for tests. */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import {
  connectRuntimeDb,
  type PoolConfigFields,
  type PoolOptions,
  type RunHandler,
  type RuntimeDb,
  type WorkerConfigFields,
  WorkerPoolManager,
  waitForRun,
} from '../../../src/compat/index.ts';
import { freshDatabase } from '../postgres.ts';

export interface PoolScene {
  readonly path: string;
  /** A connection beside those of the pool. */
  readonly conn: RuntimeDb;
  readonly pool: (
    poolConfig: PoolConfigFields,
    handler: RunHandler | undefined,
    workerConfig?: WorkerConfigFields,
    options?: PoolOptions,
  ) => WorkerPoolManager;
  /** Resolves when the run has ended, however. */
  readonly ended: (...runIds: readonly string[]) => Promise<void>;
}

const KINDS = ['sqlite', 'postgres'] as const;

/** One test per store. */
export function onBothStores(
  folder: string,
  name: string,
  body: (t: TestContext, scene: PoolScene) => Promise<void>,
): void {
  for (const kind of KINDS) {
    test(`${kind}: ${name}`, async (t) => {
      const path = kind === 'sqlite' ? join(folder, `${randomUUID()}.db`) : `${await freshDatabase('runs')}&pool=3`;
      await body(t, await sceneAt(t, path));
    });
  }
}

export async function sceneAt(t: TestContext, path: string): Promise<PoolScene> {
  const conn = await connectRuntimeDb(path);
  t.after(() => conn.close());
  return {
    path,
    conn,
    pool: (poolConfig, handler, workerConfig = {}, options = {}) => {
      const pool = new WorkerPoolManager(
        // Looks only when a test asks, unless it says otherwise.
        { db_path: path, monitor_interval_seconds: 600, ...poolConfig },
        workerConfig,
        handler,
        options,
      );
      t.after(() => pool.stop({ drain: false }));
      return pool;
    },
    ended: async (...runIds) => {
      await Promise.all(runIds.map((runId) => waitForRun(conn, runId)));
    },
  };
}
