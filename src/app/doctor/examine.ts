import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { bootId } from '../../store/sqlite/file/clock.ts';
import { translate } from '../../store/sqlite/file/errors.ts';
import { fileOf } from '../operate.ts';
import { isPostgres } from '../store-name.ts';
import { realWorld } from '../world.ts';
import {
  checkClock,
  checkDuties,
  checkIntegrity,
  checkLeases,
  checkRequirements,
  checkSchema,
  checkWorkers,
  type DataSnapshot,
} from './data.ts';
import { type Finding, fail, ok } from './finding.ts';
import { checkFileSystem, checkLog, checkPermissions, checkPrivacy, checkRuntime, checkSpace } from './host.ts';
import { probeWrites } from './probe.ts';

export type { Finding };

/** Examines this host and a store, one finding at a time. Makes no store, migrates none and changes nothing in one. */
export async function* examine(url: string, dataDir?: string, artifactStore?: string): AsyncGenerator<Finding> {
  const [node, sqlite] = checkRuntime(process.versions);
  yield node;
  if (isPostgres(url)) {
    const { examinePostgres } = await import('./postgres.ts');
    if (dataDir !== undefined && existsSync(dataDir)) yield checkPrivacy({ folder: dataDir });
    yield* examinePostgres(url, artifactStore);
    return;
  }
  yield sqlite;
  const file = resolve(fileOf(url));
  if (!existsSync(file)) {
    yield fail(
      'store',
      `there is none at ${file}`,
      '"leasehold up" and "leasehold push" make one; --store URL or --data-dir DIR name another.',
    );
    return;
  }
  yield checkPermissions(file);
  yield checkPrivacy({ folder: dataDir, file });
  yield checkFileSystem(file);
  yield checkSpace(file);
  yield* checkData(file);
}

function* checkData(file: string): Generator<Finding> {
  const { clock } = realWorld();
  let db: DatabaseSync | undefined;
  try {
    db = new DatabaseSync(file, { readOnly: true, timeout: 5000 });
    const snapshot: DataSnapshot = { db, clock, boot: bootId() };
    const schema = checkSchema(snapshot);
    yield ok('store', `${file} opens`);
    yield schema;
    yield checkIntegrity(snapshot);
    yield checkLog(file);
    // A file that is not a store, or one that this program does not understand, has nothing more to check.
    if (schema.verdict === 'fail') return;
    yield checkClock(snapshot);
    yield checkDuties(snapshot);
    yield checkLeases(snapshot);
    yield checkWorkers(snapshot);
    yield checkRequirements(snapshot);
    yield probeWrites(file, () => clock.monotonic());
  } catch (error) {
    const { message, hint = '' } = translate(error, file);
    yield fail('store', message, hint);
  } finally {
    db?.close();
  }
}
