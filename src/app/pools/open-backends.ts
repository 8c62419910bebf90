import { resolve } from 'node:path';
import { environment } from '../../config/environment.ts';
import type { World } from '../../core/world.ts';
import { fault } from '../library/manual.ts';
import { type BackendConfig, storeUrl } from './backend-config.ts';
import { createRegistrationBackend, type RegistrationBackend } from './registration-backend.ts';
import { createWorkBackend, type WorkBackend } from './work-backend.ts';

/** The variable that the programs of FlatMachines look for their file in. */
export const FILE_VARIABLE = 'WORKER_DB_PATH';

/** The pools and the registry that the actions of a run work on. */
export interface Backends {
  readonly work: WorkBackend;
  readonly registration: RegistrationBackend;
  /** The file of the pools, for other processes; undefined: they cannot open it, or not by this name alone. */
  readonly file?: string | undefined;
  /** Another process would find nothing there. */
  readonly inMemory: boolean;
  /** The caller needs them no longer. */
  readonly release: () => Promise<void>;
}

interface Closable {
  close(): Promise<void>;
}

interface Shared<T> {
  readonly opened: Promise<T>;
  users: number;
}

/** What is open, by its key. Machines that run at once in a process share it; it is closed with its last user. */
class Shelf {
  readonly #open = new Map<string, Shared<Closable>>();

  take<T extends Closable>(key: string, open: () => Promise<T>): Shared<T> {
    const known = this.#open.get(key) as Shared<T> | undefined;
    const shared = known ?? { opened: open(), users: 0 };
    this.#open.set(key, shared);
    shared.users++;
    return shared;
  }

  async give<T extends Closable>(key: string, shared: Shared<T>): Promise<void> {
    if (--shared.users > 0) return;
    this.#open.delete(key);
    // What could not be opened was said to whoever asked for it.
    const opened = await shared.opened.catch(() => undefined);
    await opened?.close();
  }
}

const OF_PROCESS = new Shelf();

/** The name of the memory that both backends share when none is given. */
const MEMORY = 'distributed-worker';

/** Opens the backends of a machine: as its settings say, else in the file that the environment names. */
export class BackendOpener {
  readonly #world: World | undefined;
  readonly #shelf: Shelf;

  /** With a `world` of its own it shares nothing with others of the process. */
  constructor(world?: World) {
    this.#world = world;
    this.#shelf = world === undefined ? OF_PROCESS : new Shelf();
  }

  async open(config: BackendConfig | undefined): Promise<Backends> {
    const known = config === undefined ? fromEnvironment() : withDefaults(config);
    const urls = { work: storeUrl(known, 'work'), registration: storeUrl(known, 'registration') };
    const options = this.#world === undefined ? {} : { world: this.#world };
    const keys = { work: `work ${urls.work}`, registration: `registration ${urls.registration}` };
    const work = this.#shelf.take(keys.work, () => createWorkBackend(known, options));
    const registration = this.#shelf.take(keys.registration, () => createRegistrationBackend(known, options));
    const release = async (): Promise<void> => {
      await Promise.all([this.#shelf.give(keys.work, work), this.#shelf.give(keys.registration, registration)]);
    };
    try {
      const [pools, registry] = await Promise.all([work.opened, registration.opened]);
      const [file] = urls.work === urls.registration ? [/^sqlite:(.+)$/s.exec(urls.work)?.[1]] : [];
      return {
        work: pools,
        registration: registry,
        file: file === undefined ? undefined : resolve(file),
        inMemory: Object.values(urls).some((url) => url.startsWith('memory:')),
        release,
      };
    } catch (error) {
      await release();
      throw error;
    }
  }
}

function fromEnvironment(): BackendConfig {
  const file = environment()[FILE_VARIABLE];
  if (file) return { type: 'sqlite', sqlite_path: file };
  // All of it in the problem: a machine that fails tells its message, and no hint.
  const problem = `it is missing: name the file of the pools there, as sqlite_path, or in the variable ${FILE_VARIABLE}`;
  throw fault('INVALID_INPUT', { field: 'settings.backends', problem });
}

/** A path alone means SQLite, as in FlatMachines; memory that has no name is one memory for both. */
function withDefaults(config: BackendConfig): BackendConfig {
  if (typeof config !== 'object' || config === null || Array.isArray(config)) {
    throw fault('INVALID_INPUT', { field: 'settings.backends', problem: 'it must be a map' });
  }
  const { type, work, registration, sqlite_path, work_path, registration_path } = config;
  const hasPath = [sqlite_path, work_path, registration_path].some((path) => path !== undefined);
  if (type === undefined && work === undefined && registration === undefined && hasPath) {
    return { type: 'sqlite', ...config };
  }
  const isMemory = (type ?? work) === 'memory' || (type ?? registration) === 'memory';
  return isMemory && !hasPath ? { sqlite_path: MEMORY, ...config } : config;
}
