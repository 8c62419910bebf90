/** Finds the place of a machine's checkpoints by what its file says. */
import { join, resolve } from 'node:path';
import { fault } from '../../../core/errors.ts';
import type { World } from '../../../core/world.ts';
import { isList, isMap, type Value } from '../../../flow/expression/values.ts';
import type { Machine } from '../../../flow/machine/definition.ts';
import type { ExecutionLock, PersistenceBackend, ResultBackend, SignalBackend } from './backends.ts';
import { LocalFileBackend } from './file-backend.ts';
import type { RunPlace } from './kept-run.ts';
import { FileLock, MemoryLock } from './locks.ts';
import { MemoryBackend } from './memory-backend.ts';
import { SQLiteCheckpointBackend } from './sqlite/checkpoints.ts';
import { SQLiteLeaseLock } from './sqlite/lease-lock.ts';
import { processOwner } from './sqlite/process-owner.ts';
import { RunFile } from './sqlite/run-file.ts';
import { SQLiteSignalBackend } from './sqlite/signals.ts';
import { CHECKPOINT_EVENTS, type CheckpointEvent } from './wire-snapshot.ts';

const FOLDER = '.checkpoints';
const FILE = 'flatmachines.sqlite';
const KINDS = 'local, memory, sqlite';
const EVENTS: ReadonlySet<string> = new Set(CHECKPOINT_EVENTS);

/** Parts that a program brings: they stand for those that a machine names. */
export interface GivenParts {
  readonly persistence?: PersistenceBackend | undefined;
  readonly lock?: ExecutionLock | undefined;
  readonly signals?: SignalBackend | undefined;
  readonly results?: ResultBackend | undefined;
}

export interface RunPlacesOptions extends GivenParts {
  readonly world: Pick<World, 'clock' | 'timers'>;
  /** Whether somebody could read what is kept in memory; without it, that is not written. */
  readonly memory?: MemoryBackend | undefined;
}

type Parts = Omit<RunPlace, 'events'>;

/** The places of one run and the machines within it. Those that name the same file or folder share it. */
export class RunPlaces {
  readonly #options: RunPlacesOptions;
  readonly #known = new Map<string, Parts>();
  readonly #files: RunFile[] = [];

  constructor(options: RunPlacesOptions) {
    this.#options = options;
  }

  /** Undefined: the machine keeps nothing. `around` is the place of the machine around it, which it shares unless it names one. */
  of({ persistence, settings }: Machine, folder: string, around?: RunPlace): RunPlace | undefined {
    const { enabled = true, checkpoint_on } = persistence;
    const { persistence: given } = this.#options;
    if (enabled === false) return undefined;
    const asked = Object.keys(persistence).length > 0;
    if (!asked && (around !== undefined || given === undefined)) return around;
    const { persistence: kind, sqlite_path: db_path } = isMap(settings['backends']) ? settings['backends'] : {};
    const said = { backend: kind, db_path, ...persistence };
    const own = (): Parts | undefined => this.#named(said.backend ?? 'memory', said, folder);
    const parts = given === undefined ? (said.backend == null ? (around ?? own()) : own()) : this.#given(given);
    return parts === undefined ? undefined : { ...parts, events: eventsOf(checkpoint_on) };
  }

  close(): void {
    for (const file of this.#files.splice(0)) file.close();
  }

  #given(backend: PersistenceBackend): Parts {
    return this.#once('given', () => this.#with({ backend, lock: new MemoryLock() }));
  }

  #named(kind: Value, { db_path, path, checkpoint_dir }: Machine['persistence'], folder: string): Parts | undefined {
    const at = (given: Value, otherwise: string): string =>
      resolve(folder, typeof given === 'string' && given !== '' ? given : otherwise);
    switch (kind) {
      case 'memory': {
        const { memory } = this.#options;
        if (memory === undefined) return undefined;
        return this.#once('memory', () => this.#with({ backend: memory, lock: new MemoryLock(), onlyLatest: true }));
      }
      case 'local':
      case 'file':
        return this.#local(at(checkpoint_dir ?? path, FOLDER));
      case 'sqlite':
        return this.#sqlite(at(db_path ?? path, FILE));
      default:
        throw fault(
          'INVALID_INPUT',
          { field: 'persistence.backend', problem: `${JSON.stringify(kind)} is not one of ${KINDS}` },
          { hint: `Use one of ${KINDS} for runs within a process.` },
        );
    }
  }

  #local(folder: string): Parts {
    // Signals need transactions, which files alone do not have.
    return this.#once(folder, () => {
      const file = this.#file(join(folder, '.signals.sqlite'));
      return this.#with({
        backend: new LocalFileBackend(folder),
        lock: new FileLock(join(folder, '.locks')),
        signals: new SQLiteSignalBackend(file),
      });
    });
  }

  #sqlite(path: string): Parts {
    return this.#once(path, () => {
      const file = this.#file(path);
      return this.#with({
        backend: new SQLiteCheckpointBackend(file),
        lock: new SQLiteLeaseLock(file, this.#options.world.timers),
        signals: new SQLiteSignalBackend(file),
      });
    });
  }

  #file(path: string): RunFile {
    const file = new RunFile(path, { owner: processOwner(), now: this.#options.world.clock.wall });
    this.#files.push(file);
    return file;
  }

  #with(parts: Parts): Parts {
    const { lock, signals, results } = this.#options;
    return { ...parts, ...(lock && { lock }), ...(signals && { signals }), ...(results && { results }) };
  }

  #once(name: string, make: () => Parts): Parts {
    const parts = this.#known.get(name) ?? make();
    this.#known.set(name, parts);
    return parts;
  }
}

/** Those that are not known are told of when the machine is read. */
function eventsOf(given: Value): ReadonlySet<CheckpointEvent> {
  if (!isList(given)) return new Set(CHECKPOINT_EVENTS);
  return new Set(given.filter((one): one is CheckpointEvent => EVENTS.has(String(one))));
}
