import { checkOptions, fault } from '../library/manual.ts';

export type BackendType = 'sqlite' | 'memory' | 'postgres';

/**
 * `settings.backends` of FlatMachines. A path names the file. With type `memory` it names the memory, so that two backends
 * of one process can share it; with type `postgres` it is the URL. Keys of other kinds of backends may stand beside these.
 */
export interface BackendConfig {
  readonly type?: BackendType;
  readonly registration?: BackendType;
  readonly work?: BackendType;
  readonly registration_path?: string;
  readonly work_path?: string;
  /** For both backends, where they have no path of their own. */
  readonly sqlite_path?: string;
  readonly postgres_url?: string;
  readonly persistence?: unknown;
  readonly locking?: unknown;
  readonly results?: unknown;
  readonly signal?: unknown;
  readonly trigger?: unknown;
  readonly trigger_path?: unknown;
  readonly dynamodb_table?: unknown;
  readonly aws_region?: unknown;
}

const KEYS: ReadonlySet<string> = new Set([
  'type',
  'registration',
  'work',
  'registration_path',
  'work_path',
  'sqlite_path',
  'postgres_url',
  'persistence',
  'locking',
  'results',
  'signal',
  'trigger',
  'trigger_path',
  'dynamodb_table',
  'aws_region',
] satisfies (keyof BackendConfig)[]);

/** The store that a configuration names for one of its two backends. */
export function storeUrl(config: BackendConfig, kind: 'work' | 'registration'): string {
  checkOptions('backend configuration', config, KEYS);
  const type: string | undefined = config[kind] ?? config.type;
  switch (type) {
    case 'memory':
      return `memory:${pathOf(config, kind, 'sqlite_path') ?? ''}`;
    case 'sqlite': {
      const path = pathOf(config, kind, 'sqlite_path');
      if (path !== undefined) return `sqlite:${path}`;
      throw noAddress(kind, 'type sqlite needs the path of its file', 'sqlite_path');
    }
    case 'postgres': {
      const url = pathOf(config, kind, 'postgres_url');
      if (url !== undefined && /^postgres(ql)?:/.test(url)) return url;
      throw noAddress(kind, 'type postgres needs a URL, such as postgres://USER@HOST/DATABASE', 'postgres_url');
    }
    case 'redis':
      throw fault(
        'INVALID_INPUT',
        {
          field: `type of the ${kind} backend`,
          problem: `"redis" comes with a later version; use one of ${TYPES} until then`,
        },
        { hint: 'For one host give sqlite_path, the path of a file; for several type postgres and postgres_url.' },
      );
    case undefined:
    default:
      throw badType(kind, type, `Set ${kind} (or type) to one of ${TYPES}.`);
  }
}

const TYPES = 'sqlite, memory, postgres';

function pathOf(
  config: BackendConfig,
  kind: 'work' | 'registration',
  shared: 'sqlite_path' | 'postgres_url',
): string | undefined {
  // The path of the other backend too: FlatMachines lets both share a file.
  const keys = [shared, 'work_path', 'registration_path'] as const;
  for (const key of [`${kind}_path`, ...keys] as const) {
    const path: unknown = config[key];
    if (path === undefined) continue;
    if (typeof path === 'string' && path !== '') return path;
    const problem = shared === 'sqlite_path' ? 'it must be the path of a file' : 'it must be a URL';
    throw fault('INVALID_INPUT', { field: key, problem });
  }
  return undefined;
}

function noAddress(kind: string, problem: string, key: string): Error {
  const hint = `Give ${kind}_path, or ${key} for both backends.`;
  return fault('INVALID_INPUT', { field: `${kind} backend`, problem }, { hint });
}

function badType(kind: string, type: unknown, hint: string): Error {
  const found = typeof type === 'string' ? JSON.stringify(type.slice(0, 40)) : 'nothing';
  return fault(
    'INVALID_INPUT',
    { field: `type of the ${kind} backend`, problem: `${found} is not one of ${TYPES}` },
    { hint },
  );
}
