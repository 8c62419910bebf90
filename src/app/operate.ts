import { existsSync } from 'node:fs';
import { fault } from '../core/errors.ts';
import type { Silence } from '../core/node.ts';
import type { World } from '../core/world.ts';
import { Engine } from '../engine/engine.ts';
import { SILENT } from '../engine/log.ts';
import { AuditRecorder } from '../operate/audit/recorder.ts';
import { EngineOperator } from '../operate/engine-operator.ts';
import { type ArtifactPlaceOptions, BlobPlace } from './artifacts/blob-place.ts';
import { blobReader } from './artifacts/blob-reader.ts';
import { ownerBy } from './audit/owner.ts';
import { safeOf } from './credentials/own-desk.ts';
import type { SecretSource } from './data/secret-source.ts';
import { AppFleet } from './fleet/app-fleet.ts';
import { isPostgres, withoutPassword } from './store-name.ts';
import { openStore } from './store-url.ts';
import { lazyHost } from './triggers/host.ts';
import { realWorld } from './world.ts';

export interface OperateOptions extends ArtifactPlaceOptions {
  readonly store: string;
  readonly durability?: 'full' | 'normal';
  /** Whether a store that does not exist is made; commands that only read want none. */
  readonly create?: boolean;
  /** After how much silence a node counts as stale, and as dead. */
  readonly silence?: Silence;
  /** Where the secret of the cluster is, for what seals with it. Nothing is made. */
  readonly secret?: Pick<SecretSource, 'read'> | undefined;
}

/** Opens a store to work on it from outside: no duties, no thread, no worker. */
export async function operate(options: OperateOptions): Promise<EngineOperator> {
  const { store: url, durability, create = false, silence, secret } = options;
  const world = realWorld();
  if (isPostgres(url)) await (create ? undefined : requireTables(url, world));
  else if (!create) requireFile(fileOf(url));
  else fileOf(url);
  const store = await openStore(url, {
    world,
    housekeeping: false,
    ...(durability === undefined ? {} : { durability }),
  });
  const triggerHost = lazyHost();
  const engine = new Engine({ store, world, triggerHost });
  triggerHost.attach(engine);
  // A check that somebody asks for starts workers from here; by itself this process looks at no pool.
  new AppFleet({ engine, url, log: SILENT, rounds: false, alone: true });
  const recorder = new AuditRecorder(engine, SILENT);
  const audit = { recorder, actor: ownerBy('cli-on-the-store') };
  const place = new BlobPlace(url, options);
  const blobs = { ...blobReader(place), close: () => place.close() };
  return new EngineOperator(engine, silence, undefined, audit, secret && (await safeOf(store, secret)), blobs);
}

/** The file of a store's URL. A store in memory cannot be opened from outside. */
export function fileOf(url: string): string {
  if (!url.startsWith('memory:')) return url.replace(/^sqlite:/, '');
  throw fault(
    'INVALID_INPUT',
    { field: 'store URL', problem: 'a store in memory belongs to one process, and cannot be opened from outside' },
    { hint: 'Name a file: --store sqlite:PATH, or --data-dir DIR.' },
  );
}

function requireFile(file: string): void {
  // A URL with another scheme is no file; openStore reports what is wrong with it.
  if (/^[a-z][a-z0-9+.-]*:/.test(file) || existsSync(file)) return;
  throw noStore(file);
}

/** A command that only reads makes no tables either. */
async function requireTables(url: string, world: World): Promise<void> {
  const { readSchema } = await import('../store/postgres/migrate/migrate-database.ts');
  const { version } = await readSchema(url, world);
  if (version === 0) throw noStore(`in ${withoutPassword(url)}`);
}

function noStore(id: string): Error {
  const hint = '"leasehold up" and "leasehold push" make one; --store URL or --data-dir DIR name another.';
  return fault('NOT_FOUND', { kind: 'store', id }, { hint });
}
